//! A simulated disk that freezes and ages as planned, and the counters that a kernel keeps of it.

use flashlag_device::{
    Clock, Completion, Device, DeviceError, Geometry, Op, Request, VirtualClock,
};
use flashlag_flash::FlashDevice;
use flashlag_inspect::{Completed, Requests};
use flashlag_schema::{Look, Surroundings};
use flashlag_units::{Bytes, Nanos};

use crate::glance::Glance;
use crate::machine::PERIOD;

/// The flash, slowed down and frozen.
#[derive(Debug)]
pub(super) struct Disk {
    flash: FlashDevice,
    /// Each request takes this many times as long as in the model.
    factor: f64,
    /// No request proceeds between these.
    frozen: (Nanos, Nanos),
    /// What the model has completed, and when the disk tells.
    held: Vec<(Nanos, Completion)>,
    /// The requests in flight, by slot.
    under_way: Vec<Option<(Op, Bytes, Nanos)>>,
    pub counters: Counters,
}

impl Disk {
    /// A disk as the model says.
    pub fn new(flash: FlashDevice) -> Disk {
        let slots = flash.geometry().slots as usize;
        let now = flash.clock().now();
        Disk {
            flash,
            factor: 1.0,
            frozen: (Nanos::ZERO, Nanos::ZERO),
            held: Vec::new(),
            under_way: vec![None; slots],
            counters: Counters { at: now, next: now, ..Counters::default() },
        }
    }

    /// From now on each request takes this many times as long as in the model, at least once: what the model has
    /// not completed can't be known to end.
    pub fn slow(&mut self, factor: f64) {
        self.factor = factor.max(1.0);
    }

    /// Nothing proceeds for this time from now on.
    pub fn freeze(&mut self, time: Nanos) {
        let now = self.flash.clock().now();
        self.frozen = (now, now.plus(time));
        let late = self.held.iter_mut().filter(|(end, _)| *end > now);
        late.for_each(|(end, _)| *end = end.plus(time));
    }

    /// When what began at `from` and in the model has come to `at` has come so far here.
    fn delayed(&self, from: Nanos, at: Nanos) -> Nanos {
        let took = at.saturating_since(from).0 as f64 * self.factor;
        let end = from.plus(Nanos(took as u64));
        let (begin, until) = self.frozen;
        if from < until && end > begin {
            end.plus(until.saturating_since(from.max(begin)))
        } else {
            end
        }
    }

    /// Takes over what the model has completed.
    fn collect(&mut self) -> Result<(), DeviceError> {
        let mut completed = Vec::new();
        self.flash.reap(0, &mut completed)?;
        for mut completion in completed {
            let from = completion.started;
            completion.flush_from = completion.flush_from.map(|at| self.delayed(from, at));
            completion.ended = self.delayed(from, completion.ended);
            self.held.push((completion.ended, completion));
        }
        Ok(())
    }

    /// Hands out what has ended by now: how many requests.
    fn hand_out(&mut self, completed: &mut Vec<Completion>) -> u32 {
        let now = self.flash.clock().now();
        let mut count = 0;
        while let Some(index) = self.held.iter().position(|(end, _)| *end <= now) {
            let (end, mut completion) = self.held.swap_remove(index);
            completion.ended = end;
            self.counters.passed(now);
            let slot = self.under_way.get_mut(completion.slot as usize);
            if let Some((op, length, came)) = slot.and_then(Option::take) {
                self.counters.completed(op, length, end.saturating_since(came));
            }
            completed.push(completion);
            count += 1;
        }
        count
    }

    fn next_end(&self) -> Option<Nanos> {
        self.held.iter().map(|(end, _)| *end).min()
    }
}

impl Device for Disk {
    type Clock = VirtualClock;

    fn clock(&self) -> &VirtualClock {
        self.flash.clock()
    }

    fn geometry(&self) -> Geometry {
        self.flash.geometry()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.flash.buffer(slot)
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        let now = self.flash.clock().now();
        self.counters.passed(now);
        self.geometry().check(&request)?;
        let slot = request.slot as usize;
        if self.under_way.get(slot).is_some_and(Option::is_some) {
            return Err(DeviceError::busy(request.op.name(), "the simulated disk", request.slot));
        }
        self.flash.submit(request)?;
        if let Some(place) = self.under_way.get_mut(slot) {
            *place = Some((request.op, request.length, now));
        }
        self.counters.requests.in_flight += 1;
        Ok(())
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        let mut wanted = at_least;
        loop {
            self.collect()?;
            wanted = wanted.saturating_sub(self.hand_out(completed));
            if wanted == 0 || self.counters.requests.in_flight == 0 {
                return Ok(());
            }
            self.wait_until(Nanos::MAX);
        }
    }

