//! A comparison as JSON.

use flashlag_schema::CheckStatus;
use flashlag_views::{CheckDifference, CompareRow, CompareSide, Comparison, Ratio, RatioKind};
use serde_json::{Value, json};

/// A comparison as JSON, `flashlag.comparison/1`: its sentences, its sides, and for each test the
/// figures of each side (times in nanoseconds) and each ratio with the ends of its 95 % interval.
/// An unknown value is absent.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let sides = comparison.subjects.iter().map(
        |subject| json!({ "name": subject.name, "about": subject.about, "runs": subject.runs }),
    );
    let differs = comparison
        .differs
        .iter()
        .map(|difference| json!({ "field": difference.field, "values": difference.values }));
    let value = json!({
        "schema": "flashlag.comparison/1",
        "faster": comparison.faster,
        "sentence": comparison.sentence,
        "largest": comparison.largest,
        "more": comparison.more,
        "believe": comparison.believe,
        "warnings": comparison.warnings,
        "sides": sides.collect::<Vec<_>>(),
        "tests": comparison.rows.iter().map(test).collect::<Vec<_>>(),
        "differs": differs.collect::<Vec<_>>(),
        "checks": comparison.checks.iter().map(check).collect::<Vec<_>>(),
    });
    // Rendering strings and numbers does not fail.
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}

fn test(row: &CompareRow) -> Value {
    let sides = row.sides.iter().map(|side| side.as_ref().map(|side| figures(row, side)));
    json!({
        "test": row.test,
        "title": row.title,
        "state": row.state.name(),
        "run": row.run,
        "sides": sides.collect::<Vec<_>>(),
        "ratios": row.ratios.iter().map(ratio).collect::<Vec<_>>(),
    })
}

/// A check that does not pass on every side: for each its worst outcome, null if it was not made.
fn check(check: &CheckDifference) -> Value {
    let outcome =
        |(status, detail): &(CheckStatus, String)| json!({ "status": status, "detail": detail });
    let outcomes = check.outcomes.iter().map(|side| side.as_ref().map(outcome));
    json!({ "claim": check.claim, "sides": outcomes.collect::<Vec<_>>() })
}

fn figures(row: &CompareRow, side: &CompareSide) -> Value {
    let figures = &side.figures;
    let mut value = json!({
        "runs": side.runs,
        "n": figures.n,
        "p50_ns": figures.p50,
        "p90_ns": figures.p90,
        "p99_ns": figures.p99,
        "p999_ns": figures.p999,
        "max_ns": figures.max,
        "late": figures.late,
        "ops_per_sec": side.ops_per_sec,
        "bytes_per_sec": side.bytes_per_sec,
        "rate_spread": side.rate_spread,
        "verdict": row.is_judged(side).then(|| side.judgement.word()),
        "failed_checks":
            side.judgement.failures().iter().map(|failure| &failure.claim).collect::<Vec<_>>(),
        "overload": side.overload.map(|overload| {
            json!({
                "done_per_sec": overload.mean.done_per_sec,
                "due_per_sec": overload.mean.due_per_sec,
                "runs": overload.overloaded,
            })
        }),
    });
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

fn ratio(ratio: &Ratio) -> Value {
    let figure = match ratio.kind {
        RatioKind::P50 => "p50",
        RatioKind::P99 => "p99",
        RatioKind::Throughput => "rate",
    };
    json!({
        "figure": figure,
        "of": ratio.of,
        "against": ratio.against,
        "ratio": ratio.ratio,
        "interval": ratio.interval,
        "differs": ratio.differs,
        "between_runs": ratio.between_runs,
    })
}
