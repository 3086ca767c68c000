//! Days of a made-up machine: planted waits are found, with their causes, and nothing else is.

use flashlag_inspect::{Completed, Requests};
use flashlag_schema::history::{Before, Incident, WaitKind};
use flashlag_schema::{Look, StallCause, Surroundings};
use flashlag_stats::WaitSplit;
use flashlag_units::{Bytes, Nanos};
use flashlag_watch::glance::{Glance, Recent};
use flashlag_watch::recorder::{Recorder, Scenery};
use flashlag_watch::waits::Wait;

use crate::made::START_S;

const LOOK: u64 = 250;
const MS: fn(u64) -> Nanos = Nanos::from_millis;

/// Nobody waits; these files limit I/O.
struct Nobody<'a>(&'a [String]);

impl Scenery for Nobody<'_> {
    fn waiting(&mut self) -> Vec<String> {
        vec!["app".to_owned()]
    }

    fn before(&mut self, wait: &Wait, recent: &Recent) -> Before {
        Before { seconds: recent.seconds(wait.to, 30), ..Before::default() }
    }

    fn limits(&mut self) -> Vec<String> {
        self.0.to_vec()
    }
}

/// What happens at a time, in milliseconds from its start.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Planted {
    /// The disk completes nothing for these milliseconds.
    Freeze(u64),
    /// Another program writes for these milliseconds, as fast as the disk can.
    Neighbour(u64),
    /// flashlag is stopped, or its machine suspended, for these milliseconds.
    Stop(u64),
    /// A hypervisor takes the CPU for these milliseconds.
    Steal(u64),
    /// A probe waits for a CPU for these milliseconds.
    BusyCpu(u64),
    /// The wall clock is set by these milliseconds.
    Clock(i64),
}

/// A machine that is idle but for a probe each ten seconds and a small write each second.
struct Made {
    recorder: Recorder,
    now: u64,
    wall: i64,
    counts: Surroundings,
    requests: Requests,
    stolen: u64,
    limits: Vec<String>,
    incidents: Vec<Incident>,
}

impl Made {
    fn new() -> Made {
        let zero = Some(0);
        Made {
            recorder: Recorder::new(MS(250), true),
            now: 1_000_000,
            wall: START_S as i64 * 1000,
            counts: Surroundings {
                own_bytes: Some(Bytes(0)),
                disk_bytes: Some(Bytes(0)),
                disk_requests: zero,
                discards: zero,
                discard_ns: Some(Nanos::ZERO),
                flush_ns: Some(Nanos::ZERO),
                commits: zero,
                io_pressure_ns: Some(Nanos::ZERO),
                ..Surroundings::default()
            },
            requests: Requests::default(),
            stolen: 0,
            limits: Vec::new(),
            incidents: Vec::new(),
        }
    }

    /// A machine whose disk was seen busy once, so that what it can do is known, and quiet for ten minutes since.
    fn known() -> Made {
        let mut made = Made::new();
        made.plant(Planted::Neighbour(2_000));
        for _ in 0..60 {
            made.quiet();
        }
        made
    }

    fn look(&mut self, after: u64, is_after_stop: bool) {
        self.now += after;
        self.wall += after as i64;
        let glance = Glance {
            look: Look { at: MS(self.now), counts: self.counts },
            requests: self.requests,
            is_after_stop,
            stolen: Some(MS(self.stolen)),
        };
        let due = self.recorder.look(glance, self.wall.max(0) as u64, &mut Nobody(&self.limits));
        for incident in due {
            self.incidents.retain(|known| known.start_ms != incident.start_ms);
            self.incidents.push(incident);
        }
    }

    fn moves(&mut self, bytes: u64, own: u64) {
        let add = |to: &mut Option<Bytes>, bytes: u64| *to = to.map(|sum| sum.plus(Bytes(bytes)));
        add(&mut self.counts.disk_bytes, bytes);
        add(&mut self.counts.own_bytes, own);
    }

    fn completes(&mut self, writes: u64, each: Nanos) {
        let sum = self.requests.writes.waited.0 + writes * each.0;
        self.requests.writes =
            Completed { count: self.requests.writes.count + writes, waited: Nanos(sum) };
    }

    fn probe(&mut self, length: u64, split: WaitSplit) {
        let (from, to) = (MS(self.now - length), MS(self.now));
        let (kind, split) = (WaitKind::Probe, Some(split));
        self.recorder.probe(Wait { from, to, length: MS(length), kind, split, usual: None });
    }

    fn blocked(length: u64) -> WaitSplit {
        WaitSplit { blocked: MS(length), ..WaitSplit::default() }
    }

