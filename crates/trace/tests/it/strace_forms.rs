//! Every form in which strace prints times and places gives the same trace; calls that move or sync data are
//! events, or counted and named; a call that failed is an event.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::path::Path;
use std::process::Command;

use flashlag_schema::trace::{FailedCall, Trace, TraceAction, TraceEvent};
use flashlag_trace::{InputFormat, add_up, import};
use flashlag_units::Bytes;

fn read(text: &str) -> Trace {
    import(text.as_bytes(), None).unwrap_or_else(|error| panic!("{error}: {text}")).trace
}

/// When each event began and how long it took, in microseconds.
fn times(trace: &Trace) -> Vec<(u64, Option<u64>)> {
    let of = |event: TraceEvent| (event.t_ns.0 / 1000, event.took_ns.map(|took| took.0 / 1000));
    trace.events.iter().map(of).collect()
}

/// Calls with the thread, the microseconds since the line before, and how long they take.
const CALLS: [(u32, u64, &str, u64); 6] = [
    (10, 0, "openat(AT_FDCWD, \"/d/a.db\", O_RDWR|O_CREAT, 0644) = 3</d/a.db>", 10),
    (10, 300_000, "pwrite64(3</d/a.db>, \"x\"..., 4096, 0) = 4096", 10),
    (11, 50, "pwrite64(3</d/a.db>, \"x\"..., 4096, 8192) = 4096", 10),
    (10, 50, "fsync(3</d/a.db>) = 0", 200_000),
    (10, 200_100, "pwrite64(3</d/a.db>, \"x\"..., 4096, 4096) = 4096", 10),
    (10, 100, "fsync(3</d/a.db>) = 0", 100_000),
];

/// Where a thread's number, a time, and the places of a call stand in a line.
fn written(time: impl Fn(u64, u64) -> String, pid: fn(u32) -> String, places: &str) -> String {
    let mut now = 43_200_000_000_u64;
    let mut text = String::new();
    for (tid, since, call, took) in CALLS {
        now += since;
        let took = format!("{}.{:06}", took / 1_000_000, took % 1_000_000);
        text += &format!("{}{}{places}{call} <{took}>\n", pid(tid), time(now, since));
    }
    text
}