    fn wait_until(&mut self, time: Nanos) {
        loop {
            let next = self.next_end().map_or(time, |end| end.min(time));
            self.flash.wait_until(next);
            // A device in virtual time fails to reap nowhere; what failed is in the completion.
            let _ = self.collect();
            let now = self.flash.clock().now();
            let is_due = self.next_end().is_some_and(|end| end <= now);
            if now >= time || is_due {
                self.counters.passed(now);
                return;
            }
        }
    }
}

/// What a kernel counts of a disk, and a look at it each [`PERIOD`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Everything until then is counted.
    at: Nanos,
    /// When the next look is due.
    next: Nanos,
    requests: Requests,
    bytes: Bytes,
    moved: u64,
    busy: Nanos,
    pressure: Nanos,
    /// How many tasks wait for the disk.
    pub waiting: u32,
    /// Bytes of flashlag's own.
    pub own: Bytes,
    /// Time that a hypervisor took.
    pub stolen: Nanos,
    /// Nobody looks before this.
    pub stopped: Nanos,
    is_after_stop: bool,
    looks: Vec<Glance>,
    /// When a discard of nobody's ends, and how long it takes.
    discard: Option<(Nanos, Nanos)>,
    /// Commits of the filesystem.
    pub commits: u64,
    /// The longest wait of a request since this was set to 0.
    pub longest: Nanos,
}

impl Counters {
    /// Time has passed until `now`. Of a time in which nothing changes there are two looks, which say the same
    /// as all others in it.
    pub fn passed(&mut self, now: Nanos) {
        while self.next <= now {
            let is_idle = self.requests.in_flight == 0 && self.waiting == 0;
            if self.next < self.stopped {
                self.next = self.next.plus(PERIOD);
                self.is_after_stop = true;
                continue;
            }
            self.count(self.next);
            self.discarded(self.next);
            let look = self.look(self.next);
            self.looks.push(look);
            self.next = self.next.plus(PERIOD);
            if is_idle && self.next < now {
                let more = now.since(self.next).0 / PERIOD.0;
                self.next = Nanos(self.next.0 + more * PERIOD.0);
            }
        }
        self.count(now);
        self.discarded(now);
    }

    /// The looks since the last call.
    pub fn looks(&mut self) -> Vec<Glance> {
        std::mem::take(&mut self.looks)
    }

    /// A discard of nobody's is in flight for this time from now on. It is counted when it ends.
    pub fn discard(&mut self, now: Nanos, time: Nanos) {
        self.discard = Some((now.plus(time), time));
        self.requests.in_flight += 1;
    }

    fn discarded(&mut self, now: Nanos) {
        if let Some((_, time)) = self.discard.take_if(|(end, _)| *end <= now) {
            self.completed(Op::Discard, Bytes::ZERO, time);
        }
    }

    fn count(&mut self, now: Nanos) {
        let time = now.saturating_since(self.at);
        if self.requests.in_flight > 0 {
            self.busy = self.busy.plus(time);
        }
        if self.waiting > 0 {
            self.pressure = self.pressure.plus(time);
        }
        self.at = self.at.max(now);
    }

    fn completed(&mut self, op: Op, length: Bytes, wait: Nanos) {
        self.requests.in_flight = self.requests.in_flight.saturating_sub(1);
        let kind = match op {
            Op::Read => &mut self.requests.reads,
            Op::Write => &mut self.requests.writes,
            Op::Flush => &mut self.requests.flushes,
            Op::Discard => &mut self.requests.discards,
        };
        self.longest = self.longest.max(wait);
        *kind = Completed { count: kind.count + 1, waited: kind.waited.plus(wait) };
        if matches!(op, Op::Read | Op::Write) {
            self.bytes = self.bytes.plus(length);
            self.moved += 1;
        }
    }

    fn look(&mut self, at: Nanos) -> Glance {
        let requests = &self.requests;
        // The kernel counts whole milliseconds.
        let whole = |kind: Completed| Completed {
            waited: Nanos(kind.waited.0 / 1_000_000 * 1_000_000),
            ..kind
        };
        Glance {
            look: Look {
                at,
                counts: Surroundings {
                    own_bytes: Some(self.own),
                    disk_bytes: Some(self.bytes),
                    disk_requests: Some(self.moved),
                    disk_busy_ns: Some(self.busy),
                    commits: Some(self.commits),
                    discards: Some(requests.discards.count),
                    discard_ns: Some(requests.discards.waited),
                    flushes: Some(requests.flushes.count),
                    flush_ns: Some(requests.flushes.waited),
                    io_pressure_ns: Some(self.pressure),
                    ..Surroundings::default()
                },
            },
            requests: Requests {
                reads: whole(requests.reads),
                writes: whole(requests.writes),
                discards: whole(requests.discards),
                flushes: whole(requests.flushes),
                in_flight: requests.in_flight,
            },
            is_after_stop: std::mem::take(&mut self.is_after_stop),
            stolen: Some(self.stolen),
        }
    }
}

