//! Medians that lie between two times: where about half of the operations take one and half another, a
//! small change moves the median from one to the other.

use flashlag_explain::{Figures, response_histogram};
use flashlag_schema::Run;
use flashlag_stats::{Histogram, MEDIAN_LEAP, Percentile};
use flashlag_units::Nanos;

use crate::format;
use crate::strip::{Strip, StripRow};

/// At most this share of the operations takes a time between them.
const BETWEEN: f64 = 0.05;

/// `8 rows: about half of the operations take one time and half another, so that the median may be either
/// (New: 1.6 ms and 2.9 ms, mean 2.3 ms).` `None` if no row has such a median.
pub fn two_times(run: &Run, strip: &Strip) -> Option<String> {
    let rows = strip.groups.iter().flat_map(|group| &group.rows);
    let found: Vec<(&StripRow, [Nanos; 2])> =
        rows.filter_map(|row| Some((row, of_row(run, row)?))).collect();
    let (first, [low, high]) = found.first()?;
    let which = match found.len() {
        1 => String::new(),
        several => format!("{} rows: ", format::count(several as u64)),
    };
    let mean = first.figures.mean.map(|mean| format!(", mean {}", format::time(mean)));
    let said = format!(
        "{which}about half of the operations take one time and half another, so that the median may be \
         either ({}: {} and {}{}).",
        first.label,
        format::time(*low),
        format::time(*high),
        mean.unwrap_or_default()
    );
    Some(format::capitalized(&said))
}

fn of_row(run: &Run, row: &StripRow) -> Option<[Nanos; 2]> {
    let shown = |figures: &Figures| figures.p50.is_some() && !figures.overloaded;
    let phase = run.phases.get(row.phase).filter(|_| shown(&row.figures))?;
    apart(&response_histogram(phase)?)
}

/// The two times of a distribution.
fn apart(histogram: &Histogram) -> Option<[Nanos; 2]> {
    let [low, high] = Percentile::AROUND_P50.map(|rank| histogram.percentile(rank));
    let (low, high) = (low?, high?);
    if (high.0 as f64) < MEDIAN_LEAP * low.0 as f64 {
        return None;
    }
    // A twentieth of the distance belongs to either time.
    let margin = high.saturating_since(low).0 / 20;
    let above = |from: u64| histogram.count_over(Nanos(from));
    let between = above(low.0 + margin).saturating_sub(above(high.0.saturating_sub(margin)));
    let count = histogram.count().max(1);
    (between as f64 <= BETWEEN * count as f64).then_some([low, high])
}

#[cfg(test)]
mod tests {
    use flashlag_schema::StoredHistogram;
    use flashlag_testing::sample;

    use super::*;
    use crate::strip::strip;

    fn of(times: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        times.into_iter().for_each(|micros| histogram.record(Nanos::from_micros(micros)));
        histogram
    }

    #[test]
    fn a_median_may_be_either_of_two_times_but_not_within_a_broad_distribution() {
        let halves = |more: u64| (0..1000).map(move |n| if n < more { 1_600 } else { 2_900 });
        for slow in [450, 500, 550] {
            assert!(apart(&of(halves(slow))).is_some(), "{slow}");
        }
        for slow in [0, 300, 700, 1000] {
            assert_eq!(apart(&of(halves(slow))), None, "{slow}: the median is one of them");
        }
        assert_eq!(apart(&of((0..1000).map(|n| 1_000 + 4 * n))), None, "broad");
        assert_eq!(apart(&of([])), None);
    }

    #[test]
    fn the_rows_are_counted_and_one_has_its_times_and_its_mean() {
        let mut run = sample::quick();
        assert_eq!(two_times(&run, &strip(&run)), None);
        let histogram = of((0..1000).map(|n| if n % 2 == 0 { 1_600 } else { 2_800 }));
        for phase in run.phases.iter_mut().filter(|phase| phase.name == "rand_write_4k") {
            phase.histogram = StoredHistogram::from(&histogram);
            phase.response_histogram = None;
        }
        let said = two_times(&run, &strip(&run)).expect("one row");
        assert!(said.starts_with("About half of the operations take one time"), "{said}");
        assert!(said.contains(": 1.6 ms and 2.8 ms, mean 2.2 ms)."), "{said}");
    }
}
