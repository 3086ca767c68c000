//! Who writes and who waits: the table of a trace.

use flashlag_schema::trace::TraceLedger;
use flashlag_units::{count, sanitize};
use flashlag_views::{TraceTable, trace_stalls_heading, trace_summary};

use crate::line::{Line, Page};
use crate::style::{Role, Style};
use crate::table::Table;

/// A trace added up: who writes the most and whose fsyncs wait, then the tables; in full with every row.
pub fn trace(ledger: &TraceLedger, style: Style, full: bool) -> String {
    let summary = trace_summary(ledger, full);
    let mut page = Page::new(style);
    if let Some(understood) = &summary.understood {
        page.paragraph(Role::Muted, &sanitize(understood));
    }
    page.paragraph(Role::Strong, &sanitize(&summary.answer));
    page.paragraph(Role::Muted, &sanitize(&format!("{}.", summary.origin)));
    for table in &summary.tables {
        page.gap();
        print(&mut page, table);
    }
    if !summary.findings.is_empty() {
        page.gap();
        page.paragraph(Role::Strong, "What would make saves wait less:");
        for finding in &summary.findings {
            bullet(&mut page, Role::Ink, finding);
        }
    }
    if !summary.frames.is_empty() {
        page.gap();
        page.paragraph(
            Role::Strong,
            "Frames that waits for storage made late, the longest delay first:",
        );
        for frame in &summary.frames {
            bullet(&mut page, Role::Late, frame);
        }
    }
    if !summary.stalls.is_empty() {
        page.gap();
        page.paragraph(Role::Strong, &format!("{}:", trace_stalls_heading(ledger)));
        for stall in &summary.stalls {
            bullet(&mut page, Role::Late, stall);
        }
    }
    if !summary.notes.is_empty() {
        page.gap();
        for note in &summary.notes {
            bullet(&mut page, Role::Muted, note);
        }
    }
    page.finish()
}

fn bullet(page: &mut Page, role: Role, text: &str) {
    let mut head = Line::new(page.style());
    head.add(Role::Ink, "  ");
    page.hanging(&head, 2, role, &sanitize(text));
}

