//! Text of the kernel's tracepoints beyond the samples: numbers of system calls, compression, pieces.
#![allow(clippy::unwrap_used)]

use flashlag_schema::trace::{FailedCall, TraceAction};
use flashlag_trace::{InputFormat, import};
use flashlag_units::{Bytes, Nanos};

/// Numbers of x86_64 as `raw_syscalls` has them, with enough calls to know the machine by.
const RAW: &str = "\
    app-12 [000] ..... 1.000000: sys_enter: NR 257 (ffffff9c, 7fceafcb00b1, 80000, 0, 0, 0)
    app-12 [000] ..... 1.000010: sys_exit: NR 257 = 5
    app-12 [000] ..... 1.000020: sys_enter: NR 18 (5, 7fce, 200, 1000, 0, 0)
    app-12 [000] ..... 1.000050: sys_exit: NR 18 = 512
    app-12 [000] ..... 1.000060: sys_enter: NR 75 (5, 0, 0, 0, 0, 0)
    app-12 [000] ..... 1.002060: sys_exit: NR 75 = 0
    app-12 [000] ..... 1.002070: sys_enter: NR 77 (5, 0, 0, 0, 0, 0)
    app-12 [000] ..... 1.002080: sys_exit: NR 77 = 0
    app-12 [000] ..... 1.002090: sys_enter: NR 1 (5, 7fce, 10, 0, 0, 0)
    app-12 [000] ..... 1.002095: sys_exit: NR 1 = -28
";

#[test]
fn numbers_of_raw_syscalls_are_read_as_those_of_the_machine_that_they_are_frequent_on() {
    let trace = import(RAW.as_bytes(), None).unwrap().trace;
    let actions: Vec<TraceAction> = trace.events.iter().map(|event| event.action).collect();
    let file = 0;
    let expected = [
        TraceAction::Write { file, offset: Some(0x1000), bytes: Bytes(512) },
        TraceAction::Sync { file, data_only: true },
        TraceAction::Truncate { file, bytes: Bytes(0) },
        // The write that failed for want of room wrote nothing.
        TraceAction::Failed { call: FailedCall::Write, file: Some(file), error: 28 },
    ];
    assert_eq!(actions, expected);
    assert_eq!(trace.events.iter().nth(1).unwrap().took_ns, Some(Nanos(2_000_000)));
}

#[test]
fn the_compressed_text_of_atrace_is_the_same_as_the_plain_one() {
    let plain = import(RAW.as_bytes(), None).unwrap().trace;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, RAW.as_bytes()).unwrap();
    let mut file = b"capturing trace... done\nTRACE:\n".to_vec();
    file.extend(encoder.finish().unwrap());
    assert_eq!(import(&file[..], None).unwrap().trace, plain);
    // Cut off: what came before is kept, and the trace says so.
    let cut = import(&file[..file.len() - 12], None).map(|imported| imported.trace);
    assert!(cut.is_err() || cut.is_ok_and(|trace| !trace.source.limits.is_empty()));
}

#[test]
fn pieces_of_one_write_in_large_folios_count_once() {
    let lines = "\
        dd-7 [001] ..... 1.000001: ext4_da_write_begin: dev 8,0 ino 9 pos 0 len 10000
        dd-7 [001] ..... 1.000002: ext4_da_write_begin: dev 8,0 ino 9 pos 8192 len 1808
        dd-7 [001] ..... 1.000003: ext4_da_write_begin: dev 8,0 ino 9 pos 0 len 4096
        dd-7 [001] ..... 1.000004: ext4_da_write_begin: dev 8,0 ino 9 pos 0 len 4096
        dd-7 [001] ..... 1.000005: ext4_unlink_enter: dev 8,0 ino 9 size 10000 parent 2
    ";
    let trace = import(lines.as_bytes(), Some(InputFormat::Ftrace)).unwrap().trace;
    let bytes = |event: flashlag_schema::trace::TraceEvent| match event.action {
        TraceAction::Write { bytes, .. } => Some(bytes.0),
        _ => None,
    };
    assert_eq!(trace.events.iter().filter_map(bytes).collect::<Vec<_>>(), [10_000, 4096, 4096]);
    assert!(matches!(trace.events.iter().last().unwrap().action, TraceAction::Unlink { file: 0 }));
}
