//! Frames of apps in a Perfetto trace, and the clocks that lead from them to the kernel's events.
//!
//! Messages: `frame_timeline_event.proto`, `clock_snapshot.proto`, `ftrace_event_bundle.proto` of Perfetto.
//! Where SurfaceFlinger makes them: `FrameTimeline.cpp` of Android 12 and later.

use std::collections::HashMap;

use flashlag_schema::trace::TraceFrame;
use flashlag_units::{InOrder, Nanos, count};

use super::super::making::{ClocksAtZero, Making};
use super::message::{Message, fields};

/// Field numbers of `TracePacket`.
const CLOCK_SNAPSHOT: u32 = 6;
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
const CLOCK: u32 = 58;
const DEFAULTS: u32 = 59;
const FRAME: u32 = 76;

/// `BuiltinClock`: that of the trace, and of the kernel's events unless a bundle names another.
const BOOTTIME: u64 = 6;
const MONOTONIC: u64 = 3;
const REALTIME: u64 = 1;

/// Bits of `JankType` and values of the other enumerations.
const APP_DEADLINE_MISSED: u64 = 64;
const PRESENT_LATE: u64 = 2;
const PRESENT_DROPPED: u64 = 4;
const PREDICTION_EXPIRED: u64 = 2;

/// The most frames, and the most readings of clocks, that are kept at a time.
const MOST: usize = 1_000_000;

/// A time of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    clock: u64,
    t: u64,
}

/// What begins with a cookie and ends with it.
#[derive(Clone, Debug)]
enum Begun {
    Expected { key: (u64, u64), from: Stamp },
    Actual(Actual),
}

/// The actual time of a frame, and how it went.
#[derive(Clone, Debug)]
struct Actual {
    /// The process and the token, which the expected time of the frame has, too.
    key: (u64, u64),
    from: Stamp,
    to: Stamp,
    layer: Option<String>,
    late: bool,
    dropped: bool,
    expired: bool,
}

/// Whether the kernel's events are of another clock than the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Events {
    #[default]
    OfTheTrace,
    /// That much must be taken from a time of the trace.
    Behind(i128),
    Unknown,
}

/// The clock of a bundle's events, with a reading beside the trace's.
#[derive(Debug, Default)]
pub(super) struct EventClock {
    is_other: bool,
    event: Option<u64>,
    trace: Option<u64>,
}

impl EventClock {
    /// Takes a number among the fields of an `FtraceEventBundle`.
    pub(super) fn field(&mut self, number: u32, value: u64) {
        match number {
            5 => self.is_other |= value != 0,
            6 => _ = self.event.get_or_insert(value),
            7 => _ = self.trace.get_or_insert(value),
            _ => {}
        }
    }
}

/// Collects the frames of a trace.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The clock of each sequence of packets that names none of its own.
    clocks: HashMap<u64, u64>,
    /// Readings of clocks at one moment each.
    snapshots: Vec<Vec<Stamp>>,
    begun: HashMap<u64, Begun>,
    expected: HashMap<(u64, u64), (Stamp, Stamp)>,
    frames: Vec<Actual>,
    events: Events,
    left_out: u64,
}

impl Frames {
    /// Takes what a packet has of frames and clocks; `None` if that is damaged.
    pub(super) fn packet(&mut self, packet: &[u8]) -> Option<()> {
        // Most packets are bundles of events, and large: only the others are taken apart again.
        let wanted = |number| matches!(number, CLOCK_SNAPSHOT | DEFAULTS | FRAME);
        let mut all = fields(packet);
        if !all.any(|field| field.is_some_and(|(number, _)| wanted(number))) {
            return Some(());
        }
        let packet = Message::of(packet)?;
        let sequence = packet.number(SEQUENCE).unwrap_or(0);
        for defaults in packet.bytes(DEFAULTS) {
            if let Some(clock) = Message::of(defaults)?.number(CLOCK)
                && self.clocks.len() < MOST
            {
                self.clocks.insert(sequence, clock);
            }
        }
        for snapshot in packet.bytes(CLOCK_SNAPSHOT) {
            self.snapshot(snapshot)?;
        }
        let default = self.clocks.get(&sequence).copied().unwrap_or(BOOTTIME);
        let clock = packet.number(CLOCK).unwrap_or(default);
        for event in packet.bytes(FRAME) {
            self.event(Stamp { clock, t: packet.number(TIMESTAMP)? }, &Message::of(event)?)?;
        }
        Some(())
    }

