//! From readings and probes to parts of hours and incidents. Pure: it reads no clock and no file, so
//! that a day can be made up in a moment.

use flashlag_explain::infer::was_idle;
use flashlag_schema::history::{Before, Incident, WaitKind};
use flashlag_schema::{CauseBasis, StallCause};
use flashlag_units::Nanos;

use crate::cause::{Causes, Seen, is_storage};
use crate::glance::{Between, Glance, Recent};
use crate::incidents::{Incidents, Joined};
use crate::part::Part;
use crate::waits::{Finder, Usual, Wait, is_unusual};

/// What an incident shows besides the counters: asked for when one begins.
pub trait Scenery {
    /// Those who wait for storage right now, each with what is known of its call.
    fn waiting(&mut self) -> Vec<String>;
    /// What happened before a wait.
    fn before(&mut self, wait: &Wait, recent: &Recent) -> Before;
    /// The files by which control groups limit I/O to the disk.
    fn limits(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// A device that collects is quick in between. After this number of waits in a row, with no quick write among them, it
/// is slow for another reason.
const IN_A_ROW: u32 = 3;
/// How long before a wait others have to be quiet, and the device not slow throughout, if its own work is to be the cause.
const LATELY: Nanos = Nanos::from_secs(60);

/// Why a wait was.
struct Caused {
    cause: StallCause,
    basis: CauseBasis,
    /// Files of limits that may have held it back.
    limits: Vec<String>,
}

/// Makes incidents and parts of hours.
#[derive(Debug)]
pub struct Recorder {
    over: Nanos,
    recent: Recent,
    finder: Finder,
    usual: Usual,
    causes: Causes,
    incidents: Incidents,
    /// What was seen since the last part was taken.
    pub part: Part,
    /// Probes since the last reading: a stop is known only after the next one.
    probes: Vec<Wait>,
    /// Since when a probe is on its way.
    probing: Option<Nanos>,
    /// Who waited while the disk was frozen, or a probe was on its way for too long.
    waiting: Vec<String>,
    /// When it is asked again who waits, and how long after the last time that is.
    ask: (Nanos, Nanos),
    hour: u64,
    /// Waits since the last quick write, and when the last of them ended.
    in_a_row: u32,
    waited_until: Nanos,
    /// Until when the device was slow for every write, the last time that it was.
    slow_until: Option<Nanos>,
}

impl Recorder {
    /// A recorder of waits longer than this.
    pub fn new(over: Nanos, is_flash: bool) -> Recorder {
        Recorder {
            over,
            recent: Recent::default(),
            finder: Finder::new(over),
            usual: Usual::default(),
            causes: Causes::new(is_flash),
            incidents: Incidents::default(),
            part: Part::default(),
            probes: Vec::new(),
            probing: None,
            waiting: Vec::new(),
            ask: (Nanos::ZERO, Nanos::ZERO),
            hour: 0,
            in_a_row: 0,
            waited_until: Nanos::ZERO,
            slow_until: None,
        }
    }

    /// Adds a probe that has ended.
    pub fn probe(&mut self, wait: Wait) {
        self.probes.push(wait);
    }

    /// Tells since when a probe is on its way, before the next reading: who else waits is known only while it does.
    pub fn probing(&mut self, since: Option<Nanos>) {
        self.probing = since;
    }

    /// Whether something waits right now: no time to write.
    pub fn is_frozen(&self) -> bool {
        !self.waiting.is_empty() || self.recent.last().is_some_and(|last| self.waits(last.look.at))
    }

    /// Whether the disk completes nothing, or a probe does not return.
    fn waits(&self, now: Nanos) -> bool {
        let is_long = |since: Nanos| now.saturating_since(since) >= self.over;
        self.finder.is_frozen(now) || self.probing.is_some_and(is_long)
    }

    /// Adds a reading at `wall_ms`, milliseconds since 1970. Returns incidents to be written.
    pub fn look(
        &mut self,
        glance: Glance,
        wall_ms: u64,
        scenery: &mut dyn Scenery,
    ) -> Vec<Incident> {
        let mut due = Vec::new();
        let Some(before) = self.recent.push(glance) else { return due };
        let now_s = wall_ms / 1000;
        if now_s / 3600 != self.hour {
            self.hour = now_s / 3600;
            self.usual.next_hour();
            self.causes.next_hour();
        }
        let change = glance.look.since(&before.look);
        if glance.is_after_stop {
            self.part.stopped(now_s, change.window_ns);
        } else {
            let moved = change.disk_bytes.unwrap_or_default();
            let own = change.own_bytes.unwrap_or_default();
            self.part.watched(now_s, change.window_ns, moved, own);
        }
        let mut waits: Vec<Wait> = Vec::new();
        waits.extend(self.finder.look(&before, &glance, &self.usual));
        self.count(&before, &glance);
        for probe in std::mem::take(&mut self.probes) {
            waits.extend(self.judged(probe));
        }
        self.ask_who_waits(glance.look.at, scenery);
        let caused = waits.into_iter().map(|wait| (wait, self.cause_of(&wait, scenery)));
        let mut storage: Vec<(Wait, Caused)> = caused.collect();
        storage.retain(|(wait, caused)| is_storage(caused.cause) && !self.is_excused(wait));
        if storage.is_empty() {
            self.causes.calm(&change);
        }
        for (wait, caused) in storage {
            let Caused { cause, basis, limits } = self.unless_throughout(&wait, caused);
            self.part.longest(wait.length);
            let start_ms =
                wall_ms.saturating_sub(glance.look.at.saturating_since(wait.from).0 / 1_000_000);
            let waiting = std::mem::take(&mut self.waiting);
            let described = || Incident {
                start_ms,
                cause_basis: basis,
                waiting,
                before: Before { limits, ..scenery.before(&wait, &self.recent) },
                ..Incident::default()
            };
            let (joined, ended) = self.incidents.add(&wait, cause, described);
            due.extend(ended);
            if joined == Joined::Began {
                self.part.incident();
            }
        }
        if let Some(speed) = self.recent.speed() {
            self.causes.speed(speed);
        }
        if !self.waits(glance.look.at) {
            self.waiting.clear();
            self.ask = (Nanos::ZERO, Nanos::ZERO);
            due.extend(self.incidents.due(glance.look.at));
        }
        due
    }

    /// Asks who waits, until somebody does. The pause doubles: every process is looked at, and a wait may last for days.
    fn ask_who_waits(&mut self, now: Nanos, scenery: &mut dyn Scenery) {
        let (due, pause) = self.ask;
        if !self.waits(now) || !self.waiting.is_empty() || now < due {
            return;
        }
        self.waiting = scenery.waiting();
        let pause = Nanos(pause.0.saturating_mul(2)).max(self.over);
        self.ask = (now.plus(pause), pause);
    }

    /// The cause of a wait, and the limits that may be it.
    fn cause_of(&mut self, wait: &Wait, scenery: &mut dyn Scenery) -> Caused {
        let around = self.recent.around(wait.from, wait.to);
        let is_idle = around.is_some_and(|around| was_idle(&around, wait.length));
        let limits = if is_idle { scenery.limits() } else { Vec::new() };
        let minute = wait.from.saturating_since(LATELY);
        let lately = self.recent.during(minute, wait.from).unwrap_or_default();
        let seen = Seen { around, lately, is_limited: !limits.is_empty() };
        let (cause, basis) = self.causes.of(wait, seen);
        Caused { cause, basis, limits }
    }

    /// The cause of a wait for storage; unknown instead of a collection if the device is slow throughout, or just was.
    fn unless_throughout(&mut self, wait: &Wait, caused: Caused) -> Caused {
        // What overlaps is one event seen twice.
        self.in_a_row = self.in_a_row.saturating_add(u32::from(wait.from >= self.waited_until));
        self.waited_until = self.waited_until.max(wait.to);
        if caused.cause != StallCause::GarbageCollection {
            return caused;
        }
        let is_lately = |until| wait.from.saturating_since(until) < LATELY;
        if self.in_a_row >= IN_A_ROW {
            self.slow_until = Some(wait.to);
        } else if !self.slow_until.is_some_and(is_lately) {
            return caused;
        }
        self.incidents.withdraw(caused.cause);
        Caused { cause: StallCause::Storage, basis: CauseBasis::Measured, ..caused }
    }

    /// The incident that was going on at the end.
    pub fn end(&mut self) -> Option<Incident> {
        self.incidents.end()
    }

    /// Adds what completed to the histograms.
    fn count(&mut self, before: &Glance, glance: &Glance) {
        if glance.is_after_stop {
            return;
        }
        let Some(between) = Between::of(&before.requests, &glance.requests) else { return };
        for (kind, seen) in between.kinds() {
            if let Some(mean) = seen.mean() {
                self.part.mean(kind, mean, seen.count);
                let usual = self.usual.usual(kind);
                let is_slow = usual.is_some() && is_unusual(mean, usual);
                if kind == WaitKind::Write && mean <= self.over && !is_slow {
                    self.in_a_row = 0;
                }
                self.usual.record(kind, mean, seen.count);
            }
        }
    }

    /// Counts a probe that a stop did not touch; returns it if it may be an incident.
    fn judged(&mut self, probe: Wait) -> Option<Wait> {
        if self.recent.has_stop(probe.from, probe.to) {
            return None;
        }
        let usual = self.usual.usual(probe.kind);
        self.part.probe(probe.length);
        self.usual.record(probe.kind, probe.length, 1);
        if probe.length > self.over && is_unusual(probe.length, usual) {
            return Some(Wait { usual, ..probe });
        }
        self.in_a_row = 0;
        None
    }

    /// Whether a stop of this process, a suspended machine or a hypervisor accounts for a wait.
    fn is_excused(&self, wait: &Wait) -> bool {
        let stolen = self.recent.stolen(wait.from, wait.to).unwrap_or_default();
        self.recent.has_stop(wait.from, wait.to) || stolen.0 > wait.length.0 / 2
    }
}
