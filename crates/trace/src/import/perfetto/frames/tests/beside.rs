//! The same frames and waits in two files, which one clock leads together.

use flashlag_schema::ClockReading;
use flashlag_schema::trace::Trace;
use flashlag_units::Nanos;

use super::*;
use crate::{BesideError, with_frames};

const REALTIME: u64 = 1;
/// The wall clock at `BEGIN`.
const WALL: u64 = 1_700_000_000_000 * MS;

/// What Perfetto records with the frames' data source alone.
fn drawn(way: Way, more: &[Vec<u8>]) -> Trace {
    let (frames, _) = planted();
    let frames = frames.iter().zip(1..).flat_map(|(frame, token)| packets(way, token, frame));
    let frames: Vec<Vec<u8>> = frames.collect();
    imported(&trace_of(&[&frames[..], more].concat()))
}

/// What a recording of storage has of the same time, with readings of these clocks.
fn recorded(clocks: Option<ClockReading>) -> Trace {
    let whole = imported(&composed(SAME_CLOCK, &[], &[]));
    let mut recording = Trace { late_frames: Vec::new(), ..whole };
    recording.source.frames = None;
    recording.source.clocks = clocks;
    let stored = write_trace(Vec::new(), &recording).unwrap();
    read_trace(&stored[..], 1000).unwrap()
}

/// Readings at the first wait, which is 2 ms after the first frame's beginning.
fn boot() -> ClockReading {
    ClockReading { boot_ns: Some(Nanos(BEGIN + 2 * MS)), ..ClockReading::default() }
}

fn wall(later: u64) -> ClockReading {
    ClockReading { wall_ns: Some(Nanos(WALL + 2 * MS + later)), ..ClockReading::default() }
}

fn with_wall() -> Vec<u8> {
    let clock = |id: u64, t: u64| bytes(1, &message(&[number(1, id), number(2, t)]));
    bytes(6, &message(&[clock(BOOTTIME, BEGIN), clock(REALTIME, WALL)]))
}

#[test]
fn frames_of_another_file_are_explained_as_those_of_one() {
    let monotonic = Way { clock: MONOTONIC, behind: SLEPT };
    let slept = snapshot(BEGIN - SLEPT, BEGIN);
    for (way, more) in [(SAME_CLOCK, vec![]), (monotonic, vec![slept.clone()])] {
        check(&with_frames(recorded(Some(boot())), &drawn(way, &more)).unwrap());
    }
    // A recording by the monotonic clock alone.
    let reading =
        ClockReading { monotonic_ns: Some(Nanos(BEGIN - SLEPT + 2 * MS)), ..Default::default() };
    check(&with_frames(recorded(Some(reading)), &drawn(SAME_CLOCK, &[slept])).unwrap());
}

#[test]
fn the_wall_clock_leads_together_what_no_other_does_and_that_is_said() {
    let together = with_frames(recorded(Some(wall(0))), &drawn(SAME_CLOCK, &[with_wall()]));
    let together = together.unwrap();
    check(&together);
    assert!(together.source.limits.iter().any(|limit| limit.contains("only the wall clock")));
}

#[test]
fn a_frame_is_met_by_its_own_time_only() {
    // The recording began 60 ms later than it says: its waits come after the frames.
    let mut late = boot();
    late.boot_ns = Some(Nanos(BEGIN + 62 * MS));
    let frames = found(&with_frames(recorded(Some(late)), &drawn(SAME_CLOCK, &[])).unwrap());
    assert_eq!(frames.late, 7);
    assert!(frames.by_storage < 4, "{frames:#?}");
}

#[test]
fn what_was_not_made_together_is_refused_with_the_reason() {
    let refused = |recording: Trace, drawn: &Trace| with_frames(recording, drawn).unwrap_err();
    let ui = drawn(SAME_CLOCK, &[with_wall()]);
    assert_eq!(refused(recorded(None), &ui), BesideError::NoClock);
    assert_eq!(refused(recorded(Some(boot())), &recorded(Some(boot()))), BesideError::NoFrames);
    let empty = drawn(SAME_CLOCK, &[]);
    assert_eq!(refused(empty, &ui), BesideError::NoEvents);
    let other_boot = ClockReading { boot_ns: boot().boot_ns, ..wall(5_000 * MS) };
    assert_eq!(refused(recorded(Some(other_boot)), &ui), BesideError::AnotherBoot);
    let hours = ClockReading { boot_ns: Some(Nanos(BEGIN + 7_200_000 * MS)), ..boot() };
    let BesideError::Apart { by } = refused(recorded(Some(hours)), &ui) else { panic!() };
    assert_eq!(by.0 / (1000 * MS), 7198);
}

#[test]
fn a_file_of_frames_alone_is_a_trace_that_lasts_from_the_first_to_the_last() {
    let ui = drawn(SAME_CLOCK, &[]);
    assert_eq!((ui.events.len(), ui.source.frames), (0, Some(9)));
    assert_eq!(ui.source.lasted_ns, Nanos(1_900 * MS));
    assert_eq!(ui.source.clocks.unwrap().boot_ns, Some(Nanos(BEGIN)));
}