fn print(page: &mut Page, table: &TraceTable) {
    let mut drawn = Table::new(table.title).cut_in_the_middle().whole_by("--json");
    for column in &table.columns {
        drawn = if column.words {
            drawn.words(column.title)
        } else {
            drawn.column(column.title, column.spare)
        };
    }
    for (label, cells) in &table.rows {
        let cells = cells.iter().map(|cell| (Role::Ink, cell.clone())).collect();
        drawn.row((Role::Ink, &sanitize(label)), cells);
    }
    drawn.print(page);
    if table.more > 0 {
        let more = format!("and {} more (-v shows all)", count(table.more as u64));
        page.paragraph(Role::Muted, &more);
    }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::trace::{
        TraceDatabase, TraceDeviceUse, TraceLayers, TraceSaveKind, TraceSaveWaits, TraceSaves,
        TraceSyncs, TraceWriter, TraceWrites, TraceWrittenKind,
    };
    use flashlag_schema::{LatencySummary, StoredHistogram};
    use flashlag_stats::Histogram;
    use flashlag_units::{Bytes, Nanos};

    use super::*;
    use crate::text::width;

    fn writes(count: u64, bytes: u64) -> TraceWrites {
        TraceWrites { count, bytes: Bytes(bytes) }
    }

    fn saves(waits: &Histogram) -> TraceSaves {
        TraceSaves {
            process: Some("process-with-a-long-name".to_owned()),
            pid: Some(1),
            tid: Some(1),
            thread: None,
            main: Some(true),
            file: "/data/data/com.example.application/shared_prefs/settings.xml".to_owned(),
            kind: TraceSaveKind::SharedPreferences,
            saves: 2000,
            unsynced: 3,
            syncs: 2000,
            bytes: Bytes(98_765_432),
            waits: Some(TraceSaveWaits {
                waited_ns: Nanos::from_millis(2_001_000),
                latency_ns: LatencySummary::from(waits),
                histogram: StoredHistogram::from(waits),
                over_frame: 1984,
                janks: None,
                over_5s: 1,
                followed_ns: Nanos::from_millis(1000),
            }),
            followed: 40,
        }
    }

    /// A ledger with every table, and long names.
    fn ledger() -> TraceLedger {
        let mut waits = Histogram::new();
        (1..=2000_u64).for_each(|ms| waits.record(Nanos::from_millis(ms)));
        let syncs = TraceSyncs {
            count: 2000,
            waited_ns: Nanos::from_millis(2_001_000),
            latency_ns: Some(LatencySummary::from(&waits)),
            histogram: Some(StoredHistogram::from(&waits)),
        };
        let writer = |at: u64| TraceWriter {
            process: Some(format!("process-with-a-long-name-{at}")),
            file: Some(format!("/data/data/com.example.application/databases/messages-{at}.db")),
            kind: TraceWrittenKind::FilesystemMetadata,
            calls: Some(writes(123_456, 9_876_543_210)),
            syncs: Some(syncs.clone()),
            block: Some(writes(765_432, 1_234_567_890)),
            ..TraceWriter::default()
        };
        let database = TraceDatabase {
            file: "/data/data/com.example.application/databases/messages.db".to_owned(),
            commits: 4321,
            commits_per_sec: Some(123.4),
            syncs: 9000,
            bytes: Bytes(98_765_432),
            block: Some(writes(9, 198_765_432)),
            latency_ns: syncs.latency_ns.clone(),
            ..TraceDatabase::default()
        };
        let device = |name: &str, counted: bool| TraceDeviceUse {
            name: name.to_owned(),
            below: Some(Vec::new()),
            counted,
            writes: writes(123_456, 987_654_321),
            reads: writes(654_321, 123_456_789),
            flushes: 4321,
            ..TraceDeviceUse::default()
        };
        let saves = saves(&waits);
        let all = Some(writes(123_456, 9_876_543_210));
        TraceLedger {
            writers: (0..3).map(writer).collect(),
            databases: vec![database],
            saves: vec![saves],
            devices: vec![device("loop0", false), device("nvme0n1", true)],
            layers: TraceLayers {
                pages: all,
                commits: all,
                calls: all,
                block: all,
                ..TraceLayers::default()
            },
            ..TraceLedger::default()
        }
    }

    /// Whether every cell is in one of the lines, not cut.
    fn is_whole(lines: &[&str], cells: &[&String]) -> bool {
        let shows = |cell: &String| {
            let cell = cell.trim();
            cell.is_empty() || lines.iter().any(|line| line.contains(cell))
        };
        cells.iter().all(|cell| shows(cell))
    }

    #[test]
    fn at_every_width_each_column_is_whole_or_named_and_no_line_is_too_long() {
        let ledger = ledger();
        let tables = trace_summary(&ledger, false).tables;
        assert_eq!(tables.len(), 6, "every table is tried");
        let (mut named, mut without) = (0, 0);
        for columns in 30..=200 {
            let style = Style { width: columns, ..Style::PLAIN };
            for table in &tables {
                let mut page = Page::new(style);
                print(&mut page, table);
                let text = page.finish();
                let (drawn, below) = match text.split_once("Left out for the width: ") {
                    Some((drawn, below)) => (drawn, below.replace('\n', " ")),
                    None => (text.as_str(), String::new()),
                };
                without += usize::from(below.is_empty());
                assert!(text.lines().all(|line| width(line) <= style.columns()), "{text}");
                let lines: Vec<&str> = drawn.lines().collect();
                let list = below.split(';').next().unwrap_or_default();
                let list: Vec<&str> = list.split(", ").map(str::trim).collect();
                let mut shown = vec![table.title];
                for (at, column) in table.columns.iter().enumerate() {
                    let cells: Vec<&String> =
                        table.rows.iter().filter_map(|(_, cells)| cells.get(at)).collect();
                    if list.contains(&column.title) {
                        named += 1;
                        continue;
                    }
                    shown.push(column.title);
                    assert!(is_whole(&lines, &cells), "{columns}: {}\n{text}", column.title);
                }
                // The head has what is not named, and nothing else.
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
                let head: Vec<String> = words(lines[0]);
                let titles: Vec<String> = words(&shown.join(" "));
                assert_eq!(head, titles, "{columns}\n{text}");
                assert!(below.is_empty() || below.contains("--json has all"), "{text}");
            }
        }
        assert!(named > 0 && without > 0, "{named} named, {without} tables whole");
    }
}