    /// Ten seconds of a quiet machine.
    fn quiet(&mut self) {
        for look in 0..40 {
            if look % 4 == 0 {
                self.moves(8192, 0);
                self.completes(2, MS(2));
            }
            self.look(LOOK, false);
        }
        self.moves(4096, 4096);
        self.completes(1, MS(2));
        self.probe(2, Made::blocked(2));
    }

    fn plant(&mut self, planted: Planted) {
        match planted {
            Planted::Freeze(length) => self.freeze(length),
            Planted::Neighbour(length) => self.neighbour(length),
            Planted::Stop(length) => {
                // A probe was on its way.
                self.look(length, true);
                self.probe(length, Made::blocked(length));
            }
            Planted::Steal(length) => {
                self.stolen += length;
                for _ in 0..length / LOOK {
                    self.look(LOOK, false);
                }
                self.probe(length, Made::blocked(length));
            }
            Planted::BusyCpu(length) => {
                for _ in 0..length / LOOK {
                    self.look(LOOK, false);
                }
                self.probe(length, WaitSplit { runnable: MS(length), ..WaitSplit::default() });
            }
            Planted::Clock(by) => self.wall += by,
        }
    }

    fn freeze(&mut self, length: u64) {
        self.moves(4096, 4096);
        self.requests.in_flight = 2;
        for _ in 0..length / LOOK {
            let pressed = self.counts.io_pressure_ns.unwrap().plus(MS(LOOK));
            self.counts.io_pressure_ns = Some(pressed);
            self.look(LOOK, false);
        }
        self.requests.in_flight = 0;
        self.completes(2, MS(length));
        self.probe(length, Made::blocked(length));
    }

    fn neighbour(&mut self, length: u64) {
        for _ in 0..length / LOOK {
            // 20 MB a second, which is all that this disk can.
            self.moves(20_000 * LOOK, 0);
            self.completes(20, MS(40));
            self.requests.in_flight = 30;
            self.look(LOOK, false);
        }
        self.requests.in_flight = 0;
        self.moves(4096, 4096);
        self.probe(length, Made::blocked(length));
    }

    /// What was found, after the time that an incident takes to be over.
    fn ended(mut self) -> Vec<Incident> {
        for _ in 0..20 {
            self.quiet();
        }
        self.incidents.extend(self.recorder.end());
        self.incidents.sort_by_key(|incident| incident.start_ms);
        self.incidents
    }
}

#[test]
fn planted_waits_are_found_with_their_causes_and_nothing_else_is() {
    let plan = [
        // What the disk can do must have been seen before anything is called slow.
        Planted::Neighbour(2_000),
        Planted::Stop(5_000),
        Planted::Freeze(1500),
        Planted::Steal(3_000),
        Planted::Clock(86_400_000),
        Planted::BusyCpu(1_000),
        Planted::Freeze(7_000),
        Planted::Stop(400),
        Planted::Clock(-3_600_000),
        Planted::Neighbour(4_000),
    ];
    let mut made = Made::new();
    let mut expected = Vec::new();
    for _ in 0..60 {
        made.quiet();
    }
    for round in 0..5 {
        for planted in plan {
            made.plant(planted);
            match planted {
                Planted::Freeze(length) => expected.push((length, StallCause::GarbageCollection)),
                Planted::Neighbour(length) => expected.push((length, StallCause::OtherIo)),
                _ => {}
            }
            for _ in 0..60 + round {
                made.quiet();
            }
        }
    }
    let found = made.ended();
    // The wall clock was set back and forth: the order is that of lengths.
    let mut seen: Vec<(u64, StallCause)> =
        found.iter().map(|it| (it.longest_ns.0 / 1_000_000, it.cause)).collect();
    seen.sort_by_key(|(length, _)| *length);
    expected.sort_by_key(|(length, _)| *length);
    assert_eq!(seen, expected);
}

#[test]
fn waits_of_one_cause_in_a_row_are_one_incident() {
    let mut made = Made::new();
    for _ in 0..60 {
        made.quiet();
    }
    for _ in 0..3 {
        made.plant(Planted::Freeze(1_000));
        made.quiet();
    }
    let found = made.ended();
    let [one] = found.as_slice() else { panic!("{found:#?}") };
    assert!(one.waits >= 3, "{one:#?}");
    assert_eq!(one.before.seconds.len(), 30);
    assert!(one.before.seconds.iter().any(|second| second.bytes.0 > 0), "{one:#?}");
}

