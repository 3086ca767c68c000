use std::time::Duration;

use flashlag_units::{Bytes, Nanos, count, counted};

use crate::line::Page;
use crate::style::{Role, Style};
use crate::table::Table;

/// What a recording has seen so far, for a table that is drawn while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// How long was recorded.
    pub lasted: Duration,
    /// Writes and syncs of all writers; absent where files and syncs are not seen.
    pub all: Option<WriterRow>,
    /// Whether the source sees writes and no syncs.
    pub without_syncs: bool,
    /// Writes of block devices, with their bytes.
    pub block: (u64, Bytes),
    /// Flushes of block devices' caches.
    pub flushes: u64,
    /// The largest writers.
    pub writers: Vec<WriterRow>,
    /// Writers that have no row.
    pub others: usize,
}

/// One writer of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterRow {
    /// The process, with its thread where that is another.
    pub process: String,
    /// The file, with its kind.
    pub file: String,
    /// Calls that write.
    pub writes: u64,
    /// Bytes of those.
    pub bytes: Bytes,
    /// Calls that make durable.
    pub syncs: u64,
    /// The longest of those.
    pub longest: Nanos,
}

/// A running recording in one line of any length, for a file.
pub fn recording_line(seen: &Recording) -> String {
    let device = format!(
        "{}, {}, {}",
        counted(seen.block.0, "write", "writes"),
        seen.block.1,
        counted(seen.flushes, "flush", "flushes")
    );
    let seconds = seen.lasted.as_secs();
    match &seen.all {
        Some(all) => format!(
            "{seconds} s: {}, {};{} the device: {device}",
            counted(all.writes, "write", "writes"),
            all.bytes,
            if seen.without_syncs {
                String::new()
            } else {
                format!(" {}, the longest {};", counted(all.syncs, "fsync", "fsyncs"), all.longest)
            },
        ),
        None => format!("{seconds} s: the device: {device}"),
    }
}

/// A running recording as lines; the first ones sum it up.
pub fn recording(seen: &Recording, style: Style) -> Vec<String> {
    let head = recording_line(seen);
    let mut page = Page::new(style);
    page.paragraph(Role::Strong, &head);
    let with_files = seen.all.is_some();
    let with_syncs = with_files && !seen.without_syncs;
    let mut table = Table::new(if with_files { "process, file" } else { "process" })
        .column("writes", 1)
        .column("bytes", 0)
        .cut_in_the_middle();
    if with_syncs {
        table = table.column("fsyncs", 0).column("longest", 0);
    }
    for row in &seen.writers {
        let label = format!("{}  {}", row.process, row.file);
        let longest = if row.syncs > 0 { row.longest.to_string() } else { "-".to_owned() };
        let mut cells = vec![count(row.writes), row.bytes.to_string()];
        if with_syncs {
            cells.extend([count(row.syncs), longest]);
        }
        let cells = cells.into_iter().map(|cell| (Role::Ink, cell)).collect();
        table.row((Role::Ink, &label), cells);
    }
    if !table.is_empty() {
        table.print(&mut page);
    }
    if seen.others > 0 {
        page.paragraph(Role::Muted, &format!("and {} more", count(seen.others as u64)));
    }
    page.finish().lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_neither_move_the_cursor_nor_add_a_line() {
        let hostile = "a\u{1b}[2J\r\nb\u{202e}".to_owned();
        let row = WriterRow {
            process: hostile.clone(),
            file: hostile.repeat(40),
            writes: 3,
            bytes: Bytes(4096),
            syncs: 1,
            longest: Nanos(2_000_000),
        };
        let seen = Recording {
            writers: vec![row],
            others: 4,
            all: Some(WriterRow::default()),
            ..Recording::default()
        };
        let style = Style { color: false, ..Style::PLAIN };
        let lines = recording(&seen, style);
        assert!(lines.iter().flat_map(|line| line.chars()).all(flashlag_units::is_printable));
        assert_eq!(lines.last().map(String::as_str), Some("and 4 more"));
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    }

    #[test]
    fn the_line_of_a_file_is_whole() {
        let seen = Recording {
            all: Some(WriterRow { writes: 123_456_789, ..WriterRow::default() }),
            flushes: 12_345,
            ..Recording::default()
        };
        assert!(recording_line(&seen).ends_with("the device: 0 writes, 0 B, 12,345 flushes"));
        assert!(recording(&seen, Style::PLAIN).len() > 1, "a terminal has it in several lines");
    }

    #[test]
    fn a_source_without_syncs_says_nothing_of_them() {
        let seen = Recording {
            writers: vec![WriterRow {
                process: "dd".to_owned(),
                writes: 1,
                ..WriterRow::default()
            }],
            all: Some(WriterRow::default()),
            without_syncs: true,
            ..Recording::default()
        };
        let text = recording(&seen, Style::PLAIN).join("\n");
        assert!(!text.contains("fsync") && !text.contains("longest"), "{text}");
    }

    #[test]
    fn a_writer_that_never_waited_has_no_longest_wait() {
        let row = WriterRow { process: "dd".to_owned(), writes: 1, ..WriterRow::default() };
        let seen = Recording {
            writers: vec![row],
            all: Some(WriterRow::default()),
            ..Recording::default()
        };
        let lines = recording(&seen, Style::PLAIN);
        assert!(lines.last().is_some_and(|line| line.ends_with('-')), "{lines:#?}");
    }
}