    fn snapshot(&mut self, snapshot: &[u8]) -> Option<()> {
        let mut readings = Vec::new();
        for clock in Message::of(snapshot)?.bytes(1) {
            let clock = Message::of(clock)?;
            if let (Some(id), Some(t)) = (clock.number(1), clock.number(2)) {
                // Builtin clocks count nanoseconds; a unit is of a producer's own clock.
                readings.push(Stamp { clock: id, t });
            }
        }
        if self.snapshots.len() < MOST {
            self.snapshots.push(readings);
        }
        Some(())
    }

    /// `FrameTimelineEvent`: the beginning or the end of an expected or actual time. Those of the
    /// display, in fields 1 and 2, are of no app.
    fn event(&mut self, at: Stamp, event: &Message<'_>) -> Option<()> {
        let beginning = |of: &Message<'_>| {
            Some((of.number(1)?, (of.number(4).unwrap_or(0), of.number(2).unwrap_or(0))))
        };
        for expected in event.bytes(3) {
            let (cookie, key) = beginning(&Message::of(expected)?)?;
            self.begin(cookie, Begun::Expected { key, from: at });
        }
        for actual in event.bytes(4) {
            let actual = Message::of(actual)?;
            let (cookie, key) = beginning(&actual)?;
            let number = |field: u32| actual.number(field).unwrap_or(0);
            let dropped = number(6) == PRESENT_DROPPED;
            let expired = number(10) == PREDICTION_EXPIRED;
            let missed = number(9) & APP_DEADLINE_MISSED != 0;
            let late = missed || (number(6) == PRESENT_LATE && number(7) == 0);
            let frame = Actual {
                key,
                from: at,
                to: at,
                layer: actual.text(5).map(str::to_owned),
                late: late || dropped || expired,
                dropped,
                expired,
            };
            self.begin(cookie, Begun::Actual(frame));
        }
        for end in event.bytes(5) {
            let cookie = Message::of(end)?.number(1)?;
            match self.begun.remove(&cookie) {
                Some(Begun::Expected { key, from }) if self.expected.len() < MOST => {
                    self.expected.insert(key, (from, at));
                }
                Some(Begun::Actual(frame)) if self.frames.len() < MOST => {
                    self.frames.push(Actual { to: at, ..frame });
                }
                Some(_) => self.left_out += 1,
                None => {}
            }
        }
        Some(())
    }

    fn begin(&mut self, cookie: u64, begun: Begun) {
        if self.begun.len() < MOST {
            self.begun.insert(cookie, begun);
        } else {
            self.left_out += 1;
        }
    }

    /// Keeps the first clock of events that is not the trace's.
    pub(super) fn clock_of_events(&mut self, clock: &EventClock) {
        if self.events != Events::OfTheTrace || !clock.is_other {
            return;
        }
        self.events = match (clock.event, clock.trace) {
            (Some(event), Some(trace)) => Events::Behind(i128::from(trace) - i128::from(event)),
            _ => Events::Unknown,
        };
    }

    /// Adds the late frames to the trace, by their end, and what the system's clocks said.
    pub(super) fn finish(self, making: &mut Making) {
        let clocks = Clocks::of(&self.snapshots, self.events);
        making.clocks = clocks.at_zero();
        if self.frames.is_empty() {
            return;
        }
        self.frames.iter().for_each(|_| making.taken());
        making.builder.source().frames = Some(self.frames.len() as u64);
        let mut lost = 0_u64;
        let mut placed: Vec<(Nanos, Nanos, &Actual)> = Vec::new();
        for frame in &self.frames {
            match (clocks.place(frame.from), clocks.place(frame.to)) {
                (Some(from), Some(to)) => placed.push((from, to, frame)),
                _ => lost += 1,
            }
        }
        placed.order_by_key(|(from, to, _)| (*to, *from));
        let begun = placed.iter().map(|(from, ..)| *from).min();
        making.drawn = begun.zip(placed.last().map(|(_, to, _)| *to));
        let mut ended: HashMap<u64, Nanos> = HashMap::new();
        for (from, to, frame) in placed {
            let before = ended.insert(frame.key.0, to);
            if !frame.late {
                continue;
            }
            let expected = self.expected.get(&frame.key).filter(|_| !frame.expired);
            let expected =
                expected.and_then(|(from, to)| Some((clocks.place(*from)?, clocks.place(*to)?)));
            let begun = match expected {
                Some((expected, _)) => expected.min(from),
                None => before.unwrap_or_default().min(from),
            };
            let Ok(pid) = u32::try_from(frame.key.0) else { continue };
            making.builder.late_frame(TraceFrame {
                t_ns: begun,
                took_ns: to.saturating_since(begun),
                late_by_ns: expected.map(|(_, deadline)| to.saturating_since(deadline)),
                pid,
                layer: frame.layer.clone(),
                dropped: frame.dropped,
            });
        }
        if lost > 0 {
            making.limit(format!(
                "{} frames are of a clock that nothing in the trace leads from to that of the kernel's \
                 events: which waits made them late is not known.",
                count(lost)
            ));
        }
        if self.left_out > 0 {
            making.limit(format!("{} frames were left out.", count(self.left_out)));
        }
    }
}

