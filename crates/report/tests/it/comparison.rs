//! The page of a comparison: overloaded rows, and what grey means.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_report::{Options, comparison_html};
use flashlag_schema::{Check, CheckId, CheckStatus};
use flashlag_spec::Reading;
use flashlag_testing::sample;
use flashlag_views::{CompareOptions, compare};

#[test]
fn rows_of_too_few_values_are_counted_without_overloaded_ones() {
    let (mut kept, mut overloaded) = (sample::quick(), sample::overloaded());
    overloaded.scenario = kept.scenario.clone();
    kept.environment.software.machine = Reading::Value("Kept".to_owned());
    let busy = overloaded.phases.iter().find(|phase| phase.background.is_some()).unwrap().label();
    let runs = [kept, overloaded];
    let page = |runs: &[_]| {
        let found = compare(runs, &CompareOptions::default()).unwrap();
        let sides = || found.rows.iter().filter(|row| row.in_strip).flat_map(|row| &row.sides);
        // By the rule: fewer than 10,000 values have no p99.9.
        let of_few = |side: &&flashlag_views::CompareSide| {
            side.figures.n < 10_000 && side.overload.is_none() && side.judgement.verdict().is_some()
        };
        let few = sides().flatten().filter(of_few).count();
        (few, comparison_html(&found, runs, &Options::default()))
    };
    let (few, html) = page(&runs);
    let noun = if few == 1 { "row" } else { "rows" };
    assert!(html.contains(&format!("{few} {noun}: n is too small")) || few == 0, "{few}");
    assert!(!html.contains(&format!("{} rows: n is too small", few + 1)), "{few}");
    assert!(html.contains("are within 1.6%"), "grey is explained");
    // Under a failed check it has no verdict here either.
    let words = |html: &str| html.matches(">overloaded</td>").count();
    let judged = words(&html);
    let mut runs = runs;
    runs[1].trust.checks.push(Check {
        id: CheckId::ForeignIo,
        status: CheckStatus::Fail,
        claim: "Nothing else wrote".to_owned(),
        detail: "Something did.".to_owned(),
        cause: None,
        advice: None,
        phases: vec![busy],
    });
    assert!(judged > 0 && words(&page(&runs).1) == 0, "{judged}");
}
