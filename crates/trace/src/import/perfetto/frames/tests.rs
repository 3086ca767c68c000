//! Frames with planted waits, in traces that are composed as Perfetto writes them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod beside;

use flashlag_schema::trace::{Trace, TraceFrames, TraceStalled};
use flashlag_units::Nanos;

use super::super::tests::{DEVICE, bytes, event, imported, message, number, packet_of, trace_of};
use super::{
    APP_DEADLINE_MISSED, BOOTTIME, MONOTONIC, PREDICTION_EXPIRED, PRESENT_DROPPED, PRESENT_LATE,
};
use crate::{add_up, read_trace, write_trace};

/// No clock: the packets are of a sequence whose packets are all of one.
const OF_SEQUENCE: u64 = 0;
const MS: u64 = 1_000_000;
/// The beginning of what is planted, of the trace's clock, and how long the phone had slept.
const BEGIN: u64 = 10_000_000 * MS;
const SLEPT: u64 = 7_000_000 * MS;
/// The app, which is its main thread; a worker, and the thread that draws.
const APP: u64 = 20;
const WORKER: u64 = 21;
const RENDER: u64 = 22;

/// How frames are written: the clock of their packets, and how far it is behind.
#[derive(Clone, Copy)]
struct Way {
    clock: u64,
    behind: u64,
}

/// A frame that was to be done within 16 ms from `from`, in milliseconds.
#[derive(Clone, Copy)]
struct Planted {
    from: u64,
    /// Its end.
    to: u64,
    present: u64,
    jank: u64,
    on_time: u64,
    prediction: u64,
}

fn late(from: u64, to: u64) -> Planted {
    let (present, jank) = (PRESENT_LATE, APP_DEADLINE_MISSED);
    Planted { from, to, present, jank, on_time: 0, prediction: 1 }
}

fn packet(way: Way, ms: u64, event: Vec<u8>) -> Vec<u8> {
    let t = BEGIN + ms * MS - way.behind;
    let mut packet = vec![number(8, t), bytes(76, &event)];
    match way.clock {
        BOOTTIME => {}
        OF_SEQUENCE => packet.push(number(10, 5)),
        clock => packet.push(number(58, clock)),
    }
    message(&packet)
}

/// The packets of a frame: expected and actual time, each with its cookie.
fn packets(way: Way, token: u64, frame: &Planted) -> Vec<Vec<u8>> {
    let begin = |cookie: u64| {
        vec![number(1, cookie), number(2, token), number(3, token + 500), number(4, APP)]
    };
    let mut actual = begin(token * 2 + 1);
    actual.extend([bytes(5, b"TX - com.example.app/Main#0"), number(6, frame.present)]);
    actual.extend([number(7, frame.on_time), number(8, 0), number(9, frame.jank)]);
    actual.push(number(10, frame.prediction));
    let end = |cookie: u64| bytes(5, &number(1, cookie));
    let expired = frame.prediction == PREDICTION_EXPIRED;
    // SurfaceFlinger makes up the beginning of a frame whose prediction it forgot.
    let from = if expired { frame.to - 2 } else { frame.from };
    let mut all = vec![
        packet(way, from, bytes(4, &message(&actual))),
        packet(way, frame.to, end(token * 2 + 1)),
    ];
    if !expired {
        all.insert(0, packet(way, frame.from, bytes(3, &message(&begin(token * 2)))));
        all.insert(1, packet(way, frame.from + 16, end(token * 2)));
    }
    all
}

/// An fsync of a thread, in milliseconds.
fn fsync(tid: u64, inode: u64, from: u64, to: u64) -> [Vec<u8>; 2] {
    let of = |more: &[Vec<u8>]| [&[number(1, DEVICE), number(2, inode)], more].concat();
    let (from, to) = (BEGIN + from * MS, BEGIN + to * MS);
    [event(from, tid, 43, &of(&[number(4, 1)])), event(to, tid, 44, &of(&[]))]
}

fn read(tid: u64, from: u64, to: u64) -> [Vec<u8>; 2] {
    let body = [number(1, DEVICE), number(2, 64), number(3, 8), bytes(5, b"R")];
    [event(BEGIN + from * MS, tid, 45, &body), event(BEGIN + to * MS, 0, 125, &body)]
}