/// Readings of clocks, by clock and time, each with how far the trace's clock is ahead.
#[derive(Debug)]
struct Clocks {
    ahead: HashMap<u64, Vec<(u64, i128)>>,
    events: Events,
}

impl Clocks {
    fn of(snapshots: &[Vec<Stamp>], events: Events) -> Clocks {
        let mut ahead: HashMap<u64, Vec<(u64, i128)>> = HashMap::new();
        for snapshot in snapshots {
            let Some(boot) = snapshot.iter().find(|stamp| stamp.clock == BOOTTIME) else {
                continue;
            };
            for Stamp { clock, t } in snapshot {
                let by = i128::from(boot.t) - i128::from(*t);
                ahead.entry(*clock).or_default().push((*t, by));
            }
        }
        ahead.values_mut().for_each(|readings| readings.order());
        Clocks { ahead, events }
    }

    /// What the system's clocks said when that of the kernel's events said 0, by the first readings.
    fn at_zero(&self) -> ClocksAtZero {
        let boot = match self.events {
            Events::OfTheTrace => 0,
            Events::Behind(by) => by,
            Events::Unknown => return ClocksAtZero::default(),
        };
        let at = |clock: u64| Some(boot - self.ahead.get(&clock)?.first()?.1);
        ClocksAtZero { boot: Some(boot), monotonic: at(MONOTONIC), wall: at(REALTIME) }
    }

    /// The time of the kernel's events, by the last reading before; `None` without one.
    fn place(&self, stamp: Stamp) -> Option<Nanos> {
        let by = match stamp.clock {
            BOOTTIME => 0,
            clock => {
                let readings = self.ahead.get(&clock)?;
                let next = readings.partition_point(|(t, _)| *t <= stamp.t);
                readings.get(next.saturating_sub(1))?.1
            }
        };
        let behind = match self.events {
            Events::OfTheTrace => 0,
            Events::Behind(by) => by,
            Events::Unknown => return None,
        };
        u64::try_from(i128::from(stamp.t) + by - behind).ok().map(Nanos)
    }
}

#[cfg(test)]
mod tests;
