//! What is said of a trace is what its rows say.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use flashlag_schema::trace::{
    TraceLayers, TraceLedger, TraceSaveKind, TraceSaveWaits, TraceSaves, TraceSyncs, TraceWriter,
    TraceWrites, TraceWrittenKind,
};
use flashlag_schema::{LatencySummary, StoredHistogram};
use flashlag_stats::Histogram;
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

/// A median needs twenty latencies, and p99 a thousand.
#[test]
fn a_percentile_has_a_column_if_some_row_has_enough_latencies_for_it() {
    let heads = |waits: u64| {
        let mut histogram = Histogram::new();
        (0..waits).for_each(|_| histogram.record(Nanos::from_millis(3)));
        let mut one = row("a", 300, 3 * waits, true);
        let syncs = one.syncs.as_mut().unwrap();
        syncs.count = waits;
        syncs.histogram = (waits > 0).then(|| StoredHistogram::from(&histogram));
        let ledger = TraceLedger { writers: vec![one], ..TraceLedger::default() };
        let tables = trace_summary(&ledger, false).tables;
        let heads: Vec<&str> = tables[0].columns.iter().map(|column| column.title).collect();
        heads.join(" ")
    };
    let calls = "what writes bytes fsyncs";
    assert_eq!(heads(0), calls);
    assert_eq!(heads(19), format!("{calls} max ms"));
    assert_eq!(heads(20), format!("{calls} p50 ms max ms"));
    assert_eq!(heads(999), format!("{calls} p50 ms max ms"));
    assert_eq!(heads(1_000), format!("{calls} p50 ms p99 ms max ms"));
}

/// Saves of a file of 10 kB, with the wait of each in ms, of which some were followed at once.
fn saves(file: &str, kind: TraceSaveKind, main: bool, waits: &[u64], followed: u64) -> TraceSaves {
    let mut histogram = Histogram::new();
    waits.iter().for_each(|ms| histogram.record(Nanos::from_millis(*ms)));
    let over = |limit: u64| waits.iter().filter(|ms| **ms > limit).count() as u64;
    TraceSaves {
        process: Some("app".to_owned()),
        pid: Some(7),
        thread: None,
        tid: Some(if main { 7 } else { 8 }),
        main: Some(main),
        file: file.to_owned(),
        kind,
        saves: waits.len() as u64,
        unsynced: 0,
        syncs: waits.len() as u64,
        bytes: Bytes(waits.len() as u64 * 10_000),
        waits: Some(TraceSaveWaits {
            waited_ns: Nanos::from_millis(waits.iter().sum()),
            latency_ns: LatencySummary::from(&histogram),
            histogram: StoredHistogram::from(&histogram),
            over_frame: over(16),
            janks: None,
            over_5s: over(5000),
            followed_ns: Nanos::from_millis(followed * 10),
        }),
        followed,
    }
}

#[test]
fn saves_are_shown_by_file_and_thread_with_their_share_over_a_frame_and_over_5_s() {
    let ledger = TraceLedger {
        saves: vec![
            saves("/p.xml", TraceSaveKind::SharedPreferences, true, &[10, 20, 6000, 12], 0),
            saves("/log", TraceSaveKind::AppendLog, false, &[1; 5], 0),
        ],
        ..TraceLedger::default()
    };
    let summary = trace_summary(&ledger, false);
    let table = summary.tables.iter().find(|table| table.title == "save").unwrap();
    let heads: Vec<&str> = table.columns.iter().map(|column| column.title).collect();
    assert_eq!(heads, ["how", "by", "saves", "bytes each", "max ms", "over 16.7 ms", "over 5 s"]);
    let rows: Vec<(&str, Vec<&str>)> = table
        .rows
        .iter()
        .map(|(file, cells)| (file.as_str(), cells.iter().map(String::as_str).collect()))
        .collect();
    assert_eq!(rows[0], ("/log", vec!["appended", "app", "5", "10 kB", "1.0", "0%", "0%"]));
    let prefs = ["SharedPreferences", "app (main)", "4", "10 kB", "6,000", "50%", "25%"];
    assert_eq!(rows[1], ("/p.xml", prefs.to_vec()));
}

#[test]
fn what_would_make_saves_wait_less_is_said_with_what_it_would_spare() {
    let kind = TraceSaveKind::SharedPreferences;
    let findings = |rows: Vec<TraceSaves>| {
        trace_summary(&TraceLedger { saves: rows, ..TraceLedger::default() }, false).findings
    };
    let late = findings(vec![saves("/p.xml", kind, true, &[10, 20, 40, 12], 0)]);
    assert_eq!(
        late,
        [
            "The main thread of app waits for its saves: 2 of 4 take longer than a frame, 40 ms at most, 82 ms \
          together. Save on another thread (SharedPreferences: `apply`)."
        ]
    );
    // On another thread, or within a frame, nothing is to be said.
    assert!(findings(vec![saves("/p.xml", kind, false, &[10, 20, 40, 12], 0)]).is_empty());
    assert!(findings(vec![saves("/p.xml", kind, true, &[10, 15], 0)]).is_empty());
    let again = findings(vec![saves("/p.xml", kind, false, &[10; 5], 4)]);
    assert_eq!(again.len(), 1);
    let spared = "app saves /p.xml again within a frame: one save where it makes several would spare 4 of 5 \
                  saves, and 40 ms of 50 ms that the thread waits.";
    assert!(again[0].starts_with(spared), "{}", again[0]);
    let mut large = saves("/p.xml", kind, false, &[10; 5], 0);
    large.bytes = Bytes(5 * 400_000);
    let anew = "app writes /p.xml anew for each of 5 saves: 400 kB each, 2.0 MB together.";
    let found = findings(vec![large.clone()]);
    assert!(found.len() == 1 && found[0].starts_with(anew), "{found:?}");
    let (once, log) = (1, TraceSaves { kind: TraceSaveKind::AppendLog, ..large.clone() });
    assert!(findings(vec![log, TraceSaves { saves: once, ..large }]).is_empty());
}

#[test]
fn files_that_were_replaced_without_a_sync_are_a_note_and_no_saves() {
    let row = TraceSaves {
        saves: 0,
        unsynced: 3,
        waits: None,
        ..saves("/x", TraceSaveKind::Rename, true, &[], 0)
    };
    let ledger = TraceLedger { saves: vec![row], ..TraceLedger::default() };
    let summary = trace_summary(&ledger, false);
    assert!(summary.tables.is_empty() && summary.findings.is_empty());
    assert!(summary.notes[0].starts_with("3 files were replaced by a rename without a sync"));
}
