//! What is said of a trace is what its rows say.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use flashlag_schema::LatencySummary;
use flashlag_schema::trace::{
    TraceLayers, TraceLedger, TraceSyncs, TraceWriter, TraceWrites, TraceWrittenKind,
};
use flashlag_units::{Bytes, Nanos};
use flashlag_views::trace_summary;

fn row(process: &str, bytes: u64, waited: u64, main: bool) -> TraceWriter {
    let waited = Nanos::from_millis(waited);
    TraceWriter {
        process: Some(process.to_owned()),
        main: Some(main),
        file: Some(format!("/{process}")),
        kind: TraceWrittenKind::Other,
        calls: Some(TraceWrites { count: 1, bytes: Bytes(bytes) }),
        syncs: Some(TraceSyncs {
            count: 2,
            waited_ns: waited,
            latency_ns: (waited > Nanos::ZERO)
                .then(|| LatencySummary { max: Some(waited), ..LatencySummary::default() }),
            histogram: None,
        }),
        ..TraceWriter::default()
    }
}

fn answer(rows: Vec<TraceWriter>) -> String {
    let syncs = rows.iter().filter_map(|row| row.syncs.as_ref()).map(|syncs| syncs.count).sum();
    let layers = TraceLayers { syncs: Some(syncs), ..TraceLayers::default() };
    trace_summary(&TraceLedger { writers: rows, layers, ..TraceLedger::default() }, false).answer
}

#[test]
fn the_first_sentence_names_the_most_bytes_and_the_second_the_longest_waits() {
    assert_eq!(
        answer(vec![row("a", 300, 5, true), row("b", 500, 1, false), row("a", 400, 6, false)]),
        "a writes the most: 700 B of 1.2 kB (58%). Its fsyncs wait the longest: 11 ms in 4, 6.0 ms at \
         most."
    );
    assert_eq!(
        answer(vec![row("a", 300, 9, true), row("b", 600, 1, false)]),
        "b writes the most: 600 B of 900 B (67%). The fsyncs of a wait the longest: 9.0 ms in 2, 9.0 ms \
         at most, on its main thread."
    );
}

/// A thread's requests to the device, and no call.
fn requests(process: &str, bytes: u64) -> TraceWriter {
    TraceWriter {
        process: Some(process.to_owned()),
        kind: TraceWrittenKind::Blocks,
        block: Some(TraceWrites { count: 1, bytes: Bytes(bytes) }),
        ..TraceWriter::default()
    }
}

#[test]
fn who_calls_write_is_named_and_not_the_kernel_that_writes_it_out_later() {
    let of = |writers: Vec<TraceWriter>| {
        let block = Some(TraceWrites { count: 1, bytes: Bytes(1_000) });
        let layers = TraceLayers { syncs: Some(0), block, ..TraceLayers::default() };
        trace_summary(&TraceLedger { writers, layers, ..TraceLedger::default() }, false).answer
    };
    let both = of(vec![row("rustc", 300, 0, true), requests("kworker/u8:1", 900)]);
    let said = "rustc writes the most: 300 B of 300 B (100%). No fsync is in it. The kernel sends the device \
                900 B of 900 B itself, later than the programs wrote.";
    assert_eq!(both, said);
    let own = of(vec![row("dd", 300, 0, true), requests("dd", 900)]);
    assert!(
        own.starts_with("dd writes the most: 300 B of 300 B (100%). ") && !own.contains("kernel")
    );
    let without_calls = of(vec![requests("kworker/u8:1", 900), requests("dd", 100)]);
    let said = "kworker/u8:1 writes the most to the device: 900 B of 1.0 kB (90%). ";
    assert!(without_calls.starts_with(said), "{without_calls}");
}

#[test]
fn without_latencies_or_fsyncs_none_are_made_up() {
    let none = answer(vec![row("a", 300, 0, true)]);
    assert!(
        none.contains("It also calls fsync the most: 2 of 2; how long fsyncs wait is not"),
        "{none}"
    );
    assert_eq!(answer(Vec::new()), "Nothing is written. No fsync is in it.");
    let summary = trace_summary(&TraceLedger::default(), false);
    assert!(summary.answer.ends_with("Whose fsyncs wait is not in this trace."));
    assert!(summary.tables.is_empty());
}

#[test]
fn rows_beyond_the_tenth_are_counted_and_in_full_shown() {
    let rows: Vec<TraceWriter> =
        (0..25).map(|at| row(&format!("p{at:02}"), 25 - at, 0, false)).collect();
    let ledger = TraceLedger { writers: rows, ..TraceLedger::default() };
    let short = trace_summary(&ledger, false);
    assert_eq!((short.tables[0].rows.len(), short.tables[0].more), (10, 15));
    assert_eq!(short.tables[0].rows[0].0, "p00");
    assert_eq!(trace_summary(&ledger, true).tables[0].rows.len(), 25);
}
