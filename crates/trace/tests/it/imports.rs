//! Files of other tools make the trace that the tools recorded: counts that another way finds in the
//! same text, transactions of SQLite, hostile names, damage.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::path::PathBuf;

use flashlag_schema::trace::{BlockOperation, Trace, TraceAction};
use flashlag_spec::TraceFileKind;
use flashlag_spec::scenario::JournalMode;
use flashlag_trace::{
    ImportError, ImportOptions, InputFormat, add_up, import, import_by, read_trace, write_trace,
};

fn sample(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn imported(text: &str) -> (InputFormat, Trace) {
    let imported = import(text.as_bytes(), None).unwrap();
    (imported.format, imported.trace)
}

fn count(trace: &Trace, is: fn(&TraceAction) -> bool) -> usize {
    trace.events.iter().filter(|event| is(&event.action)).count()
}

fn is_sync(action: &TraceAction) -> bool {
    matches!(action, TraceAction::Sync { .. })
}

#[test]
fn strace_and_ftrace_of_the_same_commands_agree() {
    let of = |name: &str| {
        let (format, trace) = imported(&sample(name));
        (format, add_up(&trace), trace)
    };
    let (format, calls, strace) = of("sqlite-delete.strace");
    assert_eq!(format, InputFormat::Strace);
    let (format, points, ftrace) = of("sqlite-delete.ftrace");
    assert_eq!(format, InputFormat::Ftrace);
    let database = &calls.databases[0];
    assert_eq!(database.file, "/data/app/DELETE.db");
    assert_eq!(database.journal_mode, Some(JournalMode::Delete));
    let deleted =
        sample("sqlite-delete.strace").lines().filter(|line| line.contains("unlink(")).count();
    assert_eq!(database.commits, deleted as u64);
    // Of each commit: twice the journal, its directory, the database.
    assert_eq!(database.syncs, 4 * database.commits);
    assert!(strace.events.iter().any(|event| is_sync(&event.action) && event.took_ns.is_some()));
    // Without names the same is seen by the order of writes and fsyncs.
    let unnamed = &points.databases[0];
    assert!(unnamed.file.starts_with("inode "), "{}", unnamed.file);
    assert_eq!((unnamed.commits, unnamed.syncs), (database.commits, database.syncs));
    assert_eq!((unnamed.bytes, unnamed.page_bytes), (database.bytes, database.page_bytes));
    let text = sample("sqlite-delete.ftrace");
    let lines = |part: &str| text.lines().filter(|line| line.contains(part)).count();
    assert_eq!(count(&ftrace, is_sync), lines("sys_fdatasync(") + lines("sys_fsync("));
    let is_write = |action: &TraceAction| {
        matches!(action, TraceAction::Block { operation: BlockOperation::Write, .. })
    };
    assert_eq!(count(&ftrace, is_write), lines("block_rq_issue: 254,0 W"));
}

#[test]
fn commits_to_a_write_ahead_log_are_its_fsyncs_after_frames() {
    let (_, trace) = imported(&sample("sqlite-wal.strace"));
    let database = &add_up(&trace).databases[0];
    assert_eq!(database.journal_mode, Some(JournalMode::Wal));
    // The file is of a table and 20 rows, each in a transaction, and of the change of mode before, which
    // still needs a rollback journal.
    assert_eq!(database.commits, 1 + 20 + 1);
    assert_eq!(database.unsynced_bytes.0, 0);
    let kinds: Vec<TraceFileKind> = trace.files.iter().map(|file| file.kind).collect();
    assert!(kinds.contains(&TraceFileKind::Wal) && kinds.contains(&TraceFileKind::Journal));
}

#[test]
fn each_sign_of_a_rollback_transactions_end_is_its_mode() {
    let transaction = |end: &str| {
        format!(
            "1 openat(AT_FDCWD, \"/a.db-journal\", O_RDWR|O_CREAT) = 4 <0.1>\n\
             1 pwrite64(4, \"\", 512, 0) = 512 <0.1>\n1 fdatasync(4) = 0 <0.1>\n\
             1 pwrite64(3, \"\", 4096, 0) = 4096 <0.1>\n1 fdatasync(3) = 0 <0.1>\n{end}\n"
        )
    };
    let of = |end: &str| {
        let open = "1 openat(AT_FDCWD, \"/a.db\", O_RDWR) = 3 <0.1>\n".to_owned();
        let (_, trace) = imported(&(open + &transaction(end) + &transaction(end)));
        let database = add_up(&trace).databases[0].clone();
        assert_eq!((database.commits, database.rolled_back), (2, 0), "{end}");
        // From the first write to the end of the last fsync.
        assert!(database.latency_ns.is_some());
        database.journal_mode
    };
    let closed = "1 close(4) = 0 <0.1>";
    assert_eq!(
        of(&format!("{closed}\n1 unlink(\"/a.db-journal\") = 0 <0.1>")),
        Some(JournalMode::Delete)
    );
    assert_eq!(of(&format!("1 ftruncate(4, 0) = 0 <0.1>\n{closed}")), Some(JournalMode::Truncate));
    let zeroed = "1 pwrite64(4, \"\", 28, 0) = 28 <0.1>";
    assert_eq!(of(&format!("{zeroed}\n{closed}")), Some(JournalMode::Persist));
    assert_eq!(of(closed), None);
}

#[test]
fn a_transaction_without_a_write_to_the_database_is_no_commit() {
    let text = "1 0.0 openat(AT_FDCWD, \"/a.db\", O_RDWR) = 3\n\
                1 0.1 openat(AT_FDCWD, \"/a.db-journal\", O_RDWR|O_CREAT) = 4\n\
                1 0.2 pwrite64(4, \"\", 512, 0) = 512\n1 0.3 fdatasync(4) = 0\n\
                1 0.4 close(4) = 0\n1 0.5 unlink(\"/a.db-journal\") = 0\n";
    let database = add_up(&imported(text).1).databases[0].clone();
    assert_eq!((database.commits, database.rolled_back), (0, 1));
}

#[test]
fn an_fsync_before_a_checkpoint_is_no_commit() {
    let open = "1 openat(AT_FDCWD, \"/a.db\", O_RDWR) = 3\n\
                1 openat(AT_FDCWD, \"/a.db-wal\", O_RDWR|O_CREAT) = 4\n";
    let frames = "1 pwrite64(4, \"\", 24, 32) = 24\n1 pwrite64(4, \"\", 4096, 56) = 4096\n";
    let sync = "1 fdatasync(4) = 0\n";
    let copy = "1 pwrite64(3, \"\", 4096, 0) = 4096\n1 fdatasync(3) = 0\n";
    let of = |text: &str| {
        let database = add_up(&imported(&format!("{open}{text}")).1).databases[0].clone();
        (database.commits, database.unsynced_bytes.0)
    };
    assert_eq!(of(&format!("{frames}{sync}")), (1, 0));
    assert_eq!(of(&format!("{frames}{sync}{frames}{sync}{sync}{copy}")), (2, 0));
    // synchronous=NORMAL: what is synced is synced for the checkpoint.
    assert_eq!(of(&format!("{frames}{frames}{sync}{copy}")), (0, 2 * 4120));
    assert_eq!(of(frames), (0, 4120));
}

const HOSTILE: &str = "a] 8 + 8 [b \u{1b}]0;x\u{7}";

#[test]
fn a_hostile_name_stays_one_name() {
    let blk = format!("8,0 1 1 0.5 7 Q WS 8 + 8 [{HOSTILE}]\n8,0 1 2 0.6 0 C WS 8 + 8 [0]\n");
    let (_, trace) = imported(&blk);
    assert_eq!(trace.tasks[0].thread.as_deref(), Some(HOSTILE));
    assert_eq!(trace.events.first().unwrap().took_ns.unwrap().0, 100_000_000);

    let name = "x-1 [0] . 1.0:";
    let line = format!(
        "{name:>16}-230   [001] d..3  12.5: ext4_sync_file_enter: dev 8,1 ino 2 parent 1 datasync 0\n"
    );
    let (_, trace) = imported(&line);
    assert_eq!((trace.tasks[0].thread.as_deref(), trace.tasks[0].tid), (Some(name), Some(230)));

    let path = "/a, offset x, b\u{1b}[2J, ino 7";
    let line = format!(
        "             app-230   [001] d..3  12.5: android_fs_datawrite_start: entry_name {path}, offset 0, \
         bytes 4096, cmdline com.a b, pid 5, i_size 0, ino 2\n"
    );
    let imported_name = import(line.as_bytes(), Some(InputFormat::Ftrace));
    // A path that looks like the fields after it is not taken apart wrongly: it is refused.
    assert!(
        imported_name.is_err()
            || imported_name.unwrap().trace.files[0].path.as_deref() == Some(path)
    );

    let csv = "proces,device,rw_flag,sector,size,timestamp\na,b,-c-7,8388608,W,8,8,1.5\n";
    let (_, trace) = imported(csv);
    assert_eq!((trace.tasks[0].thread.as_deref(), trace.tasks[0].tid), (Some("a,b,-c"), Some(7)));
}

#[test]
fn damaged_lines_are_counted_and_reported_and_the_rest_is_taken() {
    let good = "8,0 1 1 0.5 7 Q WS 8 + 8 [x]\n8,0 1 2 0.6 0 C WS 8 + 8 [0]\n";
    let (_, trace) = imported(&format!("{good}8,0 1 x\nhello\n{good}"));
    assert_eq!((trace.source.damaged, trace.events.len()), (2, 2));
    assert!(
        trace.source.limits.iter().any(|limit| limit.contains("the first at line 3")),
        "{:?}",
        trace.source
    );
}

#[test]
fn a_text_is_the_same_trace_whatever_ends_its_lines() {
    let mut stored = Vec::new();
    let strace = sample("sqlite-delete.strace");
    write_trace(&mut stored, &imported(&strace).1).unwrap();
    let stored = String::from_utf8(stored).unwrap();
    let blkparse = "8,0 0 1 0.000000001 7 Q W 8 + 8 [a]\n8,0 0 2 0.000000002 7 D W 8 + 8 [a]\n\
                    8,0 0 3 0.000000009 0 C W 8 + 8 [0]\n";
    let table = "process,device,rw_flag,sector,bytes,submit_s,finish_s\na,8:0,W,8,4096,1.0,1.5\n";
    for text in [&strace, &sample("sqlite-delete.ftrace"), &stored, blkparse, table] {
        let expected =
            import(text.as_bytes(), None).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(!expected.trace.events.is_empty());
        for end in ["\r\n", "\r", "\r\r\n"] {
            let other = text.replace('\n', end);
            let found = import(other.as_bytes(), None).unwrap();
            assert_eq!(found.format, expected.format, "{end:?}");
            assert!(found.trace == expected.trace, "{end:?}: {text}");
        }
    }
}

#[test]
fn lines_with_a_return_within_are_counted_and_said() {
    let two = "8,0 0 1 0.000000001 7 Q W 8 + 8 [a]\r8,0 0 2 0.000000002 7 D W 8 + 8 [a]\n";
    let trace = imported(&two.repeat(3)).1;
    let limits = trace.source.limits.join("\n");
    assert!(limits.contains("carriage return within, each read as one: 3."), "{limits}");
}

#[test]
fn files_without_a_trace_are_refused_with_a_reason() {
    assert!(matches!(import(&b""[..], None), Err(ImportError::Empty)));
    assert!(matches!(import(&b"hello\nworld\n"[..], None), Err(ImportError::Unknown)));
    let other = "8,0 1 1 0.5 7 P N [x]\n";
    let error = import(other.as_bytes(), Some(InputFormat::Blkparse)).unwrap_err();
    assert!(matches!(error, ImportError::Nothing { .. }), "{error}");
    // The beginning of a compressed file, and no more.
    assert!(import(&[0x1f, 0x8b, 8][..], None).is_err());
}

#[test]
fn only_completions_only_beginnings_and_one_time_for_all_make_a_trace() {
    let completions = "8,0 1 1 0.5 0 C WS 8 + 8 [0]\n8,0 1 2 0.6 0 C R 16 + 8 [0]\n";
    let (_, trace) = imported(completions);
    assert_eq!((trace.events.len(), trace.source.unmatched.ends), (2, 2));
    assert!(trace.events.iter().all(|event| event.took_ns.is_none() && event.task.is_none()));
    let begun = "8,0 1 1 0.5 7 Q WS 8 + 8 [x]\n8,0 1 2 0.6 7 Q R 16 + 8 [x]\n";
    let (_, trace) = imported(begun);
    assert_eq!((trace.events.len(), trace.source.unmatched.begins), (2, 2));
    let same = "8,0 1 1 0.5 7 Q WS 8 + 8 [x]\n8,0 1 1 0.5 7 D WS 8 + 8 [x]\n8,0 1 2 0.5 0 C WS 8 + 8 [0]\n";
    let (_, trace) = imported(same);
    assert_eq!(trace.events.first().unwrap().took_ns.unwrap().0, 0);
    assert_eq!(trace.source.lasted_ns.0, 0);
    assert_eq!(add_up(&trace).databases.len(), 0);
}

#[test]
fn merged_and_split_requests_keep_their_bytes() {
    // Two queued requests become one; one becomes two.
    let merged = "8,0 1 1 0.1 7 Q W 8 + 8 [x]\n8,0 1 1 0.2 7 Q W 16 + 8 [x]\n\
                  8,0 1 1 0.3 9 D W 8 + 16 [k]\n8,0 1 1 0.5 0 C W 8 + 16 [0]\n";
    let (_, trace) = imported(merged);
    let TraceAction::Block { bytes, queued_ns, .. } = &trace.events.first().unwrap().action else {
        panic!()
    };
    assert_eq!((trace.events.len(), bytes.0, queued_ns.unwrap().0), (1, 16 * 512, 200_000_000));
    // Who asked, not the thread that hands the request on.
    assert_eq!(
        trace.tasks[trace.events.first().unwrap().task.unwrap() as usize].thread.as_deref(),
        Some("x")
    );
    let split = "8,0 1 1 0.1 7 Q W 8 + 16 [x]\n8,0 1 1 0.3 7 D W 8 + 8 [x]\n8,0 1 1 0.4 7 D W 16 + 8 [x]\n\
                 8,0 1 1 0.5 0 C W 8 + 8 [0]\n8,0 1 1 0.6 0 C W 16 + 8 [0]\n";
    let (_, trace) = imported(split);
    assert_eq!(add_up(&trace).layers.block.unwrap().bytes.0, 16 * 512);
    assert!(trace.source.unmatched.is_none());
    let in_parts =
        "8,0 1 1 0.1 7 Q W 8 + 16 [x]\n8,0 1 1 0.3 0 C W 8 + 8 [0]\n8,0 1 1 0.6 0 C W 16 + 8 [0]\n";
    let (_, trace) = imported(in_parts);
    assert_eq!(
        (trace.events.len(), trace.events.first().unwrap().took_ns.unwrap().0),
        (1, 500_000_000)
    );
}

#[test]
fn a_stored_trace_reads_back_as_it_was_and_one_that_was_cut_off_says_so() {
    let (_, trace) = imported(&sample("sqlite-delete.strace"));
    let text = write_trace(Vec::new(), &trace).unwrap();
    let (format, again) = imported(std::str::from_utf8(&text).unwrap());
    assert_eq!((format, &again), (InputFormat::Stored, &trace));
    for cut in [text.len() / 2, text.len() - 3, text.len() - 200] {
        let cut = read_trace(&text[..cut], 1000).unwrap();
        assert!(
            cut.source.limits.iter().any(|limit| limit.contains("cut off")),
            "{:?}",
            cut.source
        );
        assert!(cut.events.len() <= trace.events.len());
    }
    let wrong = String::from_utf8(text).unwrap().replace("flashlag.trace/1", "flashlag.trace/9");
    assert!(
        read_trace(wrong.as_bytes(), 1000).unwrap_err().to_string().contains("flashlag.trace/9")
    );
    let dangling = "{\"trace\":{\"schema\":\"flashlag.trace/1\",\"source\":{\"kind\":\"unknown\",\"layers\":[],\
                    \"lasted_ns\":0}}}\n{\"event\":{\"t_ns\":0,\"task\":3,\"action\":{\"do\":\"sync_all\"}}}\n";
    assert!(read_trace(dangling.as_bytes(), 1000).is_err());
}

#[test]
fn no_more_events_are_kept_than_memory_is_for_and_the_trace_says_so() {
    let text = sample("sqlite-delete.strace");
    let options = ImportOptions { most_events: 5, ..ImportOptions::default() };
    let imported = import_by(text.as_bytes(), &options).unwrap();
    assert_eq!(imported.trace.events.len(), 5);
    assert!(imported.trace.source.limits.iter().any(|limit| limit.contains("left out")));
}

#[test]
fn a_systrace_page_is_read_around_its_own_text() {
    let lines: Vec<String> = sample("sqlite-delete.ftrace").lines().map(str::to_owned).collect();
    let page = format!(
        "<!DOCTYPE html>\n<html><script>function f() {{ return 1 - 2 }}</script>\n\
         <script class=\"trace-data\" type=\"application/text\">\n# tracer: nop\n{}\n</script></html>\n",
        lines.join("\n")
    );
    let (format, trace) = imported(&page);
    assert_eq!((format, trace.source.damaged), (InputFormat::Ftrace, 0));
    assert_eq!(trace.events.len(), imported(&lines.join("\n")).1.events.len());
}

#[test]
fn an_interrupted_call_is_one_call_and_midnight_passes() {
    let text = "12 23:59:59.900000 fsync(3</a.db> <unfinished ...>\n\
                13 23:59:59.950000 write(4</b>, \"x\", 1) = 1 <0.000001>\n\
                12 00:00:00.100000 <... fsync resumed>) = 0 <0.200000>\n\
                12 00:00:01.000000 fsync(3</a.db>) = 0 <0.1>\n";
    let (_, trace) = imported(text);
    let syncs: Vec<u64> = trace
        .events
        .iter()
        .filter(|event| is_sync(&event.action))
        .map(|event| event.t_ns.0)
        .collect();
    assert_eq!(syncs, [0, 1_100_000_000]);
    assert_eq!(trace.events.first().unwrap().took_ns.unwrap().0, 200_000_000);
}

#[test]
fn threads_share_open_files_and_processes_copy_them() {
    let text = "10 1.0 execve(\"/bin/app\", [\"app\"], 0x1 /* 1 var */) = 0\n\
                10 1.1 openat(AT_FDCWD, \"/x\", O_WRONLY|O_CREAT, 0600) = 3\n\
                10 1.2 clone(child_stack=0x1, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, parent_tid=[11]) = 11\n\
                11 1.3 write(3, \"x\", 1) = 1\n\
                10 1.4 fork() = 12\n10 1.5 close(3) = 0\n12 1.6 write(3, \"y\", 1) = 1\n";
    let (_, trace) = imported(text);
    let written: Vec<&str> = trace
        .events
        .iter()
        .filter_map(|event| match event.action {
            TraceAction::Write { file, .. } => trace.files[file as usize].path.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(written, ["/x", "/x"]);
    let main: Vec<Option<bool>> = trace.tasks.iter().map(|task| task.is_main()).collect();
    assert_eq!(main, [Some(true), Some(false), Some(true)]);
    assert!(trace.tasks.iter().all(|task| task.process.as_deref() == Some("app")));
}
