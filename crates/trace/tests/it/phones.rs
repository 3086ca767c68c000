//! The forms in which traces of phones were published, each counted a second way in its own text: a small trace
//! made in that form, and the public one where `FLASHLAG_TRACES` names a folder with it.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flashlag_schema::trace::{
    Trace, TraceAction, TraceDatabase, TraceLayer, TraceLedger, TraceWriter, TraceWrittenKind,
};
use flashlag_spec::TraceFileKind;
use flashlag_spec::scenario::JournalMode;
use flashlag_trace::{InputFormat, add_up, import};

/// The small trace of a form, and the public one where it is.
fn both(small: &str, public: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    std::iter::once(folder.join(small)).chain(flashlag_need::public_trace(public)).collect()
}

fn of_phone(path: &Path) -> (InputFormat, Trace, TraceLedger) {
    let imported = import(File::open(path).unwrap(), None).unwrap();
    let ledger = add_up(&imported.trace);
    (imported.format, imported.trace, ledger)
}

/// The text of a trace, unpacked if it is packed.
fn text(path: &Path) -> String {
    let mut text = String::new();
    let file = File::open(path).unwrap();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
    } else {
        { file }.read_to_string(&mut text).unwrap();
    }
    text
}

/// What the words of a list of system calls say of its fsyncs and rollback transactions.
#[derive(Debug, PartialEq)]
struct Commits {
    syncs: u64,
    begun: u64,
    ended: u64,
    bytes: u64,
}

/// SQLite's journal of pages of 4 KiB begins with a write of its head and the first page, 512 + 8 + 4096 bytes
/// at 0; the transaction ends with the fsync of the database, the first of a file that is neither the journal
/// nor was it opened as the directory.
fn commits_in(text: &str) -> Commits {
    let mut seen = Commits { syncs: 0, begun: 0, ended: 0, bytes: 0 };
    let mut under_way: HashMap<&str, (&str, u64, bool)> = HashMap::new();
    for words in text.lines().map(|line| line.split(' ').collect::<Vec<_>>()) {
        seen.syncs += u64::from(words.get(2) == Some(&"fsync"));
        match words.as_slice() {
            [thread, _, "pwrite", fd, "0", "4616"] => {
                seen.begun += 1;
                under_way.insert(thread, (fd, 4616, false));
            }
            [thread, _, "pwrite", fd, _, size] => {
                if let Some((journal, sum, in_database)) = under_way.get_mut(thread) {
                    *sum += size.parse::<u64>().unwrap();
                    *in_database |= fd != journal;
                }
            }
            [thread, _, "fsync", fd, ..]
                if under_way
                    .get(thread)
                    .is_some_and(|(journal, _, done)| *done && fd != journal) =>
            {
                seen.ended += 1;
                seen.bytes += under_way.remove(thread).unwrap().1;
            }
            _ => {}
        }
    }
    seen
}

#[test]
fn an_apps_calls_have_every_fsync_and_every_rollback_transaction() {
    let known = [(22, 7), (997, 316)];
    for (path, (syncs, transactions)) in both("calls.txt", "mobigen-facebook.txt").iter().zip(known)
    {
        let (format, trace, ledger) = of_phone(path);
        assert_eq!(format, InputFormat::SystemCalls);
        let seen = commits_in(&text(path));
        assert_eq!((seen.syncs, seen.begun, seen.ended), (syncs, transactions, transactions));
        let sum = |of: fn(&TraceDatabase) -> u64| ledger.databases.iter().map(of).sum::<u64>();
        let is_sync = |action: &TraceAction| matches!(action, TraceAction::Sync { .. });
        let traced = trace.events.iter().filter(|event| is_sync(&event.action)).count();
        assert_eq!(traced as u64, syncs);
        assert_eq!(ledger.layers.syncs, Some(syncs));
        assert_eq!(sum(|database| database.commits), seen.ended);
        assert_eq!(sum(|database| database.bytes.0), seen.bytes);
        // Journal, directory and database.
        assert_eq!(sum(|database| database.syncs), 3 * seen.ended);
        assert!(ledger.databases.iter().all(|database| {
            database.journal_mode == Some(JournalMode::Truncate) && database.mode_inferred
        }));
        // No latency is in the file, and none is made up.
        assert!(ledger.databases.iter().all(|database| database.latency_ns.is_none()));
        assert_eq!(trace.source.layers, [TraceLayer::SystemCalls]);
        assert_eq!(ledger.layers.block, None);
    }
}

/// Requests and KiB that blkparse itself counted as completed, from the summary at the end: reads, writes.
fn blkparse_summary(text: &str) -> [(u64, u64); 2] {
    let total = text.rfind("Total (").unwrap();
    let line = text[total..].lines().find(|line| line.contains("Reads Completed:")).unwrap();
    ["Reads Completed:", "Writes Completed:"].map(|of| {
        let after = line.split(of).nth(1).unwrap();
        let mut numbers = after.split([',', 'K']).map(|word| word.trim().parse::<u64>().unwrap());
        let count = numbers.next().unwrap();
        (count, numbers.next().unwrap())
    })
}

