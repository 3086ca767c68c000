//! Runs that no device made: pages must come out whatever is in the file.

use flashlag_report::{Options, html};
use flashlag_schema::{Run, StoredHistogram};
use flashlag_testing::sample;
use flashlag_units::{Bytes, Nanos};
use proptest::prelude::*;

/// Numbers at the edges of what a file can hold.
fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(u64::MAX - 1),
        Just(i64::MAX as u64),
        0..1_000_000_000_000u64,
    ]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(f64::MAX), Just(f64::MIN_POSITIVE), Just(-1.0), 0.0..1e12f64]
}

fn histogram() -> impl Strategy<Value = StoredHistogram> {
    let buckets = prop::collection::btree_map(0u32..4000, edge(), 0..6);
    (buckets, edge(), edge(), edge()).prop_map(|(buckets, min, max, sum)| {
        let (index, count) = buckets.into_iter().unzip();
        StoredHistogram {
            grouping_power: 6,
            index,
            count,
            min_ns: Nanos(min),
            max_ns: Nanos(max),
            sum_ns: Nanos(sum),
        }
    })
}

/// A sample with parts of one phase replaced.
fn odd(
    kind: usize,
    phase: usize,
    stored: StoredHistogram,
    numbers: &[u64],
    rates: (f64, f64),
) -> Run {
    let mut samples = sample::all();
    let (_, mut run) = samples.swap_remove(kind % 5);
    let number = |index: usize| numbers.get(index).copied().unwrap_or(0);
    let phases = run.phases.len().max(1);
    if let Some(phase) = run.phases.get_mut(phase % phases) {
        phase.histogram = stored.clone();
        phase.ops = number(0);
        phase.elapsed_ns = Nanos(number(1));
        phase.began_ns = Nanos(number(2));
        phase.ops_per_sec = rates.0;
        phase.bytes_per_sec = rates.1;
        phase.latency_ns.p50 = Some(Nanos(number(3)));
        phase.latency_ns.max = None;
        for interval in phase.intervals.iter_mut().take(3) {
            interval.t_ns = Nanos(number(4));
            interval.max = Nanos(number(5));
            interval.filled_bytes = Some(Bytes(number(6)));
            interval.histogram = stored.clone();
        }
        for stall in phase.stalls.iter_mut().take(3) {
            stall.ns = Nanos(number(7));
            stall.t_ns = Nanos(number(0));
        }
        for change in &mut phase.changes {
            change.t_ns = Nanos(number(1));
            change.bytes_per_sec = Some(rates);
        }
        phase.stalls_seen = number(2);
    }
    run.lag.over_60hz = number(3);
    run.environment.device.size_bytes = flashlag_spec::Reading::Value(Bytes(number(4)));
    run.environment.filesystem.total_bytes = flashlag_spec::Reading::Value(Bytes(number(6)));
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn odd_numbers_never_panic_and_never_print_as_such(
        kind in 0usize..5,
        phase in 0usize..60,
        stored in histogram(),
        numbers in prop::collection::vec(edge(), 8),
        rates in (float(), float()),
    ) {
        let run = odd(kind, phase, stored, &numbers, rates);
        let page = html(&run, &Options::default());
        let body = page.split("</style>").nth(1).unwrap_or_default();
        prop_assert!(!body.contains("NaN") && !body.contains("\"inf") && !body.contains("e308"));
    }

    #[test]
    fn any_text_of_a_device_is_shown_as_text(text in "\\PC{0,12}|[\\x00-\\x7f]{0,12}") {
        let mut run = sample::memory();
        run.environment.software.machine = flashlag_spec::Reading::Value(text.clone());
        run.environment.filesystem.options = flashlag_spec::Reading::Value(vec![text.clone()]);
        let page = html(&run, &Options::default());
        prop_assert_eq!(page.matches("<script").count(), 0);
        let bare = page.contains(&("<bdi>".to_owned() + &text));
        prop_assert!(!(text.contains('<') && bare), "unescaped");
    }
}

#[test]
fn a_schedule_that_was_not_kept_is_overloaded_on_the_page() {
    let run = flashlag_testing::sample::overloaded();
    let page = flashlag_report::html(&run, &flashlag_report::Options::default());
    assert!(
        page.contains("3.8 of the 100 saves due each second are done; the queue grows"),
        "the caveat"
    );
    assert!(page.contains(">overloaded<"), "the verdict of the row");
    let rows = page.split("<tr").filter_map(|row| row.split("</tr>").next());
    let busy: Vec<&str> = rows.filter(|row| row.contains("overloaded")).collect();
    assert!(busy.iter().all(|row| !row.contains("n too small")), "n is not what is missing");
}
