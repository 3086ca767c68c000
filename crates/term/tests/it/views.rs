//! Every view of the sample runs, as a reader sees it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use flashlag_schema::{CheckStatus, Run};
use flashlag_spec::scenario::Scenario;
use flashlag_term::Style;
use flashlag_testing::sample;
use flashlag_views::{CompareOptions, compare};

const COLOR: Style = Style { width: 80, color: true, unicode: true };
const ASCII: Style = Style { width: 80, color: false, unicode: false };

fn samples() -> Vec<(&'static str, Run)> {
    vec![
        ("lifecycle", sample::lifecycle()),
        ("quick", sample::quick()),
        ("soak", sample::soak()),
        ("memory", sample::memory()),
    ]
}

#[test]
fn summaries_fit_narrow_usual_and_wide_terminals() {
    for (name, run) in samples() {
        for width in [60, 80, 120] {
            let style = Style::PLAIN.with_width(width);
            insta::assert_snapshot!(
                format!("summary_{name}_{width}"),
                flashlag_term::summary(&run, style)
            );
        }
    }
    let style = Style::PLAIN;
    insta::assert_snapshot!("summary_sqlite_80", flashlag_term::summary(&sample::sqlite(), style));
}

#[test]
fn a_schedule_that_was_not_kept_is_overloaded_in_the_summary() {
    let run = sample::overloaded();
    for width in [80, 120] {
        let text = flashlag_term::summary(&run, Style::PLAIN.with_width(width));
        let row = text.lines().find(|line| line.trim_end().ends_with("overloaded")).unwrap();
        assert!(!row.contains(" 6"), "no median of a queue that grows: {row}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("of the 100 saves due each second, only 3.8 are done"), "{text}");
    }
}

#[test]
fn summaries_in_colour_and_in_ascii_say_the_same() {
    let run = sample::lifecycle();
    let color = flashlag_term::summary(&run, COLOR);
    insta::assert_snapshot!("summary_lifecycle_80_color", color.replace('\u{1b}', "␛"));
    insta::assert_snapshot!("summary_lifecycle_80_ascii", flashlag_term::summary(&run, ASCII));
    let mut stripped = String::new();
    for (index, part) in color.split('\u{1b}').enumerate() {
        stripped += if index == 0 { part } else { part.split_once('m').unwrap().1 };
    }
    assert_eq!(stripped, flashlag_term::summary(&run, Style::PLAIN));
}

#[test]
fn the_trust_section_of_a_run_in_memory_says_what_is_unknown() {
    insta::assert_snapshot!("trust_memory", flashlag_term::trust(&sample::memory(), Style::PLAIN));
}

#[test]
fn tests_that_a_failed_check_covers_are_named_and_stand_apart_although_their_titles_have_commas() {
    let text = flashlag_term::trust(&sample::lifecycle(), Style::PLAIN.with_width(200));
    let named = "Do not quote: 256K seq read, idle; 256K seq write, idle; 4K rand read, idle; 4K \
                 rand write, idle.";
    assert!(text.contains(named), "{text}");
}

#[test]
fn a_run_without_anything_in_it_has_every_view() {
    let mut run = sample::quick();
    run.phases.clear();
    run.trust.checks.clear();
    run.environment = Default::default();
    run.flashlag.version = "0.0.0".to_owned();
    insta::assert_snapshot!("summary_empty", flashlag_term::summary(&run, Style::PLAIN));
    assert!(!flashlag_term::trust(&run, Style::PLAIN).is_empty());
}

#[test]
fn scenarios_are_listed_and_shown() {
    let texts = [
        include_str!("../../../../scenarios/quick.toml"),
        include_str!("../../../../scenarios/fill.toml"),
        include_str!("../../../../scenarios/lifecycle.toml"),
    ];
    let all: Vec<Scenario> = texts.iter().map(|text| Scenario::parse(text, &[]).unwrap()).collect();
    insta::assert_snapshot!("scenarios", flashlag_term::scenarios(&all, Style::PLAIN));
    let mut shown = String::new();
    for scenario in &all {
        shown += &flashlag_term::scenario(scenario, Style::PLAIN);
        shown += "\n";
    }
    insta::assert_snapshot!("scenarios_shown", shown);
}

#[test]
fn files_are_named_last() {
    let named = [("Report", "report.html"), ("Data", "report.json")];
    let text = flashlag_term::files(&named, Style::PLAIN);
    assert_eq!(text, "Report     report.html\nData       report.json\n");
}

#[test]
fn a_comparison_says_how_sure_each_difference_is() {
    let (mut faster, slower) = (sample::quick(), sample::lifecycle());
    let options = CompareOptions { force: true, ..CompareOptions::default() };
    faster.environment.software.machine = flashlag_spec::Reading::Value("Phone P".to_owned());
    let comparison = compare(&[faster, slower], &options).unwrap();
    for width in [60, 80, 120] {
        let text = flashlag_term::comparison(&comparison, Style::PLAIN.with_width(width));
        insta::assert_snapshot!(format!("comparison_{width}"), text);
    }
}

#[test]
fn a_comparison_in_full_has_each_side_of_each_difference_and_its_verdict_is_its_sentences() {
    let mut runs = [sample::quick(), sample::lifecycle()];
    runs[1].environment.filesystem.kind = flashlag_spec::Reading::Value("xfs".to_owned());
    let options = CompareOptions { force: true, ..CompareOptions::default() };
    let found = flashlag_views::compare(&runs, &options).unwrap();
    let style = Style::PLAIN.with_width(120);
    let squeezed = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let full = squeezed(flashlag_term::comparison_in_full(&found, style));
    let short = squeezed(flashlag_term::comparison(&found, style));
    let verdict = squeezed(flashlag_term::comparison_verdict(&found, style));
    assert!(!found.differs.is_empty());
    for difference in &found.differs {
        assert!(difference.values.iter().all(|value| full.contains(value.as_str())), "{full}");
        assert!(short.contains(&difference.field.to_lowercase()), "{short}");
    }
    for check in &found.checks {
        // In short, what is unknown is a question.
        let has = |status| check.outcomes.iter().flatten().any(|(found, _)| *found == status);
        let unknown = has(CheckStatus::Unknown);
        let question = flashlag_views::whether(&check.claim);
        assert_eq!(short.contains(&question), unknown, "{short}");
        assert!(short.contains(&check.claim) || unknown, "{short}");
        assert!(full.contains(&check.claim), "{full}");
    }
    assert!(full.starts_with(&verdict) && short.starts_with(&verdict), "{verdict}");
    assert!(verdict.contains(&squeezed(found.sentence.clone())) && verdict.len() < short.len() / 2);
}
