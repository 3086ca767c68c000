//! Every line of a text of the kernel's events is an event, a part of one, or a skip with a name, and the counts
//! add up to the lines; what is in the events is counted a second way, by awk and by rules of its own.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use flashlag_schema::trace::{BlockOperation, TraceAction, TraceUnmatched};
use flashlag_trace::{Imported, InputFormat, add_up, import};
use proptest::prelude::*;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces")
}

/// What `count.awk` counts in a file, by name.
fn by_awk(path: &Path) -> BTreeMap<String, u64> {
    let counted =
        Command::new("awk").arg("-f").arg(fixtures().join("count.awk")).arg(path).output().unwrap();
    assert!(counted.status.success(), "{counted:?}");
    let text = String::from_utf8(counted.stdout).unwrap();
    let pair = |line: &str| {
        let (name, number) = line.split_once(' ').unwrap();
        (name.to_owned(), number.parse().unwrap())
    };
    text.lines().map(pair).collect()
}

/// Lines that the import accounts for.
fn accounted(imported: &Imported) -> u64 {
    let source = &imported.trace.source;
    imported.taken + source.skipped.values().sum::<u64>() + source.damaged
}

fn count(imported: &Imported, is: fn(&TraceAction) -> bool) -> u64 {
    imported.trace.events.iter().filter(|event| is(&event.action)).count() as u64
}

#[test]
fn each_text_of_the_kernels_events_has_what_awk_counts_in_it() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    for path in [
        fixtures().join("ext4.ftrace"),
        fixtures().join("ext4.perf"),
        samples.join("sqlite-delete.ftrace"),
    ] {
        let imported = import(std::fs::File::open(&path).unwrap(), None).unwrap();
        assert_eq!(imported.format, InputFormat::Ftrace, "{}", path.display());
        let awk = by_awk(&path);
        assert_eq!(accounted(&imported), awk["lines"], "{}", path.display());
        assert_eq!(imported.trace.source.damaged, 0, "{}", path.display());
        let is_sync = |action: &TraceAction| matches!(action, TraceAction::Sync { .. });
        assert_eq!(count(&imported, is_sync), awk["syncs"], "{}", path.display());
        let is_commit = |action: &TraceAction| matches!(action, TraceAction::Commit { .. });
        assert_eq!(count(&imported, is_commit), awk["commits"], "{}", path.display());
        let bytes = add_up(&imported.trace).layers.calls.unwrap().bytes.0;
        match path.extension().and_then(|end| end.to_str()) {
            // Written by system calls, which are recorded.
            Some("perf") => assert_eq!(bytes, awk["written"]),
            _ if awk["copied"] > 0 => assert_eq!(bytes, awk["copied"], "{}", path.display()),
            _ => {}
        }
        // Without completions every request that was issued is one that was not completed.
        if awk["completed"] == 0 {
            let is_block = |action: &TraceAction| matches!(action, TraceAction::Block { .. });
            assert_eq!(count(&imported, is_block), awk["issued"], "{}", path.display());
        }
    }
}

#[test]
fn the_text_of_blkparse_has_the_requests_that_awk_counts_as_completed() {
    let path = fixtures().join("requests.blkparse");
    let imported = import(std::fs::File::open(&path).unwrap(), None).unwrap();
    let awk = by_awk(&path);
    assert_eq!(accounted(&imported), awk["lines"]);
    assert_eq!(imported.trace.events.len() as u64, awk["blkparse"]);
    let written: u64 = imported
        .trace
        .events
        .iter()
        .filter_map(|event| match event.action {
            TraceAction::Block { operation: BlockOperation::Write, bytes, .. } => Some(bytes.0),
            _ => None,
        })
        .sum();
    assert_eq!(written, 512 * awk["blkparse_sectors"]);
    let kinds = std::fs::read_to_string(fixtures().join("kinds.txt")).unwrap();
    let imported = import(kinds.as_bytes(), None).unwrap();
    let lines = kinds.lines().filter(|line| !line.trim().is_empty()).count() as u64;
    assert_eq!(accounted(&imported), lines);
}

