//! What is said of a replayed trace: from when its waits count, and how long operations take by themselves.
#![allow(clippy::unwrap_used)]

use flashlag_schema::{Lag, LatencySummary, Phase, Replayed, Run, StoredHistogram};
use flashlag_spec::replay::{ReplayLevel, ReplayPace, TraceTransactions};
use flashlag_spec::{Operation, State, TraceSourceKind};
use flashlag_stats::Histogram;
use flashlag_testing::{bare_run, closed_loop_phase};
use flashlag_units::Nanos;
use flashlag_views::{Headline, headline, replayed_traces, strip};

fn waits(ms: impl Iterator<Item = u64>) -> Histogram {
    let mut waits = Histogram::new();
    ms.for_each(|ms| waits.record(Nanos::from_millis(ms)));
    waits
}

/// A thousand transactions that take 6 ms each, and `from_trace` from their times in the trace, due within 10 s, in
/// which they took 1 ms; done after `took` seconds.
fn saves(from_trace: &Histogram, took: u64) -> Phase {
    let own = waits((0..1_000).map(|_| 6));
    let traced = waits((0..1_000).map(|_| 1));
    Phase {
        closed_loop: false,
        elapsed_ns: Nanos::from_secs(took),
        response_ns: Some(LatencySummary::from(from_trace)),
        response_histogram: Some(StoredHistogram::from(from_trace)),
        missed_slots: Some(700),
        lag: Some(Lag::of(from_trace)),
        replay: Some(Replayed {
            trace_sha256: "0".repeat(64),
            source: TraceSourceKind::Strace,
            level: ReplayLevel::Calls,
            pace: ReplayPace::Own,
            scheduled_ns: Some(Nanos::from_secs(10)),
            traced_ns: Some(LatencySummary::from(&traced)),
            traced_histogram: Some(StoredHistogram::from(&traced)),
            transactions: Some(TraceTransactions { rollback: 1_000, log: 0 }),
        }),
        ..closed_loop_phase("replay_save", State::New, Operation::Save, &own)
    }
}

fn said(phase: Phase) -> (Headline, String) {
    let run: Run = bare_run(vec![phase]);
    let traced = replayed_traces(&run).remove(0).traced;
    (headline(&run), traced)
}

/// Bursts of saves, one right after the other: each waits for those before it, until the app pauses.
fn bursts() -> Histogram {
    waits((0..1_000).map(|at| 6 * (1 + at % 50)))
}

#[test]
fn a_backlog_is_said_to_count_from_the_recording_with_the_waits_of_the_saves_themselves() {
    let (headline, traced) = said(saves(&bursts(), 10));
    let Headline { sentence, more, .. } = headline;
    assert!(sentence.starts_with("Lags: "), "{sentence}");
    assert!(
        sentence.contains("counted from when your app made them in the recording"),
        "{sentence}"
    );
    let own = "Counted from their own start, none of 1,000 SQLite saves misses a 60 Hz frame (median 6.0 ms)";
    assert!(more.contains(own), "{more}");
    // Both medians count from the operation's own start.
    assert!(traced.contains("transactions 1.0 ms there, 6.0 ms here"), "{traced}");
    assert!(traced.contains("From their times in the trace"), "{traced}");
    let groups = strip(&bare_run(vec![saves(&bursts(), 10)])).groups;
    assert!(groups[0].title.contains("from when your app made it in the recording"), "{groups:?}");
}

#[test]
fn a_device_that_keeps_up_has_one_figure_for_both() {
    let (headline, traced) = said(saves(&waits((0..1_000).map(|_| 6)), 10));
    assert!(headline.sentence.starts_with("Smooth: "), "{}", headline.sentence);
    assert!(!headline.more.contains("own start"), "{}", headline.more);
    assert!(!traced.contains("From their times in the trace"), "{traced}");
}

#[test]
fn a_trace_that_can_not_be_kept_up_with_is_said_by_its_times_and_not_by_a_rate_of_its_device() {
    let (headline, traced) = said(saves(&waits((0..1_000).map(|at| 30 * at)), 40));
    let Headline { sentence, more, .. } = headline;
    assert_eq!(sentence, "Overloaded: what is due within 10 s in the recording takes 40 s.");
    assert!(more.contains("Counted from their own start, none of 1,000"), "{more}");
    assert_eq!(
        traced,
        "Medians from their own start, where the trace was made and here: transactions 1.0 ms there, \
         6.0 ms here"
    );
}

#[test]
fn flat_out_nothing_counts_from_the_recording() {
    let mut phase = saves(&bursts(), 10);
    (phase.closed_loop, phase.response_ns, phase.response_histogram) = (true, None, None);
    phase.replay.as_mut().unwrap().scheduled_ns = None;
    let (headline, traced) = said(phase);
    assert!(!headline.sentence.contains("recording"), "{}", headline.sentence);
    assert!(
        traced.starts_with("Medians from their own start") && !traced.contains("From"),
        "{traced}"
    );
}
