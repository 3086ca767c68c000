//! Whether a storage is good enough: each requirement beside the run's own histogram, and never a pass of what was not
//! measured or can't be trusted.

use flashlag_schema::{CheckStatus, Run};
use flashlag_testing::sample;
use flashlag_views::{Requires, good_enough};

/// The sample run of `quick`, with requirements in its scenario.
fn asked(requirements: &[(&str, &str, &str)]) -> Run {
    let mut run = sample::quick();
    for (figure, limit, value) in requirements {
        run.scenario.text.push_str(&format!(
            "\n[[require]]\nfigure = \"{figure}\"\n{limit} = \"{value}\"\nsource = \"a test\"\n"
        ));
    }
    run
}

/// The p99 of a phase of the run, in microseconds, from its stored buckets.
fn p99_us(run: &Run, name: &str) -> u64 {
    let phase = run.phases.iter().find(|phase| phase.name == name).unwrap();
    phase.latency_ns.p99.unwrap().0 / 1_000
}

fn verdicts(run: &Run) -> Vec<Requires> {
    let answer = good_enough(run).unwrap();
    answer.requirements.iter().map(|required| required.verdict).collect()
}

#[test]
fn a_scenario_that_requires_nothing_has_no_answer() {
    assert_eq!(good_enough(&sample::quick()), None);
}

#[test]
fn a_figure_on_either_side_of_its_limit_is_met_or_not() {
    let p99 = p99_us(&sample::quick(), "rand_write_4k");
    let over = format!("{}us", p99 + p99 / 50);
    let under = format!("{}us", p99 - p99 / 50);
    let run = asked(&[
        ("rand_write_4k.p99", "at_most", &over),
        ("rand_write_4k.p99", "at_most", &under),
        ("rand_write_4k.p99", "at_least", &under),
        ("rand_read_4k.ops_per_sec", "at_least", "1"),
    ]);
    use Requires::{Met, NotMet};
    assert_eq!(verdicts(&run), [Met, NotMet, Met, Met]);
    let answer = good_enough(&run).unwrap();
    assert_eq!(answer.verdict, NotMet);
    assert!(answer.sentence.starts_with("Not good enough for quick: "), "{}", answer.sentence);
    assert!(answer.sentence.contains(" is required"), "{}", answer.sentence);
    let alone = good_enough(&asked(&[("rand_write_4k.p99", "at_most", &over)])).unwrap();
    assert_eq!(alone.verdict, Met);
    assert!(alone.sentence.starts_with("Good enough for quick: "), "{}", alone.sentence);
}

#[test]
fn what_was_not_measured_or_has_too_few_values_is_unknown_and_passes_nothing() {
    let mut run = asked(&[
        ("rand_write_4k.p99", "at_most", "10s"),
        ("save_wal.p999", "at_most", "10s"),
        ("append.p99", "at_most", "10ms"),
        ("rand_write_4k.p98", "at_most", "10ms"),
    ]);
    run.phases.retain(|phase| phase.name != "rand_write_4k");
    let answer = good_enough(&run).unwrap();
    for required in &answer.requirements {
        let known = (required.measured.is_some(), required.unknown.is_some());
        assert_eq!(
            known,
            (required.verdict != Requires::Unknown, required.verdict == Requires::Unknown)
        );
    }
    let unknown = |index: usize| answer.requirements[index].verdict == Requires::Unknown;
    assert!(unknown(0) && unknown(2) && unknown(3), "{answer:?}");
    assert_eq!(answer.verdict, Requires::Unknown);
    assert!(answer.sentence.starts_with("Whether it is good enough"), "{}", answer.sentence);
}

#[test]
fn a_phase_that_a_failed_check_covers_is_unknown_whatever_it_shows() {
    for limit in ["1ns", "10s"] {
        let mut run = asked(&[("rand_write_4k.p99", "at_most", limit)]);
        let label = run.phases.iter().find(|phase| phase.name == "rand_write_4k").unwrap().label();
        let check = &mut run.trust.checks[0];
        check.status = CheckStatus::Fail;
        check.phases = vec![label];
        assert_eq!(verdicts(&run), [Requires::Unknown], "{limit}");
    }
}

#[test]
fn the_page_begins_with_the_answer_and_names_each_source() {
    let run = asked(&[("rand_read_4k.ops_per_sec", "at_least", "1")]);
    let page = flashlag_views::page::run_page(&run, &[]);
    let first = &page.sections[0];
    assert_eq!(first.heading, "Good enough for quick");
    assert!(format!("{:?}", first.blocks).contains("a test"), "the source: {:?}", first.blocks);
    let without = flashlag_views::page::run_page(&sample::quick(), &[]);
    assert!(without.sections.iter().all(|section| section.id != "good-enough"));
}