#[test]
fn a_blktrace_is_paired_whole_although_clocks_and_lines_are_out_of_order() {
    let files = both("requests.blkparse", "pixel4/blktrace-facebook.txt.gz");
    let known = [62, 8958 + 127];
    for (path, requests) in files.iter().zip(known) {
        let (format, trace, ledger) = of_phone(path);
        assert_eq!(format, InputFormat::Blkparse);
        let [reads, writes] = blkparse_summary(&text(path));
        assert_eq!(reads.0 + writes.0, requests);
        let (r, w) = (ledger.layers.block_reads.unwrap(), ledger.layers.block.unwrap());
        assert_eq!((r.count, r.bytes.0), (reads.0, reads.1 << 10));
        assert_eq!((w.count, w.bytes.0), (writes.0, writes.1 << 10));
        assert!(trace.source.unmatched.is_none(), "{:?}", trace.source.unmatched);
        // Two requests were queued at a time of another clock: they have no latency, all others have.
        let untimed = trace.events.iter().filter(|event| event.took_ns.is_none()).count();
        assert_eq!(untimed, 2);
        assert!(trace.source.lasted_ns.0 < 15_000_000_000);
        assert!(trace.tasks.iter().any(|task| task.thread.as_deref() == Some("sync svc 54")));
    }
}

/// Bytes of completed requests by kind of block, J, M and D: tabs, the event second, sectors fifth.
fn completed_by_kind(text: &str) -> [u64; 3] {
    let mut completed = [0_u64; 3];
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        if columns[1] == "C" {
            let kind = ["J", "M", "D"].iter().position(|kind| *kind == columns[7]).unwrap();
            completed[kind] += columns[4].trim().parse::<u64>().unwrap() * 512;
        }
    }
    completed
}

#[test]
fn a_blktrace_with_kinds_of_blocks_tells_journal_metadata_and_files_apart() {
    for path in both("kinds.txt", "most-chrome-blktrace.txt") {
        let (_, trace, ledger) = of_phone(&path);
        let completed = completed_by_kind(&text(&path));
        let of = |wanted: fn(&TraceWriter) -> bool| {
            let rows = ledger.writers.iter().filter(|row| wanted(row));
            rows.filter_map(|row| row.block).map(|block| block.bytes.0).sum::<u64>()
        };
        assert_eq!(of(|row| row.kind == TraceWrittenKind::FilesystemJournal), completed[0]);
        let ended = |is: fn(&TraceAction) -> bool| {
            let done = trace.events.iter().filter(|event| event.took_ns.is_some());
            let sizes = done.filter(|event| is(&event.action)).map(|event| match event.action {
                TraceAction::Block { bytes, .. } => bytes.0,
                _ => 0,
            });
            sizes.sum::<u64>()
        };
        let meta = ended(|action| matches!(action, TraceAction::Block { flags, .. } if flags.meta));
        let files = ended(|action| matches!(action, TraceAction::Block { file: Some(_), .. }));
        assert_eq!((meta, files), (completed[1], completed[2]));
        assert!(completed.iter().all(|bytes| *bytes > 0), "{completed:?}");
        let kinds = |end: &str| {
            let is = |path: &&str| path.ends_with(end);
            let files = trace
                .files
                .iter()
                .filter(|file| file.path.as_deref().is_some_and(|path| is(&path)));
            files.map(|file| file.kind).collect::<Vec<_>>()
        };
        assert!(kinds(".db").iter().all(|kind| *kind == TraceFileKind::Database));
        assert!(kinds(".db-journal").iter().all(|kind| *kind == TraceFileKind::Journal));
        assert!(!kinds(".db").is_empty() && !kinds(".db-journal").is_empty());
    }
}

/// Lines, and reads among them, of a table without its head: the column `at` is `read` for a read.
fn rows(text: &str, at: usize, read: &str) -> (u64, u64) {
    let (mut all, mut reads) = (0, 0);
    for line in text.lines().skip(1) {
        all += 1;
        reads += u64::from(line.split(',').rev().nth(at) == Some(read));
    }
    (all, reads)
}

#[test]
fn tables_of_block_requests_keep_every_row() {
    // From the right, since a process's name may have commas.
    for path in both("processes.csv", "pixel6a-telegram_exec.csv.gz") {
        let (format, trace, ledger) = of_phone(&path);
        assert_eq!(format, InputFormat::BlockTable);
        assert_eq!(trace.source.damaged, 0);
        let (all, reads) = rows(&text(&path), 3, "R");
        assert_eq!(ledger.layers.block.unwrap().count, all - reads);
        assert_eq!(ledger.layers.block_reads.unwrap().count, reads);
        assert_eq!(trace.devices[0].name, "8,0");
    }
    for path in both("service-times.csv", "nexus5-messaging-service-times.csv") {
        let (_, trace, _) = of_phone(&path);
        assert_eq!(trace.events.len() as u64, rows(&text(&path), 0, "").0);
        assert!(trace.events.iter().all(|event| event.took_ns.is_some()));
    }
    for path in both("offsets.txt", "nexus5-messaging-offsets.txt") {
        let (_, trace, ledger) = of_phone(&path);
        let (all, reads) = rows(&text(&path), 0, "0");
        let counts = (trace.events.len() as u64, ledger.layers.block.unwrap().count);
        assert_eq!(counts, (all, all - reads));
    }
}
