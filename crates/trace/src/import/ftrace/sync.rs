//! The marks by which atrace says what other clocks read at a time of the trace's own.

use super::super::making::ClocksAtZero;
use super::super::text::seconds;
use super::head::Head;

/// A millisecond: the unit of `realtime_ts`.
const MS: i128 = 1_000_000;
/// Only the boot-time clock is ahead of the monotonic one, by the time in which the machine slept.
const SLEPT_AT_LEAST: i128 = 1_000 * MS;

/// Takes `tracing_mark_write: trace_event_clock_sync: parent_ts=5712.123` (the monotonic clock) and
/// `realtime_ts=1448000000123`, as `writeClockSyncMarker` of `atrace.cpp` writes them; the first of each.
pub(super) fn marker(head: &Head<'_>, clocks: &mut ClocksAtZero) {
    let Some((_, mark)) = head.event.split_once("trace_event_clock_sync: ") else { return };
    let t = i128::from(head.t.0);
    if let Some(wall) = mark.strip_prefix("realtime_ts=")
        && let Ok(wall) = wall.trim().parse::<u64>()
    {
        clocks.wall.get_or_insert(i128::from(wall) * MS - t);
    }
    if let Some(monotonic) = mark.strip_prefix("parent_ts=")
        && let Some(monotonic) = seconds(monotonic.trim())
    {
        // It is written as a `float`, of 24 bits: after a day exact to 8 ms.
        let exact_to = i128::from(monotonic.0 >> 23) + MS;
        let ahead = t - i128::from(monotonic.0);
        if ahead.abs() <= exact_to {
            clocks.monotonic.get_or_insert(0);
        } else if ahead >= SLEPT_AT_LEAST.max(exact_to) {
            clocks.boot.get_or_insert(0);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use flashlag_schema::ClockReading;
    use flashlag_units::Nanos;

    use crate::import;

    /// A trace of one fsync at 1000 s of its clock, with a mark 2 s before.
    fn clocks(marks: &str) -> Option<ClockReading> {
        let mark =
            |text: &str| format!("atrace-9 (9) [000] ..1 998.000000: tracing_mark_write: {text}\n");
        let marks: String = marks.lines().map(mark).collect();
        let sync = "app-20 (20) [001] ..1 1000.000000: ext4_sync_file_enter: dev 8,16 ino 7 parent 2 datasync 1 \n\
                    app-20 (20) [001] ..1 1000.040000: ext4_sync_file_exit: dev 8,16 ino 7 ret 0 \n";
        import(format!("{marks}{sync}").as_bytes(), None).unwrap().trace.source.clocks
    }

    #[test]
    fn a_mark_of_atrace_tells_which_clock_the_trace_is_of() {
        let none = ClockReading::default();
        let second = |seconds| Some(Nanos::from_secs(seconds));
        assert_eq!(clocks(""), None);
        let monotonic = ClockReading { monotonic_ns: second(1000), ..none };
        assert_eq!(clocks("trace_event_clock_sync: parent_ts=998.000061"), Some(monotonic));
        // The machine slept for ten minutes before: the trace's clock counts that.
        let boot = ClockReading { boot_ns: second(1000), ..none };
        assert_eq!(clocks("trace_event_clock_sync: parent_ts=398.000000"), Some(boot));
        // The kernel's own clock of each CPU, which is behind: nothing is known.
        assert_eq!(clocks("trace_event_clock_sync: parent_ts=999.5"), None);
        let wall = ClockReading { wall_ns: second(1_700_000_002), ..none };
        assert_eq!(clocks("trace_event_clock_sync: realtime_ts=1700000000000"), Some(wall));
        assert_eq!(
            clocks("trace_event_clock_sync: realtime_ts=x\ntrace_event_clock_sync: parent_ts="),
            None
        );
    }
}
