//! The tables of a trace.

use std::collections::BTreeMap;

use flashlag_schema::trace::{
    TraceDatabase, TraceDeviceUse, TraceLedger, TraceSyncs, TraceWriter, TraceWrites,
};
use flashlag_schema::{LatencySummary, StoredHistogram};
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, InOrder, count, ratio};

use super::frames;
use super::saves::{self, TraceColumn, TraceTable};
use super::words::{Who, kind_name, mode_name};
use crate::format::{NONE, ms, ms_of, times};

/// Rows of a table that is not in full.
const ROWS: usize = 10;

pub(super) fn tables(ledger: &TraceLedger, full: bool) -> Vec<TraceTable> {
    let most = if full { usize::MAX } else { ROWS };
    let by_thread = |writer: &TraceWriter| (Who::writes(writer).thread(), kind_name(writer.kind));
    let by_file = |writer: &TraceWriter| {
        let file = writer.file.clone().unwrap_or_default();
        (file, kind_name(writer.kind))
    };
    let with_file = || ledger.writers.iter().filter(|writer| writer.file.is_some());
    let all = [
        frames::table(ledger, most),
        writers("writer", ledger.writers.iter(), by_thread, most),
        writers("file", with_file(), by_file, most),
        databases(&ledger.databases, most),
        saves::table(ledger, most),
        layers(ledger),
        devices(&ledger.devices, most),
    ];
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

fn column(title: &'static str, spare: u8) -> TraceColumn {
    TraceColumn { title, spare, words: false }
}

/// Rows of writers added up by a name and a kind.
#[derive(Clone, Debug, Default)]
struct Sum {
    calls: TraceWrites,
    block: TraceWrites,
    syncs: u64,
    waits: Histogram,
    changes: u64,
    counted: TraceWrites,
}

impl Sum {
    fn add(&mut self, writer: &TraceWriter) {
        let plus = |sum: &mut TraceWrites, writes: Option<TraceWrites>| {
            let writes = writes.unwrap_or_default();
            sum.count = sum.count.saturating_add(writes.count);
            sum.bytes = sum.bytes.plus(writes.bytes);
        };
        plus(&mut self.calls, writer.calls);
        plus(&mut self.block, writer.block);
        plus(&mut self.counted, writer.counted);
        self.changes = self.changes.saturating_add(writer.changes.unwrap_or(0));
        let Some(TraceSyncs { count, histogram, .. }) = &writer.syncs else { return };
        self.syncs = self.syncs.saturating_add(*count);
        if let Some(Ok(waits)) = histogram.as_ref().map(StoredHistogram::restore) {
            self.waits.merge(&waits);
        }
    }

    fn latency(&self) -> Option<LatencySummary> {
        (self.waits.count() > 0).then(|| LatencySummary::from(&self.waits))
    }
}

fn writers<'a>(
    title: &'static str,
    rows: impl Iterator<Item = &'a TraceWriter>,
    name: impl Fn(&TraceWriter) -> (String, &'static str),
    most: usize,
) -> TraceTable {
    let (mut calls, mut block, mut changes, mut counted) = (false, false, false, false);
    let mut groups: BTreeMap<(String, &'static str), Vec<&TraceWriter>> = BTreeMap::new();
    for row in rows {
        calls |= row.calls.is_some();
        block |= row.block.is_some();
        changes |= row.changes.is_some();
        counted |= row.counted.is_some();
        groups.entry(name(row)).or_default().push(row);
    }
    let sum = |rows: &Vec<&TraceWriter>| {
        let mut sum = Sum::default();
        rows.iter().for_each(|row| sum.add(row));
        sum
    };
    // Histograms are large: only one at a time beside the texts.
    let mut shown: Vec<(u64, u64, String, Vec<String>)> = Vec::new();
    let mut timed = false;
    for ((label, kind), rows) in &groups {
        let sum = sum(rows);
        timed |= sum.waits.count() > 0;
        let order =
            if block { sum.block.bytes.0.max(sum.calls.bytes.0) } else { sum.calls.bytes.0 };
        let order = order.max(sum.counted.bytes.0);
        shown.push((order, sum.syncs.max(sum.changes), label.clone(), cells(kind, &sum)));
    }
    shown.order_by(|one, other| (other.0, other.1, &one.2).cmp(&(one.0, one.1, &other.2)));
    let more = shown.len().saturating_sub(most);
    shown.truncate(most);
    let has =
        |at: usize| shown.iter().any(|(.., cells)| cells.get(at).is_some_and(|cell| cell != NONE));
    let columns = [
        (true, TraceColumn { title: "what", spare: 0, words: true }),
        (calls, column("writes", 4)),
        (calls, column("bytes", 0)),
        (calls, column("fsyncs", 0)),
        (timed && has(4), column("p50 ms", 2)),
        (timed && has(5), column("p99 ms", 5)),
        (timed, column("max ms", 0)),
        (block, column(if calls { "requests" } else { "writes" }, 3)),
        (block, column(if calls { "on device" } else { "bytes" }, 0)),
        (changes, column("changes", 0)),
        (counted, column("writes", 1)),
        (counted, column("to disk", 0)),
    ];
    let kept = |cells: Vec<String>| {
        let cells = cells.into_iter().zip(columns).filter(|(_, (kept, _))| *kept);
        cells.map(|(cell, _)| cell).collect()
    };
    let shown = shown.into_iter();
    TraceTable {
        title,
        columns: columns.into_iter().filter(|(kept, _)| *kept).map(|(_, column)| column).collect(),
        rows: shown.map(|(_, _, label, cells)| (label, kept(cells))).collect(),
        more,
    }
}

fn cells(kind: &str, sum: &Sum) -> Vec<String> {
    let latency = sum.latency().unwrap_or_default();
    let n = sum.waits.count();
    let short =
        |value| if n > 0 { ms_of(value, n).replace("n too small", NONE) } else { NONE.to_owned() };
    vec![
        kind.to_owned(),
        number(sum.calls.count),
        bytes(sum.calls.bytes),
        number(sum.syncs),
        short(latency.p50),
        short(latency.p99),
        latency.max.map_or_else(|| NONE.to_owned(), ms),
        number(sum.block.count),
        bytes(sum.block.bytes),
        number(sum.changes),
        number(sum.counted.count),
        bytes(sum.counted.bytes),
    ]
}

fn number(number: u64) -> String {
    if number == 0 { NONE.to_owned() } else { count(number) }
}

fn bytes(bytes: Bytes) -> String {
    if bytes == Bytes::ZERO { NONE.to_owned() } else { bytes.to_string() }
}

fn databases(databases: &[TraceDatabase], most: usize) -> TraceTable {
    let has_block = databases.iter().any(|database| database.block.is_some());
    let is_timed = databases.iter().any(|database| database.latency_ns.is_some());
    let mut columns = vec![
        TraceColumn { title: "journal", spare: 0, words: true },
        column("commits", 0),
        column("a second", 2),
        column("fsyncs each", 0),
        column("bytes each", 0),
    ];
    if has_block {
        columns.push(column("on device", 0));
    }
    if is_timed {
        columns.push(column("max ms", 3));
    }
    let any_janks = databases.iter().any(|database| database.janks.is_some());
    if any_janks {
        columns.push(column("jank", 1));
    }
    let row = |database: &TraceDatabase| {
        let each = |sum: u64| ratio(sum, database.commits);
        let size = |sum: u64| {
            each(sum).map_or(NONE.to_owned(), |each| Bytes(each.round() as u64).to_string())
        };
        let mode = database.journal_mode.map_or("?", mode_name);
        let sign = if database.mode_inferred { "?" } else { "" };
        let mut cells = vec![
            format!("{mode}{sign}"),
            count(database.commits),
            database.commits_per_sec.map_or(NONE.to_owned(), |rate| format!("{rate:.1}")),
            each(database.syncs).map_or(NONE.to_owned(), |each| format!("{each:.1}")),
            size(database.bytes.0),
        ];
        if has_block {
            cells.push(database.block.map_or(NONE.to_owned(), |block| size(block.bytes.0)));
        }
        if is_timed {
            let longest = database.latency_ns.as_ref().and_then(|latency| latency.max);
            cells.push(longest.map_or_else(|| NONE.to_owned(), ms));
        }
        if any_janks {
            cells.push(database.janks.map_or_else(|| NONE.to_owned(), count));
        }
        (database.file.clone(), cells)
    };
    TraceTable {
        title: "SQLite",
        columns,
        rows: databases.iter().take(most).map(row).collect(),
        more: databases.len().saturating_sub(most),
    }
}

/// Writes at each layer, with their ratio to those of the layer above.
fn layers(ledger: &TraceLedger) -> TraceTable {
    let layers = &ledger.layers;
    let mut rows = Vec::new();
    let mut row = |name: &str, writes: Option<TraceWrites>, above: Option<(TraceWrites, &str)>| {
        let Some(writes) = writes else { return };
        let over = above.and_then(|(above, name)| {
            ratio(writes.bytes.0, above.bytes.0).map(|ratio| format!("{} {name}", times(ratio)))
        });
        let cells = vec![count(writes.count), writes.bytes.to_string(), over.unwrap_or_default()];
        rows.push((name.to_owned(), cells));
    };
    row("pages that SQLite changed", layers.pages, None);
    row("writes of its commits", layers.commits, layers.pages.map(|pages| (pages, "the pages")));
    row("all writes by system calls", layers.calls, None);
    let calls = layers.calls.filter(|calls| calls.bytes > Bytes::ZERO);
    row("write requests to the device", layers.block, calls.map(|calls| (calls, "system calls")));
    row("of these, the filesystem's own", layers.filesystem, None);
    row("read requests", layers.block_reads, None);
    row("discards", layers.discards.filter(|discards| discards.count > 0), None);
    for (name, number) in [
        ("fsyncs", layers.syncs),
        ("commits of the filesystem", layers.filesystem_commits),
        ("flushes of the device", layers.flushes),
    ] {
        if let Some(number) = number {
            rows.push((name.to_owned(), vec![count(number), String::new(), String::new()]));
        }
    }
    let columns = vec![
        column("number", 0),
        column("bytes", 0),
        TraceColumn { title: "amplification", spare: 0, words: true },
    ];
    TraceTable { title: "layer", columns, rows, more: 0 }
}

/// The devices with requests: where there are several, or one that passes on to another.
fn devices(devices: &[TraceDeviceUse], most: usize) -> TraceTable {
    let columns = vec![
        column("writes", 3),
        column("bytes", 0),
        column("reads", 4),
        column("read", 2),
        column("flushes", 1),
        TraceColumn { title: "in the totals", spare: 0, words: true },
    ];
    let row = |device: &TraceDeviceUse| {
        let cells = vec![
            number(device.writes.count),
            bytes(device.writes.bytes),
            number(device.reads.count),
            bytes(device.reads.bytes),
            number(device.flushes),
            if device.counted { "yes" } else { "no" }.to_owned(),
        ];
        (device.name.clone(), cells)
    };
    let shown = if devices.len() > 1 { devices } else { &[] };
    TraceTable {
        title: "device",
        columns,
        rows: shown.iter().take(most).map(row).collect(),
        more: shown.len().saturating_sub(most),
    }
}
