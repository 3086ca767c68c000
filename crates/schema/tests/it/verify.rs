//! A run file verifies as it was written, and no figure in it can be changed without being seen.
#![allow(clippy::unwrap_used)]

use flashlag_schema::verify::{verify, verify_text};
use flashlag_schema::{Lag, Run};
use flashlag_spec::{Reading, Verdict};
use flashlag_testing::small_run;
use flashlag_units::{Bytes, Nanos};

/// Paths of what differs after `change`, with the checksum made right again: the figures must be
/// found by themselves.
fn found_after(change: impl FnOnce(&mut Run)) -> Vec<String> {
    let mut run = small_run();
    change(&mut run);
    run.seal();
    verify(&run).into_iter().map(|discrepancy| discrepancy.path).collect()
}

#[test]
fn a_run_verifies_as_it_was_written_and_read_back() {
    let run = small_run();
    assert_eq!(verify(&run), []);
    let text = run.to_json();
    assert_eq!(verify_text(&text).unwrap(), []);
    assert_eq!(Run::from_json(&text).unwrap(), run);
    let compact = serde_json::to_string(&run).unwrap();
    assert_eq!(verify_text(&compact).unwrap(), [], "spaces are no figures");
}

/// The positions of all digits of all numbers, outside strings.
fn digits(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'0'..=b'9') => found.push(at),
            _ => {}
        }
    }
    found
}

#[test]
fn no_digit_of_any_number_can_be_changed_unseen() {
    let text = serde_json::to_string(&small_run()).unwrap();
    let digits = digits(&text);
    assert!(digits.len() > 2_000, "{} digits", digits.len());
    for at in digits {
        let mut changed = text.clone().into_bytes();
        changed[at] = b'0' + (changed[at] - b'0' + 1 + (at % 9) as u8) % 10;
        if changed[at] == text.as_bytes()[at] {
            changed[at] = b'0' + (changed[at] - b'0' + 1) % 10;
        }
        let changed = String::from_utf8(changed).unwrap();
        let around = &changed[at.saturating_sub(40)..(at + 20).min(changed.len())];
        // Not readable any more is seen, too.
        let seen = verify_text(&changed).map_or(true, |found| !found.is_empty());
        assert!(seen, "byte {at}, near {around}");
    }
}

#[test]
fn a_digit_that_a_float_does_not_hold_is_seen() {
    let mut run = small_run();
    run.wear.life_percent = Reading::Value(0.1 + 0.2);
    run.seal();
    let text = run.to_json();
    let changed = text.replace("0.30000000000000004", "0.30000000000000003");
    assert_ne!(changed, text);
    assert_eq!(Run::from_json(&changed).unwrap(), run, "the same value");
    let found = verify_text(&changed).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "life_percent");
}