#[cfg(test)]
mod tests {
    use flashlag_flash::aged_by;
    use flashlag_spec::profile::Profile;
    use flashlag_spec::target::Age;

    use super::*;

    const S: fn(u64) -> Nanos = Nanos::from_secs;

    #[test]
    fn a_freeze_adds_what_is_left_of_it_to_what_is_under_way_and_nothing_to_anything_else() {
        let model = Profile::find("sd-a1").unwrap().model().unwrap();
        let (flash, _) = aged_by(&model, 1, Age::New, Age::DAILY).unwrap();
        let mut disk = Disk::new(FlashDevice::new(flash));
        assert_eq!(disk.delayed(S(5), S(7)), S(7), "there was no freeze yet");
        disk.frozen = (S(10), S(30));
        // From, to in the model, to with the freeze.
        for (from, to, end) in
            [(5, 9, 9), (5, 10, 10), (5, 11, 31), (10, 12, 32), (25, 27, 32), (30, 31, 31)]
        {
            assert_eq!(disk.delayed(S(from), S(to)), S(end), "{from} to {to}");
        }
        disk.slow(3.0);
        assert_eq!(disk.delayed(S(5), S(7)), S(31), "six seconds, of which one is after 10");
    }

    #[test]
    fn a_discard_of_nobodys_is_in_flight_and_busy_until_it_ends_and_counted_then() {
        let mut counters = Counters::default();
        counters.passed(S(1));
        assert!(counters.looks().iter().all(|look| look.requests.in_flight == 0));
        counters.discard(S(1), S(2));
        counters.passed(S(4));
        let counted = |look: &Glance| {
            let requests = look.requests;
            (look.look.at, requests.in_flight, requests.discards.count, requests.discards.waited)
        };
        let looks: Vec<_> = counters.looks().iter().map(counted).collect();
        for (at, in_flight, count, waited) in &looks {
            let has_ended = *at >= S(3);
            let expected = (u64::from(!has_ended), u64::from(has_ended));
            assert_eq!((*in_flight, *count), expected, "at {at}");
            assert_eq!(*waited, if has_ended { S(2) } else { Nanos::ZERO }, "at {at}");
        }
        assert!(looks.iter().any(|look| look.0 < S(3)) && looks.iter().any(|look| look.0 >= S(3)));
        assert_eq!(counters.busy, S(2));
    }

    #[test]
    fn a_look_shows_each_count_and_waits_in_whole_milliseconds() {
        let mut counters = Counters { own: Bytes(5), commits: 6, ..Counters::default() };
        counters.requests.in_flight = 5;
        counters.waiting = 1;
        counters.passed(S(1));
        for (op, wait) in [(Op::Read, 1_700), (Op::Write, 2_700), (Op::Flush, 3_700)] {
            counters.completed(op, Bytes(4096), Nanos::from_micros(wait));
        }
        counters.completed(Op::Discard, Bytes(4096), Nanos::from_micros(4_700));
        let Glance { look: Look { at, counts }, requests, .. } = counters.look(S(1));
        let whole = |ms| Completed { count: 1, waited: Nanos::from_millis(ms) };
        assert_eq!((at, requests.in_flight), (S(1), 1));
        assert_eq!((requests.reads, requests.writes), (whole(1), whole(2)));
        assert_eq!((requests.flushes, requests.discards), (whole(3), whole(4)));
        assert_eq!((counts.own_bytes, counts.disk_bytes), (Some(Bytes(5)), Some(Bytes(8192))));
        assert_eq!((counts.disk_requests, counts.commits), (Some(2), Some(6)));
        assert_eq!((counts.disk_busy_ns, counts.io_pressure_ns), (Some(S(1)), Some(S(1))));
        assert_eq!((counts.discards, counts.flushes), (Some(1), Some(1)));
        let [discard, flush] = [4_700, 3_700].map(|wait| Some(Nanos::from_micros(wait)));
        assert_eq!((counts.discard_ns, counts.flush_ns), (discard, flush));
    }
}
