//! Single charts as files of their own.

use std::collections::BTreeSet;

use crate::common::hostile;
use flashlag_report::{Theme, chart_svg, charts};
use flashlag_schema::Run;
use flashlag_spec::Operation;
use flashlag_testing::sample;

/// Every chart of a run, in both themes.
fn drawn(run: &Run) -> Vec<(String, String)> {
    let names = charts(run).into_iter().map(|chart| chart.name);
    let both = names.flat_map(|name| [(name.clone(), Theme::Light), (name, Theme::Dark)]);
    both.map(|(name, theme)| {
        let svg = chart_svg(run, &name, theme).expect("a chart that is listed can be drawn");
        (name, svg)
    })
    .collect()
}

#[test]
fn every_chart_that_is_listed_stands_alone() {
    for (kind, run) in sample::all() {
        let all = drawn(&run);
        assert!(!all.is_empty(), "{}", kind.name());
        for (name, svg) in all {
            let what = format!("{}: {name}", kind.name());
            let root = svg.split("<svg ").nth(1).and_then(|rest| rest.split('>').next());
            let root = root.expect("a root");
            for attribute in
                ["xmlns=\"http://www.w3.org/2000/svg\"", "width=", "height=", "viewBox="]
            {
                assert!(root.contains(attribute), "{what}: no {attribute}");
            }
            // Nothing of a page is needed: no variable, no style sheet, no other file.
            for needed in ["var(", "href", "@import", "<script", "NaN"] {
                assert!(!svg.contains(needed), "{what}: {needed}");
            }
            assert!(svg.contains("font-family") && svg.contains("#"), "{what}: fonts and colours");
            assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count(), "{what}");
        }
    }
}

#[test]
fn names_are_unique_and_throughput_is_there_for_every_phase_with_a_series() {
    let run = sample::lifecycle();
    let charts = charts(&run);
    let names: BTreeSet<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    assert_eq!(names.len(), charts.len());
    let begins = |with: &str| names.iter().filter(|name| name.starts_with(with)).count();
    let series = run.phases.iter().filter(|phase| phase.intervals.len() > 1).count();
    assert_eq!(begins("throughput-"), series);
    assert!(names.contains("strip") && names.contains("fill") && begins("latency-") > 3);
}

#[test]
fn an_unknown_chart_says_which_was_meant() {
    let run = sample::quick();
    let name =
        charts(&run).into_iter().map(|chart| chart.name).find(|it| it.starts_with("latency"));
    let name = name.expect("a distribution");
    let error = chart_svg(&run, &name.replacen("latency", "latncy", 1), Theme::Light);
    let error = error.expect_err("no such chart");
    assert!(error.to_string().contains(&format!("did you mean `{name}`?")), "{error}");
    assert!(error.to_string().contains("--chart list"), "{error}");
}

#[test]
fn no_string_of_a_run_is_markup_in_a_chart() {
    for (name, svg) in drawn(&hostile(&sample::quick())) {
        let shown = svg.split("</style>").nth(1).unwrap_or_default();
        assert!(!svg.contains("<script") && !shown.contains("<img"), "{name}");
        assert!(!svg.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{name}");
    }
}

#[test]
fn tests_that_differ_in_depth_alone_have_a_chart_of_depths() {
    let mut run = sample::quick();
    let read = |phase: &&flashlag_schema::Phase| phase.operation == Operation::RandomRead;
    let first = run.phases.iter().find(read).expect("a random read").clone();
    assert!(!charts(&run).iter().any(|chart| chart.name.starts_with("depth-")));
    for (depth, rate) in [(8, 30_500.0), (32, 61_200.0)] {
        let mut deeper = first.clone();
        deeper.name = format!("rand_read_4k_q{depth}");
        (deeper.queue_depth, deeper.ops_per_sec) = (depth, rate);
        run.phases.push(deeper);
    }
    let name = charts(&run).into_iter().map(|chart| chart.name).find(|it| it.starts_with("depth-"));
    let svg = chart_svg(&run, &name.expect("a sweep"), Theme::Light).expect("it is drawn");
    for said in ["depth 1<", "depth 8<", "depth 32<", "30,500/s", "61,200/s"] {
        assert!(svg.contains(said), "{said}");
    }
}
