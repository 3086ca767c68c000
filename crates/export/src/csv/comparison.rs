//! A comparison as CSV.

use flashlag_units::Nanos;
use flashlag_views::{Comparison, Ratio, RatioKind};

use super::{millis, quoted};

const HEADER: &str = "test,state,run,title,side,runs,n,p50_ms,p90_ms,p99_ms,p999_ms,max_ms,\
    late_share,ops_per_sec,bytes_per_sec,rate_spread,verdict,against,\
    p50_ratio,p50_low,p50_high,p50_differs,p99_ratio,p99_low,p99_high,p99_differs,\
    rate_ratio,rate_low,rate_high,rate_differs\n";

/// A comparison as CSV: a line for each test and side, with its figures and its ratios to the side in `against`, each with the ends of its 95 %
/// interval and whether a difference is shown. A value that is not known is an empty field; so are
/// the times of a schedule that was overloaded.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let mut csv = HEADER.to_owned();
    for row in &comparison.rows {
        for (subject, side) in row.sides.iter().enumerate() {
            let Some(side) = side else { continue };
            let name = |index: usize| comparison.subjects.get(index).map(|s| s.name.as_str());
            let figures = &side.figures;
            let time = |value: Option<Nanos>| value.map(millis).unwrap_or_default();
            let of_side = || row.ratios.iter().filter(|ratio| ratio.of == subject);
            let against = of_side().next().and_then(|ratio| name(ratio.against));
            let verdict = if row.is_judged(side) { side.judgement.word() } else { "" };
            let mut fields = vec![
                quoted(&row.test),
                row.state.name().to_owned(),
                row.run.to_string(),
                quoted(&row.title),
                quoted(name(subject).unwrap_or_default()),
                side.runs.to_string(),
                figures.n.to_string(),
                time(figures.p50),
                time(figures.p90),
                time(figures.p99),
                time(figures.p999),
                time(figures.max),
                figures.late_share().map(|share| format!("{share:.6}")).unwrap_or_default(),
                format!("{:.3}", side.ops_per_sec),
                format!("{:.3}", side.bytes_per_sec),
                side.rate_spread.map(|spread| format!("{spread:.6}")).unwrap_or_default(),
                verdict.to_owned(),
                quoted(against.unwrap_or_default()),
            ];
            for kind in [RatioKind::P50, RatioKind::P99, RatioKind::Throughput] {
                fields.extend(ratio(of_side().find(|ratio| ratio.kind == kind)));
            }
            csv.push_str(&(fields.join(",") + "\n"));
        }
    }
    csv
}

fn ratio(ratio: Option<&Ratio>) -> [String; 4] {
    let Some(ratio) = ratio else { return Default::default() };
    let (low, high) = ratio.interval.unzip();
    let end = |end: Option<f64>| end.map(|end| format!("{end:.6}")).unwrap_or_default();
    [format!("{:.6}", ratio.ratio), end(low), end(high), ratio.differs.to_string()]
}