/// What happened, from 0 to 2 s.
fn planted() -> (Vec<Planted>, Vec<Vec<u8>>) {
    let frames = vec![
        // 30 ms late, and the main thread waited 40 ms.
        late(0, 46),
        // The same, and another thread waited.
        late(100, 146),
        // The main thread waited, and would have been late without that.
        late(200, 246),
        // In time, with a wait.
        Planted { present: 1, jank: 1, on_time: 1, ..late(300, 314) },
        // So late that Android forgot when it was due.
        Planted { jank: 256, present: 5, prediction: PREDICTION_EXPIRED, ..late(0, 720) },
        // The thread that draws waited for a read.
        late(800, 836),
        // Late by the display's fault alone.
        Planted { jank: 2, on_time: 1, ..late(900, 914) },
        // Dropped, after two waits which are long enough only together.
        Planted { present: PRESENT_DROPPED, jank: 0, ..late(1000, 1046) },
        // Forgotten like the other, but long after the wait.
        Planted { jank: 256, present: 5, prediction: PREDICTION_EXPIRED, ..late(0, 1900) },
    ];
    let waits = [
        fsync(APP, 7, 2, 42),
        fsync(WORKER, 8, 102, 142),
        fsync(APP, 7, 202, 222),
        fsync(APP, 7, 302, 310),
        fsync(APP, 9, 400, 700),
        read(RENDER, 802, 832),
        fsync(APP, 7, 901, 912),
        fsync(APP, 7, 1002, 1018),
        fsync(APP, 9, 1020, 1040),
        fsync(APP, 7, 1200, 1300),
    ];
    (frames, waits.concat())
}

/// The trace of what was planted, with further packets and fields of the bundle of events.
fn composed(way: Way, more: &[Vec<u8>], bundle: &[Vec<u8>]) -> Vec<u8> {
    let thread = |tid: u64, name: &[u8]| {
        bytes(2, &message(&[number(1, tid), number(3, APP), bytes(2, name)]))
    };
    let process = bytes(1, &message(&[number(1, APP), bytes(3, b"com.example.app")]));
    let tree = [process, thread(WORKER, b"writer"), thread(RENDER, b"RenderThread")];
    let (frames, waits) = planted();
    let events = match bundle {
        [] => packet_of(&waits),
        fields => bytes(1, &message(&[number(1, 0), waits.concat(), fields.concat()])),
    };
    let frames = frames.iter().zip(1..).flat_map(|(frame, token)| packets(way, token, frame));
    let frames: Vec<Vec<u8>> = frames.collect();
    let tree = bytes(2, &message(&tree));
    trace_of(&[&frames[..], &[events, tree], more].concat())
}

/// A reading of the monotonic clock and the trace's at one moment.
fn snapshot(monotonic: u64, boottime: u64) -> Vec<u8> {
    let clock = |id: u64, t: u64| bytes(1, &message(&[number(1, id), number(2, t)]));
    bytes(6, &message(&[clock(BOOTTIME, boottime), clock(MONOTONIC, monotonic)]))
}

const SAME_CLOCK: Way = Way { clock: BOOTTIME, behind: 0 };

fn found(trace: &Trace) -> TraceFrames {
    add_up(trace).frames.unwrap()
}

/// Exactly the planted frames are found, each with its wait.
fn check(trace: &Trace) {
    let frames = found(trace);
    assert_eq!((frames.frames, frames.late, frames.by_storage), (9, 7, 4), "{frames:#?}");
    let seen: Vec<_> = frames
        .listed
        .iter()
        .map(|late| {
            let by = late.frame.late_by_ns.map(|by| by.0 / MS);
            (
                by,
                late.waited_ns.0 / MS,
                late.wait.took_ns.0 / MS,
                late.wait.what,
                late.frame.dropped,
            )
        })
        .collect();
    let sync = TraceStalled::Sync;
    assert_eq!(
        seen,
        [
            (Some(30), 40, 40, sync, false),
            (None, 300, 300, sync, false),
            (Some(20), 30, 30, TraceStalled::BlockRead, false),
            (Some(30), 36, 20, sync, true),
        ]
    );
    let of = |at: usize| &frames.listed[at];
    assert!(frames.listed.iter().all(|late| late.process == "com.example.app"));
    assert_eq!(of(0).wait.file.as_deref(), Some("inode 7 of 8,16"));
    assert_eq!(of(0).wait.task.as_deref(), Some("its main thread"));
    assert_eq!(of(2).wait.task.as_deref(), Some("RenderThread"));
    assert_eq!(of(3).wait.file.as_deref(), Some("inode 9 of 8,16"));
    assert_eq!(of(0).frame.layer.as_deref(), Some("TX - com.example.app/Main#0"));
}