fn parts(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn clock(now: u64) -> String {
    let (s, us) = (now / 1_000_000, now % 1_000_000);
    format!("{:02}:{:02}:{:02}.{us:06} ", s / 3600, s / 60 % 60, s % 60)
}

fn relative(since: u64) -> String {
    format!("{:6}.{:06}", since / 1_000_000, since % 1_000_000)
}

#[test]
fn every_way_to_print_times_and_places_gives_the_same_events_at_the_same_times() {
    type Time = fn(u64, u64) -> String;
    let ways: [(&str, Time); 4] = [
        ("-tt", |now, _| clock(now)),
        ("-ttt", |now, _| format!("{} ", parts(now + 1_700_000_000_000_000))),
        ("-r", |_, since| format!("{} ", relative(since))),
        ("-tt -r", |now, since| format!("{}(+{}) ", clock(now), relative(since))),
    ];
    type Pid = fn(u32) -> String;
    let pids: [(&str, Pid); 2] =
        [("-o", |pid| format!("{pid:<5} ")), ("[pid]", |pid| format!("[pid {pid:5}] "))];
    let places = ["", "[  18] ", "[00007f5e741b1e67] ", "[  18] [00007f5e741b1e67] ", "[????] "];
    let mut at = 0;
    let expected: Vec<(u64, Option<u64>)> = CALLS
        .iter()
        .map(|(_, since, _, took)| {
            at += since;
            (at, Some(*took))
        })
        .collect();
    for (way, time) in ways {
        for (form, pid) in pids {
            for places in places {
                let text = written(time, pid, places);
                let trace = read(&text);
                assert_eq!(times(&trace), expected, "{way} {form} {places}:\n{text}");
                assert_eq!(trace.source.damaged, 0, "{text}");
                assert_eq!(add_up(&trace).layers.calls.unwrap().bytes.0, 3 * 4096);
                let said = trace.source.read_as.is_some_and(|said| said.contains("strace -r"));
                assert_eq!(said, way == "-r", "{text}");
            }
        }
    }
}

#[test]
fn times_since_the_line_before_add_up_over_every_line() {
    let text = "10         0 openat(AT_FDCWD, \"/d/a\", O_RDWR) = 3</d/a> <0>\n\
                10         2 --- SIGCHLD {si_signo=SIGCHLD} ---\n\
                10         1 fsync(3</d/a> <unfinished ...>\n\
                11         1 write(1</d/b>, \"x\", 1) = 1 <0>\n\
                10         3 <... fsync resumed>) = 0 <4>\n\
                10         1 fsync(3</d/a>) = 0 <0>\n";
    let seconds: Vec<u64> = times(&read(text)).iter().map(|(at, _)| at / 1_000_000).collect();
    assert_eq!(seconds, [0, 3, 4, 8]);
    // Spaces that were lost, as on a page: the times go back, so that they can't be from the beginning.
    let squeezed = "10 0.0 fsync(3</d/a>) = 0 <0.1>\n10 0.3 fsync(3</d/a>) = 0 <0.1>\n\
                    10 0.1 fsync(3</d/a>) = 0 <0.1>\n";
    assert_eq!(
        times(&read(squeezed)).iter().map(|(at, _)| *at).collect::<Vec<_>>(),
        [0, 300_000, 400_000]
    );
    // Nothing says which: the reading is said.
    let either = "10 0.0 fsync(3</d/a>) = 0 <0.1>\n10 0.3 fsync(3</d/a>) = 0 <0.1>\n";
    let trace = read(either);
    assert!(
        trace.source.limits.iter().any(|limit| limit.contains("from the beginning")),
        "{trace:?}"
    );
}

fn moved(trace: &Trace) -> (u64, u64, u64) {
    let layers = add_up(trace).layers;
    let writes = layers.calls.unwrap_or_default();
    (writes.count, writes.bytes.0, layers.syncs.unwrap_or_default())
}

#[test]
fn requests_handed_over_at_once_and_copies_between_files_are_writes() {
    let text = "10 1700000000.000000 io_submit(0x7f0, 3, [{aio_data=0x1, aio_lio_opcode=IOCB_CMD_PWRITEV, \
        aio_fildes=32</dev/sda>, aio_buf=[{iov_base=\"a,]\"..., iov_len=4096}, {iov_base=\"b\", iov_len=512}], \
        aio_offset=618496}, {aio_lio_opcode=IOCB_CMD_FDSYNC, aio_fildes=32</dev/sda>}, \
        {aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=5</d/c>, aio_buf=\"a\", aio_nbytes=512, aio_offset=0}]) \
        = 2 <0.000395>\n\
        10 1700000000.010000 io_submit(140, 1, [{data=0, pwrite, fildes=5, str=\"a\"..., nbytes=8192, \
        offset=12288}]) = 1 <0.1>\n\
        10 1700000000.020000 copy_file_range(3</d/a>, NULL, 4</d/b>, NULL, 8192, 0) = 8192 <0.001000>\n\
        10 1700000000.021000 copy_file_range(3</d/a>, [0], 4</d/b>, [65536] => [73728], 8192, 0) = 8192 <0.1>\n\
        10 1700000000.022000 sendfile(4</d/b>, 3</d/a>, NULL, 4096) = 4096 <0.001000>\n\
        10 1700000000.023000 splice(7<pipe:[1]>, NULL, 4</d/b>, NULL, 100, 0) = 100 <0.001000>\n\
        10 1700000000.024000 splice(4</d/b>, NULL, 7<pipe:[1]>, NULL, 100, 0) = 100 <0.001000>\n";
    let trace = read(text);
    // Of the first io_submit two of three were taken.
    assert_eq!(moved(&trace), (6, 4608 + 8192 + 8192 + 8192 + 4096 + 100, 1));
    assert_eq!((trace.source.left_out, trace.source.damaged), (0, 0), "{:?}", trace.source);
    let offsets: Vec<(Option<u64>, u64)> = trace
        .events
        .iter()
        .filter_map(|event| match event.action {
            TraceAction::Write { offset, bytes, .. } => Some((offset, bytes.0)),
            _ => None,
        })
        .collect();
    assert_eq!(offsets[..2], [(Some(618_496), 4608), (Some(12_288), 8192)]);
    assert_eq!(offsets[3], (Some(65_536), 8192));
}

#[test]
fn calls_of_which_no_event_can_be_made_are_counted_and_named_and_nothing_says_that_nothing_is_written()
 {
    for (name, call) in [
        (
            "io_uring_enter",
            "io_uring_enter(6<anon_inode:[io_uring]>, 3, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 3",
        ),
        ("sync_file_range", "sync_file_range(3</d/a>, 0, 4096, SYNC_FILE_RANGE_WRITE) = 0"),
        ("vmsplice", "vmsplice(4<pipe:[1]>, [{iov_base=\"a\", iov_len=1}], 1, 0) = 1"),
        (
            "process_vm_writev",
            "process_vm_writev(7, [{iov_base=\"a\", iov_len=1}], 1, [{iov_base=0x1, iov_len=1}], 1, 0) = 1",
        ),
        ("io_submit", "io_submit(0x7f0, 2, 0x7ffd0) = 2"),
        (
            "io_submit",
            "io_submit(0x7f0, 2, [{aio_lio_opcode=IOCB_CMD_FSYNC, aio_fildes=3</d/a>}, ...]) = 2",
        ),
        ("fallocate", "fallocate(3</d/a>, 0, 0, 65536) = 0"),
        ("ioctl (FICLONE)", "ioctl(4</d/b>, BTRFS_IOC_CLONE or FICLONE, 3</d/a>) = 0"),
        ("msync", "msync(0x7f0000000000, 4096, MS_SYNC) = 0"),
    ] {
        let text =
            format!("10 1700000000.0 {call} <0.1>\n10 1700000000.5 fdatasync(9</d/z>) = 0 <0.2>\n");
        let trace = read(&text);
        assert_eq!(trace.source.left_out, 1, "{text}");
        let limits = trace.source.limits.join("\n");
        assert!(limits.contains(&format!("1 call of {name}")), "{name}: {limits}");
        assert_eq!(
            trace.source.skipped.values().sum::<u64>(),
            2 - trace.events.len() as u64,
            "{text}"
        );
    }
}

#[test]
fn a_mapped_file_is_synced_by_its_address_and_its_stores_are_said_to_be_missing() {
    let text = "10 1700000000.0 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_SHARED, 3</d/a>, 0) = 0x7f0000001000 <0.1>\n\
                10 1700000000.1 msync(0x7f0000002000, 4096, MS_SYNC) = 0 <0.5>\n\
                10 1700000000.2 msync(0x7f0000002000, 4096, MS_ASYNC) = 0 <0.5>\n\
                10 1700000000.3 msync(0x7f0000003000, 4096, MS_SYNC) = 0 <0.5>\n";
    let trace = read(text);
    assert_eq!(moved(&trace), (0, 0, 1));
    assert_eq!(trace.files[0].path.as_deref(), Some("/d/a"));
    assert_eq!(trace.source.left_out, 2, "{:?}", trace.source);
    assert!(trace.source.limits.iter().any(|limit| limit.contains("Files mapped writable: 1")));
}

#[test]
fn a_call_that_failed_is_an_event_with_its_error_and_its_wait_and_wrote_nothing() {
    let text = "10 1700000000.0 write(3</d/a>, \"x\"..., 4096) = 1000 <0.1>\n\
                10 1700000000.2 write(3</d/a>, \"x\"..., 3096) = -1 ENOSPC (No space left on device) <0.3>\n\
                10 1700000000.6 fsync(3</d/a>) = -1 EIO (Input/output error) (INJECTED) <0.7>\n\
                10 1700000001.6 openat(AT_FDCWD, \"/none\", O_RDONLY) = -1 ENOENT (No such file) <0.001>\n\
                10 1700000001.7 close(99) = -1 EBADF (Bad file descriptor) <0.001>\n";
    let trace = read(text);
    let failed: Vec<_> = trace
        .events
        .iter()
        .filter_map(|event| match event.action {
            TraceAction::Failed { call, file, error } => {
                Some((call, file, error, event.took_ns.unwrap().0 / 1_000_000))
            }
            _ => None,
        })
        .collect();
    let expected = [
        (FailedCall::Write, Some(0), 28, 300),
        (FailedCall::Sync, Some(0), 5, 700),
        (FailedCall::Open, None, 2, 1),
        (FailedCall::Close, None, 9, 1),
    ];
    assert_eq!(failed, expected);
    let ledger = add_up(&trace);
    assert_eq!(ledger.layers.calls.unwrap().bytes, Bytes(1000));
    // Whoever called that fsync waited for it.
    let waited: u64 = ledger
        .writers
        .iter()
        .filter_map(|row| row.syncs.as_ref())
        .map(|syncs| syncs.waited_ns.0)
        .sum();
    assert_eq!((ledger.layers.syncs, waited), (Some(1), 700_000_000));
    // A position is not moved by what failed.
    let next = format!("{text}10 1700000002.0 write(3</d/a>, \"x\", 1) = 1 <0.1>\n");
    let text = next.replace("10 1700000000.0 write", "10 1699999999.0 openat(AT_FDCWD, \"/d/a\", O_RDWR|O_CREAT) = 3</d/a> <0.1>\n10 1700000000.0 write");
    let last = read(&text).events.iter().last().unwrap().action;
    assert!(matches!(last, TraceAction::Write { offset: Some(1000), .. }), "{last:?}");
}

/// What strace printed of one program, with these options.
fn traced(folder: &Path, options: &[&str], name: &str) -> String {
    let output = folder.join(format!("{name}.strace"));
    let work = folder.join(name);
    std::fs::create_dir_all(&work).unwrap();
    // Two processes, a write that fails, an fsync each.
    let script = "echo one > a; sync a; cp a b; (dd if=a of=c bs=2 count=1 conv=fsync status=none); \
                  echo x > /dev/full; true";
    let done = Command::new("strace")
        .args(options)
        .arg("-o")
        .arg(&output)
        .args(["sh", "-c", script])
        .current_dir(&work)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(done.success(), "{options:?}");
    std::fs::read_to_string(output).unwrap()
}

#[test]
fn the_real_strace_is_read_alike_with_every_option_that_prints_times_or_places() {
    if flashlag_need::program("strace", "strace").is_none() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("flashlag-strace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let counted = |text: &str| {
        let imported =
            import(text.as_bytes(), None).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(imported.format, InputFormat::Strace, "{text}");
        let trace = imported.trace;
        assert_eq!(trace.source.damaged, 0, "{:?}\n{text}", trace.source.limits);
        // By the lines themselves: fsyncs of whatever thread that returned.
        let fsyncs =
            text.lines().filter(|line| line.contains("fsync(") || line.contains("fsync resumed"));
        let fsyncs = fsyncs.filter(|line| line.contains("= 0")).count() as u64;
        let (_, bytes, syncs) = moved(&trace);
        assert_eq!(syncs, fsyncs, "{text}");
        let failed = trace.events.iter().filter(|event| {
            matches!(event.action, TraceAction::Failed { call: FailedCall::Write, error: 28, .. })
        });
        (bytes, syncs, failed.count())
    };
    let expected = counted(&traced(&folder, &["-f", "-ttt", "-T", "-y"], "plain"));
    assert_eq!((expected.1, expected.2), (2, 1));
    let all: [&[&str]; 14] = [
        &["-f", "-tt", "-T", "-y"],
        &["-f", "-t", "-T", "-y"],
        &["-f", "-r", "-T", "-y"],
        &["-f", "-tt", "-r", "-T", "-y"],
        &["-f", "-r", "-i", "-n", "-T", "-y"],
        &["-f", "-ttt", "-r", "-n", "-T", "-yy"],
        &["-f", "-i", "-T", "-y"],
        &["-f", "-Y", "-r", "-T", "-y"],
        &["-f", "-C", "-tt", "-T", "-y"],
        &["-f", "--relative-timestamps=s", "-T", "-y"],
        &["-f", "--relative-timestamps=ns", "--syscall-times=ns", "-y"],
        &["-f", "--absolute-timestamps=format:unix,precision:s", "-T", "-y"],
        &["-f", "--absolute-timestamps=precision:ns", "-r", "--syscall-times=ms", "-y"],
        &["-f", "-xx", "-s0", "-r", "-v", "-y"],
    ];
    for (number, options) in all.into_iter().enumerate() {
        let text = traced(&folder, options, &number.to_string());
        assert_eq!(counted(&text), expected, "{options:?}:\n{text}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn times_from_1970_lead_to_the_wall_clock_and_times_of_day_to_none() {
    let clocks =
        |stamp: &str| read(&format!("10 {stamp} fsync(3</d/a>) = 0 <0.1>\n")).source.clocks;
    let wall = clocks("1700000000.500000").and_then(|clocks| clocks.wall_ns);
    assert_eq!(wall, Some(flashlag_units::Nanos(1_700_000_000_500_000_000)));
    assert_eq!((clocks("12:00:00.500000"), clocks("0.500000")), (None, None));
}