#[test]
fn a_device_that_is_slow_for_every_write_of_a_while_does_not_collect() {
    for (in_a_row, cause) in [(2, StallCause::GarbageCollection), (8, StallCause::Storage)] {
        let mut made = Made::known();
        for _ in 0..in_a_row {
            made.plant(Planted::Freeze(1_000));
        }
        let found = made.ended();
        let [_, slow] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(slow.cause, cause, "{slow:#?}");
        assert_eq!(slow.cause_basis.is_measured(), cause == StallCause::Storage, "{slow:#?}");
        assert!(slow.lasted_ns >= MS(in_a_row * 1_000), "{slow:#?}");
    }
}

#[test]
fn what_waits_at_the_end_of_a_slow_time_is_no_collection_and_what_waits_later_is() {
    let mut made = Made::known();
    for _ in 0..8 {
        made.plant(Planted::Freeze(1_000));
    }
    made.quiet();
    made.plant(Planted::Freeze(1_000));
    for _ in 0..60 {
        made.quiet();
    }
    made.plant(Planted::Freeze(1_000));
    let causes: Vec<StallCause> = made.ended().iter().map(|incident| incident.cause).collect();
    let [_, slow, later] = causes.as_slice() else { panic!("{causes:?}") };
    assert_eq!([slow, later], [&StallCause::Storage, &StallCause::GarbageCollection]);
}

#[test]
fn waits_for_a_cpu_do_not_make_a_device_slow_throughout() {
    let mut made = Made::known();
    for planted in [Planted::BusyCpu(1_000), Planted::Steal(1_000)] {
        for _ in 0..4 {
            made.plant(planted);
        }
    }
    made.plant(Planted::Freeze(1_000));
    let found = made.ended();
    let [_, slow] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!(slow.cause, StallCause::GarbageCollection, "{slow:#?}");
}

/// Somebody waits after this number of questions.
struct LaterOne {
    asked: u64,
    after: u64,
}

impl Scenery for LaterOne {
    fn waiting(&mut self) -> Vec<String> {
        self.asked += 1;
        if self.asked > self.after { vec!["app".to_owned()] } else { Vec::new() }
    }

    fn before(&mut self, _: &Wait, _: &Recent) -> Before {
        Before::default()
    }
}

#[test]
fn a_probe_that_waits_alone_for_hours_asks_a_few_times_who_else_does() {
    // The pause doubles from what a long wait is, a quarter of a second.
    for (after, asked) in [(0, 1), (3, 4), (u64::MAX, 16)] {
        let mut recorder = Recorder::new(MS(250), true);
        let mut scenery = LaterOne { asked: 0, after };
        let mut look = |at: u64, since: Option<u64>| {
            recorder.probing(since.map(MS));
            let glance = Glance {
                look: Look { at: MS(at), counts: Surroundings::default() },
                requests: Requests::default(),
                is_after_stop: false,
                stolen: None,
            };
            recorder.look(glance, START_S * 1000 + at, &mut scenery);
        };
        let hours = 3 * 3600 * 1000;
        for at in (LOOK..=hours).step_by(LOOK as usize) {
            look(at, Some(LOOK));
        }
        look(hours + LOOK, None);
        // The next wait asks at once.
        look(hours + 2 * LOOK, Some(hours + LOOK));
        assert_eq!(scenery.asked, asked + 1, "{after}");
    }
}

#[test]
fn a_limit_of_a_control_group_is_named_where_the_disk_had_no_request() {
    let mut made = Made::new();
    made.limits = vec!["/sys/fs/cgroup/backup.slice/io.max".to_owned()];
    made.counts.disk_busy_ns = Some(Nanos::ZERO);
    for _ in 0..60 {
        made.quiet();
    }
    for _ in 0..8 {
        made.look(LOOK, false);
    }
    made.moves(4096, 4096);
    made.probe(2_000, Made::blocked(2_000));
    let limits = made.limits.clone();
    let found = made.ended();
    let [held] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((held.cause, &held.before.limits), (StallCause::GroupLimit, &limits));
}

#[test]
fn a_wait_that_is_usual_is_no_incident() {
    let mut made = Made::new();
    for _ in 0..200 {
        made.now += 9_000;
        made.wall += 9_000;
        made.plant(Planted::Steal(0));
        made.probe(400, Made::blocked(400));
        made.look(LOOK, false);
    }
    let known = made.incidents.len();
    for _ in 0..100 {
        made.now += 9_000;
        made.wall += 9_000;
        made.probe(400, Made::blocked(400));
        made.look(LOOK, false);
    }
    assert!(made.incidents.len() <= known + 1, "{}", made.incidents.len());
}