#[test]
fn an_end_of_a_write_without_its_beginning_is_a_write_and_counted() {
    let text = "ld-29972 [002]  6903.095463: f2fs_write_end:       dev = (7,0), ino = 121, pos = 0, len = 64, copied = 64\n\
                ld-29972 [002]  6903.095472: f2fs_write_begin:     dev = (7,0), ino = 121, pos = 4520, len = 1920, flags = 0\n\
                ld-29972 [002]  6903.095472: f2fs_write_end:       dev = (7,0), ino = 121, pos = 4520, len = 1920, copied = 1900\n\
                ld-29972 [002]  6903.095473: f2fs_write_begin:     dev = (7,0), ino = 121, pos = 8000, len = 10, flags = 0\n";
    let imported = import(text.as_bytes(), None).unwrap();
    let writes = add_up(&imported.trace).layers.calls.unwrap();
    // As much as was copied, and where that is not known as much as was announced.
    assert_eq!((writes.count, writes.bytes.0), (3, 64 + 1900 + 10));
    assert_eq!(imported.trace.source.unmatched, TraceUnmatched { begins: 1, ends: 1 });
    // A recording of beginnings alone lacks nothing.
    let begins: String = text
        .lines()
        .filter(|line| line.contains("begin"))
        .map(|line| format!("{line}\n"))
        .collect();
    let source = import(begins.as_bytes(), None).unwrap().trace.source;
    assert!(source.unmatched.is_none(), "{:?}", source.unmatched);
}

#[test]
fn heads_of_perf_are_read_with_any_name_count_and_thread() {
    let line =
        |head: &str| format!("{head}  block:block_rq_issue: 8,0 W 4096 () 8 + 8 0x2,0,4 [x]\n");
    for (head, thread, tid, pid) in [
        ("              dd  4321 [001] 20065.144725:    ", "dd", 4321, None),
        ("              dd  4321/4322 [001] 20065.144725:    ", "dd", 4322, Some(4321)),
        ("     a b [3] 1.0:  7 [000]     1.000001:          1", "a b [3] 1.0:", 7, None),
        (":-1 99 [011]  5.000001:", ":-1", 99, None),
    ] {
        let imported = import(line(head).as_bytes(), None).unwrap();
        let task = &imported.trace.tasks[0];
        assert_eq!(
            (task.thread.as_deref(), task.tid, task.pid),
            (Some(thread), Some(tid), pid),
            "{head}"
        );
        assert_eq!(count(&imported, |action| matches!(action, TraceAction::Block { .. })), 1);
    }
    let chain = format!(
        "{}\tffffffff8131 ext4_sync_file+0x11 ([kernel.kallsyms])\n\n",
        line("dd 1 [001] 1.000001:")
    );
    let source = import(chain.as_bytes(), None).unwrap().trace.source;
    assert_eq!((source.damaged, source.skipped["caller on the stack"]), (0, 1));
}

/// One line of a text that is made up.
#[derive(Clone, Debug)]
enum Made {
    SyncEnter(u32),
    SyncExit(u32),
    WriteBegin(u32),
    WriteEnd(u32),
    CommitBegin(u8),
    CommitEnd(u8),
    Issue(u16),
    Complete(u16),
    Other(u32),
    Garbage,
    Comment,
}

fn made() -> impl Strategy<Value = Made> {
    let (tid, disk, sector) = (1..4_u32, 0..2_u8, 0..12_u16);
    prop_oneof![
        tid.clone().prop_map(Made::SyncEnter),
        tid.clone().prop_map(Made::SyncExit),
        tid.clone().prop_map(Made::WriteBegin),
        tid.clone().prop_map(Made::WriteEnd),
        disk.clone().prop_map(Made::CommitBegin),
        disk.prop_map(Made::CommitEnd),
        sector.clone().prop_map(Made::Issue),
        sector.prop_map(Made::Complete),
        tid.prop_map(Made::Other),
        Just(Made::Garbage),
        Just(Made::Comment),
    ]
}

