//! A comparison as JSON.

use flashlag_schema::{
    COMPARISON_SCHEMA, CheckOutcome, CheckStatus, ComparedCheck, ComparedField, ComparedFigure,
    ComparedFigures, ComparedOverload, ComparedRatio, ComparedSubject, ComparedTest,
    ComparisonRecord, to_json_pretty,
};
use flashlag_views::{CheckDifference, CompareRow, CompareSide, Comparison, Ratio, RatioKind};

/// A comparison as JSON, `flashlag.comparison/1`.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    // Rendering strings and numbers does not fail.
    to_json_pretty(&record(comparison)).unwrap_or_default() + "\n"
}

fn record(comparison: &Comparison) -> ComparisonRecord {
    let sides = comparison.subjects.iter().map(|subject| ComparedSubject {
        name: subject.name.clone(),
        about: subject.about.clone(),
        runs: subject.runs.clone(),
    });
    let differs = comparison.differs.iter().map(|difference| ComparedField {
        field: difference.field.clone(),
        values: difference.values.clone(),
    });
    ComparisonRecord {
        schema: COMPARISON_SCHEMA,
        faster: comparison.faster.clone(),
        sentence: comparison.sentence.clone(),
        largest: comparison.largest.clone(),
        more: comparison.more.clone(),
        believe: comparison.believe.clone(),
        warnings: comparison.warnings.clone(),
        sides: sides.collect(),
        tests: comparison.rows.iter().map(test).collect(),
        differs: differs.collect(),
        checks: comparison.checks.iter().map(check).collect(),
    }
}

fn test(row: &CompareRow) -> ComparedTest {
    ComparedTest {
        test: row.test.clone(),
        title: row.title.clone(),
        state: row.state,
        run: row.run,
        sides: row.sides.iter().map(|side| side.as_ref().map(|side| figures(row, side))).collect(),
        ratios: row.ratios.iter().map(ratio).collect(),
    }
}

fn check(check: &CheckDifference) -> ComparedCheck {
    let outcome = |(status, detail): &(CheckStatus, String)| CheckOutcome {
        status: *status,
        detail: detail.clone(),
    };
    let sides = check.outcomes.iter().map(|side| side.as_ref().map(outcome));
    ComparedCheck { claim: check.claim.clone(), sides: sides.collect() }
}

fn figures(row: &CompareRow, side: &CompareSide) -> ComparedFigures {
    let figures = &side.figures;
    let failures = side.judgement.failures().iter();
    ComparedFigures {
        runs: side.runs,
        n: figures.n,
        p50_ns: figures.p50,
        p90_ns: figures.p90,
        p99_ns: figures.p99,
        p999_ns: figures.p999,
        max_ns: figures.max,
        late: figures.late,
        ops_per_sec: side.ops_per_sec,
        bytes_per_sec: side.bytes_per_sec,
        rate_spread: side.rate_spread,
        verdict: row.is_judged(side).then(|| side.judgement.word()),
        failed_checks: failures.map(|failure| failure.claim.clone()).collect(),
        overload: side.overload.map(|overload| ComparedOverload {
            done_per_sec: overload.mean.done_per_sec,
            due_per_sec: overload.mean.due_per_sec,
            runs: overload.overloaded,
        }),
    }
}

fn ratio(ratio: &Ratio) -> ComparedRatio {
    ComparedRatio {
        figure: match ratio.kind {
            RatioKind::P50 => ComparedFigure::P50,
            RatioKind::P99 => ComparedFigure::P99,
            RatioKind::Throughput => ComparedFigure::Rate,
        },
        of: ratio.of,
        against: ratio.against,
        ratio: ratio.ratio,
        interval: ratio.interval,
        differs: ratio.differs,
        between_runs: ratio.between_runs,
    }
}