#[test]
fn a_frame_is_late_by_storage_if_it_would_have_been_in_time_without_the_waits_of_who_draws() {
    check(&imported(&composed(SAME_CLOCK, &[], &[])));
}

#[test]
fn frames_of_the_monotonic_clock_are_placed_by_the_snapshots_wherever_these_are() {
    let way = Way { clock: MONOTONIC, behind: SLEPT };
    let right = snapshot(BEGIN - SLEPT, BEGIN);
    check(&imported(&composed(way, std::slice::from_ref(&right), &[])));
    // The phone sleeps once more after what was planted: the reading before counts.
    let later = snapshot(BEGIN - SLEPT + 5_000 * MS, BEGIN + 9_000_000 * MS);
    check(&imported(&composed(way, &[later, right], &[])));
    // A clock that a sequence of packets names for all of them.
    let default = message(&[number(10, 5), bytes(59, &number(58, MONOTONIC))]);
    let first = trace_of(&[default, snapshot(BEGIN - SLEPT, BEGIN)]);
    let after_first = |clock: u64| {
        imported(&[&first[..], &composed(Way { clock, behind: SLEPT }, &[], &[])].concat())
    };
    check(&after_first(OF_SEQUENCE));
    assert_eq!(found(&after_first(BOOTTIME)).by_storage, 0, "of another sequence");
}

#[test]
fn without_a_way_from_one_clock_to_the_other_nothing_is_blamed_and_that_is_said() {
    let way = Way { clock: MONOTONIC, behind: SLEPT };
    for more in [vec![], vec![bytes(6, &bytes(1, &message(&[number(1, MONOTONIC), number(2, 5)])))]]
    {
        let trace = imported(&composed(way, &more, &[]));
        let frames = found(&trace);
        assert_eq!((frames.frames, frames.late, frames.by_storage), (9, 0, 0));
        assert!(trace.source.limits.iter().any(|one| one.starts_with("9 frames are of a clock")));
    }
}

#[test]
fn events_of_another_clock_of_the_kernel_are_met_by_the_readings_of_their_bundle() {
    // The kernel's local clock is 3 s behind that of the trace.
    let both = [number(5, 3), number(6, BEGIN), number(7, BEGIN + 3_000 * MS)];
    assert_eq!(found(&imported(&composed(SAME_CLOCK, &[], &both))).by_storage, 0);
    let later = Way { clock: MONOTONIC, behind: SLEPT };
    let snapshot = snapshot(BEGIN - SLEPT, BEGIN + 3_000 * MS);
    check(&imported(&composed(later, &[snapshot], &both)));
    // Without the readings the frames can't be placed.
    let unknown = imported(&composed(SAME_CLOCK, &[], &[number(5, 3)]));
    assert_eq!(found(&unknown).late, 0);
    assert!(unknown.source.limits.iter().any(|one| one.contains("frames are of a clock")));
}

#[test]
fn late_frames_survive_in_the_stored_form() {
    let trace = imported(&composed(SAME_CLOCK, &[], &[]));
    let stored = write_trace(Vec::new(), &trace).unwrap();
    assert_eq!(read_trace(&stored[..], 1000).unwrap(), trace);
    check(&read_trace(&stored[..], 1000).unwrap());
}

#[test]
fn a_trace_without_frames_says_nothing_of_them_and_a_damaged_frame_is_counted() {
    let (_, waits) = planted();
    let none = imported(&trace_of(&[packet_of(&waits)]));
    assert_eq!(add_up(&none).frames, None);
    // No time, or no cookie.
    let damaged = [
        bytes(76, &bytes(4, &number(1, 1))),
        message(&[number(8, 5), bytes(76, &bytes(5, &number(2, 1)))]),
    ];
    let trace = imported(&trace_of(&[&[packet_of(&waits)][..], &damaged].concat()));
    assert_eq!((trace.source.damaged, trace.source.frames), (2, None));
    assert!(trace.events.first().unwrap().took_ns.is_some_and(|took| took == Nanos(40 * MS)));
}

/// Writes the sample that `flashlag trace` is shown with again.
#[test]
fn the_sample_is_this_trace() {
    let way = Way { clock: MONOTONIC, behind: SLEPT };
    let trace = composed(way, &[snapshot(BEGIN - SLEPT, BEGIN)], &[]);
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/late-frames.perfetto");
    if std::env::var_os("FLASHLAG_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &trace).unwrap();
    }
    assert_eq!(std::fs::read(path).unwrap(), trace);
}
