//! What a request on a file waits for, summed over the processes that carry it out.

use flashlag_stats::{Wait, Waited};
use flashlag_units::Nanos;

/// The time of one request so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestWaits {
    /// All before this is divided.
    until: Nanos,
    waited: Waited,
}

impl RequestWaits {
    /// A request that began at `started`, and whose call has taken `call` so far.
    pub(crate) fn new(started: Nanos, call: Waited) -> RequestWaits {
        RequestWaits { until: started.plus(call.total()), waited: call }
    }

    /// Adds a process of the request that has ended. Until the process began, the request waited
    /// for the thread that had to start it.
    pub(crate) fn ended(&mut self, waited: Waited, ended: Nanos) {
        let time = ended.saturating_since(self.until);
        self.waited = self.waited.plus(&before(time, waited));
        self.until = ended;
    }

    /// The request has waited until `from` for another one's work.
    pub(crate) fn followed(&mut self, work: Waited, from: Nanos) {
        let time = from.saturating_since(self.until);
        self.waited = self.waited.plus(&work.scaled_to(time));
        self.until = self.until.max(from);
    }

    /// The parts of a request that took `time` in all.
    pub(crate) fn of(self, time: Nanos) -> Waited {
        before(time, self.waited)
    }
}

/// A process's parts at the end of a time that is at least as long; the rest of the time counts as
/// a wait for a CPU. A process that began before that time had worked on the CPU until then.
fn before(time: Nanos, waited: Waited) -> Waited {
    let total = waited.total();
    let mut all = if total <= time {
        waited
    } else {
        let early = Waited::all(Wait::Executing, total.since(time));
        waited.since(&early)
    };
    all.add(Wait::Cpu, time.saturating_since(all.total()));
    all.scaled_to(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_its_call_its_processes_and_the_waits_between_them() {
        let mut waits = RequestWaits::new(Nanos(100), Waited::all(Wait::Executing, Nanos(10)));
        waits.ended(Waited::all(Wait::GarbageCollection, Nanos(40)), Nanos(155));
        waits.followed(Waited::all(Wait::FilesystemCommit, Nanos(1)), Nanos(175));
        waits.ended(Waited::all(Wait::Storage, Nanos(25)), Nanos(200));
        let parts: Vec<_> = waits.of(Nanos(100)).parts().collect();
        let expected = [
            (Wait::Storage, 25),
            (Wait::Executing, 10),
            (Wait::Cpu, 5),
            (Wait::FilesystemCommit, 20),
            (Wait::GarbageCollection, 40),
        ];
        assert_eq!(parts, expected.map(|(cause, part)| (cause, Nanos(part))));
    }

    #[test]
    fn what_a_process_did_before_its_request_began_is_no_part_of_the_request() {
        let mut waits = RequestWaits::new(Nanos(30), Waited::default());
        let mut process = Waited::all(Wait::Executing, Nanos(50));
        process.add(Wait::Storage, Nanos(50));
        waits.ended(process, Nanos(100));
        let waited = waits.of(Nanos(70));
        assert_eq!((waited.of(Wait::Executing), waited.of(Wait::Storage)), (Nanos(20), Nanos(50)));
    }
}