#[test]
fn each_figure_is_recomputed_without_the_checksum() {
    type Change = fn(&mut Run);
    let changes: &[(&str, Change)] = &[
        ("phases[0].latency_ns.p50", |run| run.phases[0].latency_ns.p50 = Some(Nanos(1))),
        ("phases[0].latency_ns.max", |run| run.phases[0].latency_ns.max = None),
        ("phases[2].latency_ns.p99", |run| run.phases[2].latency_ns.p99 = Some(Nanos(60_000))),
        ("phases[2].latency_ns.absent", |run| run.phases[2].latency_ns.absent = None),
        ("phases[0].flush_latency_ns.mean", |run| {
            run.phases[0].flush_latency_ns.as_mut().unwrap().mean = Some(Nanos(3));
        }),
        ("phases[0].flush_latency_ns", |run| run.phases[0].flush_latency_ns = None),
        ("phases[0].response_ns", |run| run.phases[0].response_histogram = None),
        ("phases[0].ops", |run| run.phases[0].ops += 1),
        ("phases[0].ops_per_sec", |run| run.phases[0].ops_per_sec += 1e-9),
        ("phases[0].bytes_per_sec", |run| run.phases[0].bytes_per_sec *= 2.0),
        ("phases[0].bytes", |run| run.phases[0].bytes = Bytes(1)),
        ("phases[0].closed_loop", |run| run.phases[0].closed_loop = true),
        ("phases[1].lag", |run| run.phases[1].lag.as_mut().unwrap().over_100ms += 1),
        ("phases[0].lag", |run| run.phases[0].lag = Some(Lag::default())),
        ("lag", |run| run.lag.saves += 1),
        ("phases[1].growth.in_place.ops", |run| {
            run.phases[1].growth.as_mut().unwrap().in_place.ops = 0;
        }),
        ("phases[1].growth", |run| {
            let growth = run.phases[1].growth.as_mut().unwrap();
            growth.grew = growth.in_place.clone();
        }),
        ("phases[0].intervals", |run| drop(run.phases[0].intervals.remove(1))),
        ("phases[0].intervals[1].ops", |run| run.phases[0].intervals[1].ops += 1),
        ("phases[0].intervals[1].max", |run| run.phases[0].intervals[1].max.0 -= 1),
        ("phases[0].intervals[1].p50", |run| run.phases[0].intervals[1].p50 = None),
        ("phases[0].intervals[1].t_ns", |run| run.phases[0].intervals[1].t_ns = Nanos(1)),
        ("phases[0].histogram", |run| run.phases[0].histogram.grouping_power = 7),
        ("phases[0].histogram", |run| run.phases[0].histogram.count[0] = 0),
        ("phases[0].histogram", |run| run.phases[0].histogram.max_ns = Nanos(3)),
        ("phases[0].histogram", |run| {
            run.phases[0].histogram.index.pop();
        }),
        ("phases[0].stalls_seen", |run| run.phases[0].stalls_seen += 1),
        ("phases[0].stalls", |run| {
            let longest = run.phases[0].latency_ns.max;
            run.phases[0].stalls.retain(|stall| Some(stall.ns) != longest);
        }),
        ("phases[0].stalls", |run| run.phases[0].stalls.clear()),
        ("phases[0].stalls[0].cause", |run| {
            run.phases[0].stalls[0].cause = flashlag_schema::StallCause::Cpu;
        }),
        ("phases[0].stalls[1].ns", |run| run.phases[0].stalls[1].ns = Nanos(1)),
        ("phases[0].waits[0].below_ns", |run| run.phases[0].waits[0].below_ns.0 += 1),
        ("phases[0].waits", |run| run.phases[0].waits[0].ops += 10_000),
        ("phases[0].changes[0].t_ns", |run| run.phases[0].changes[0].t_ns = Nanos::MAX),
        ("trust.verdict", |run| run.trust.verdict = Verdict::Untrusted),
        ("trust.verdict", |run| run.trust.checks.clear()),
        ("wear.written_bytes", |run| run.wear.written_bytes = Bytes(1)),
        ("scenario.hash", |run| run.scenario.hash = "0".repeat(64)),
        ("scenario.text", |run| run.scenario.text.push_str("[[")),
    ];
    for (path, change) in changes {
        let found = found_after(change);
        assert!(found.iter().any(|at| at == path), "{path}: found {found:?}");
    }
}

#[test]
fn a_missing_checksum_is_seen() {
    let mut run = small_run();
    run.integrity = Default::default();
    assert_eq!(verify(&run)[0].path, "integrity.sha256");
}

#[test]
fn absurd_numbers_are_found_without_a_panic() {
    let found = found_after(|run| {
        let phase = &mut run.phases[0];
        phase.histogram.index = vec![5, u32::MAX];
        phase.histogram.count = vec![u64::MAX, u64::MAX];
        phase.bytes = Bytes(u64::MAX);
        phase.elapsed_ns = Nanos::ZERO;
        phase.waits[0].from_ns = Nanos(0);
        phase.waits[1].ops = u64::MAX;
        phase.intervals.iter_mut().for_each(|interval| {
            interval.bytes = Bytes(u64::MAX);
            interval.histogram.count.fill(u64::MAX);
        });
        run.phases[1].lag = Some(Lag { saves: u64::MAX, ..Lag::default() });
        run.phases[2].lag = Some(Lag { saves: u64::MAX, ..Lag::default() });
    });
    assert!(found.len() > 5, "{found:?}");
}