/// The text, and for each thread or disk the letters of its ends, in order.
fn text_of(all: &[Made]) -> (String, HashMap<String, String>, u64) {
    let mut text = String::new();
    let mut letters: HashMap<String, String> = HashMap::new();
    let mut lines = 0;
    let mut place: HashMap<u32, usize> = HashMap::new();
    for (at, made) in all.iter().enumerate() {
        let mut push = |key: String, letter: char| letters.entry(key).or_default().push(letter);
        let event = match made {
            Made::SyncEnter(tid) => {
                push(format!("sync {tid}"), 'b');
                (*tid, format!("ext4_sync_file_enter: dev 8,0 ino {tid} parent 2 datasync 0"))
            }
            Made::SyncExit(tid) => {
                push(format!("sync {tid}"), 'e');
                (*tid, format!("ext4_sync_file_exit: dev 8,0 ino {tid} ret 0"))
            }
            Made::WriteBegin(tid) => {
                push(format!("write {tid}"), 'b');
                place.insert(*tid, at);
                (*tid, format!("ext4_da_write_begin: dev 8,0 ino {tid} pos {} len 100", at * 1000))
            }
            Made::WriteEnd(tid) => {
                push(format!("write {tid}"), 'e');
                let pos = place.get(tid).copied().unwrap_or(0) * 1000;
                (*tid, format!("ext4_da_write_end: dev 8,0 ino {tid} pos {pos} len 100 copied 100"))
            }
            Made::CommitBegin(disk) => {
                push(format!("commit {disk}"), 'b');
                (9, format!("jbd2_start_commit: dev 8,{disk} transaction 7 sync 0"))
            }
            Made::CommitEnd(disk) => {
                push(format!("commit {disk}"), 'e');
                (9, format!("jbd2_end_commit: dev 8,{disk} transaction 7 sync 0 head 7"))
            }
            Made::Issue(sector) => {
                push(format!("block {sector}"), 'b');
                (5, format!("block_rq_issue: 8,0 W 4096 () {} + 8 [x]", u32::from(*sector) * 8))
            }
            Made::Complete(sector) => {
                push(format!("block {sector}"), 'e');
                (5, format!("block_rq_complete: 8,0 W () {} + 8 [0]", u32::from(*sector) * 8))
            }
            Made::Other(tid) => (*tid, "sched_waking: comm=x pid=1 prio=120".to_owned()),
            Made::Garbage => {
                text += "what is this\n";
                lines += 1;
                continue;
            }
            Made::Comment => {
                text += "# entries\n\n";
                continue;
            }
        };
        text += &format!(
            "             app-{}     [000] .....   {}.{:06}: {}\n",
            event.0, at, at, event.1
        );
        lines += 1;
    }
    (text, letters, lines)
}

proptest! {
    #[test]
    fn every_line_is_an_event_an_unmatched_half_or_a_named_skip_and_the_counts_add_up(
        all in proptest::collection::vec(made(), 1..80),
    ) {
        let (text, letters, lines) = text_of(&all);
        let Ok(imported) = import(text.as_bytes(), Some(InputFormat::Ftrace)) else { return Ok(()) };
        prop_assert_eq!(accounted(&imported), lines, "{}", text);
        let source = &imported.trace.source;
        let others = all.iter().filter(|made| matches!(made, Made::Other(_))).count() as u64;
        prop_assert_eq!(source.skipped.values().sum::<u64>(), others);
        let garbage = all.iter().filter(|made| matches!(made, Made::Garbage)).count() as u64;
        prop_assert_eq!(source.damaged, garbage);
        // A beginning and the end right after it are one event; a request's may have another between. Each end
        // or beginning that is left is an event of its own.
        let (mut events, mut begins, mut ends) = (0_u64, 0_u64, 0_u64);
        for (key, letters) in &letters {
            let (b, e) = (letters.matches('b').count() as u64, letters.matches('e').count() as u64);
            let is_block = key.starts_with("block");
            let pairs = if is_block { in_turn(letters) } else { letters.matches("be").count() as u64 };
            events += b + e - pairs;
            begins += b - pairs;
            ends += e - pairs;
        }
        prop_assert_eq!(imported.trace.events.len() as u64, events, "{}", text);
        let writes: String =
            letters.iter().filter(|(key, _)| key.starts_with("write")).map(|(_, all)| all.as_str()).collect();
        let of_writes = |letter: char| {
            letters.iter().filter(|(key, _)| key.starts_with("write")).map(|(_, all)| {
                (all.matches(letter).count() - all.matches("be").count()) as u64
            }).sum::<u64>()
        };
        // Where no write has the other end, none is missing.
        let begins = begins - if writes.contains('e') { 0 } else { of_writes('b') };
        let ends = ends - if writes.contains('b') { 0 } else { of_writes('e') };
        prop_assert_eq!(source.unmatched, TraceUnmatched { begins, ends }, "{}", text);
    }
}

/// Pairs of a request's ends: a completion takes the first beginning that waits.
fn in_turn(letters: &str) -> u64 {
    let (mut waiting, mut pairs) = (0_u64, 0_u64);
    for letter in letters.chars() {
        match letter {
            'b' => waiting += 1,
            _ if waiting > 0 => (waiting, pairs) = (waiting - 1, pairs + 1),
            _ => {}
        }
    }
    pairs
}
