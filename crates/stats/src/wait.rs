use flashlag_units::Nanos;

/// A wait split by the thread's state: on a CPU, runnable but waiting for one, or blocked (on
/// storage, for a thread that does nothing else).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitSplit {
    /// The thread was executing.
    pub on_cpu: Nanos,
    /// The thread was ready to run, but no CPU was free.
    pub runnable: Nanos,
    /// The thread slept until something completed.
    pub blocked: Nanos,
    /// The whole process was stopped ([`Stop`](crate::Stop)); what the thread would have done is
    /// unknown.
    pub stopped: Nanos,
}

impl WaitSplit {
    /// The split of `elapsed`, from the scheduler's `on_cpu` and `runnable`. The scheduler's clock
    /// and ours differ by microseconds; what exceeds `elapsed` is cut off.
    pub fn of(elapsed: Nanos, on_cpu: Nanos, runnable: Nanos) -> WaitSplit {
        let runnable = runnable.min(elapsed);
        let on_cpu = on_cpu.min(elapsed.since(runnable));
        let blocked = elapsed.since(runnable.plus(on_cpu));
        WaitSplit { on_cpu, runnable, blocked, stopped: Nanos::ZERO }
    }

    /// Moves up to `stopped` from blocked to stopped: the scheduler does not count stops, so they
    /// looked blocked.
    pub fn with_stopped(self, stopped: Nanos) -> WaitSplit {
        let stopped = stopped.min(self.blocked);
        WaitSplit { blocked: self.blocked.since(stopped), stopped, ..self }
    }

    /// Sum of all parts.
    pub fn total(&self) -> Nanos {
        self.on_cpu.plus(self.runnable).plus(self.blocked).plus(self.stopped)
    }

    /// Sum, part by part.
    pub fn plus(&self, other: &WaitSplit) -> WaitSplit {
        WaitSplit {
            on_cpu: self.on_cpu.plus(other.on_cpu),
            runnable: self.runnable.plus(other.runnable),
            blocked: self.blocked.plus(other.blocked),
            stopped: self.stopped.plus(other.stopped),
        }
    }
}

/// Waits of latencies in `[2^class, 2^(class+1))` nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitClass {
    /// Number of operations.
    pub ops: u64,
    /// Sum of their splits.
    pub split: WaitSplit,
}

/// Sampled waits by latency class: shows where the slow operations wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitTable {
    classes: [WaitClass; 64],
}

impl Default for WaitTable {
    fn default() -> Self {
        WaitTable { classes: [WaitClass::default(); 64] }
    }
}

impl WaitTable {
    /// Adds an operation of `latency`.
    pub fn record(&mut self, latency: Nanos, split: WaitSplit) {
        let class = &mut self.classes[latency.0.max(1).ilog2() as usize];
        class.ops += 1;
        class.split = class.split.plus(&split);
    }

    /// Adds all waits of another table.
    pub fn merge(&mut self, other: &WaitTable) {
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            class.ops += more.ops;
            class.split = class.split.plus(&more.split);
        }
    }

    /// Moves up to `stopped` from blocked to stopped in the class of `latency`.
    pub fn take_stopped(&mut self, latency: Nanos, stopped: Nanos) {
        let class = &mut self.classes[latency.0.max(1).ilog2() as usize];
        let blocked = class.split.blocked;
        let stopped = stopped.min(blocked);
        class.split.blocked = blocked.since(stopped);
        class.split.stopped = class.split.stopped.plus(stopped);
    }

    /// The classes with operations: the power of two and its waits.
    pub fn occupied(&self) -> impl Iterator<Item = (u32, &WaitClass)> {
        (0u32..).zip(&self.classes).filter(|(_, class)| class.ops > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(on_cpu: u64, runnable: u64, blocked: u64, stopped: u64) -> WaitSplit {
        let [on_cpu, runnable, blocked, stopped] = [on_cpu, runnable, blocked, stopped].map(Nanos);
        WaitSplit { on_cpu, runnable, blocked, stopped }
    }

    #[test]
    fn what_neither_ran_nor_was_ready_was_blocked_and_no_part_exceeds_the_whole() {
        let of = |on_cpu, runnable| WaitSplit::of(Nanos(100), Nanos(on_cpu), Nanos(runnable));
        assert_eq!(of(30, 20), split(30, 20, 50, 0));
        assert_eq!(of(30, 80), split(20, 80, 0, 0));
        assert_eq!(of(300, 0), split(100, 0, 0, 0));
        assert_eq!(of(30, 300), split(0, 100, 0, 0));
        assert_eq!(of(30, 20).with_stopped(Nanos(40)), split(30, 20, 10, 40));
        assert_eq!(of(30, 20).with_stopped(Nanos(60)), split(30, 20, 0, 50));
        assert_eq!(split(1, 20, 300, 4000).total(), Nanos(4321));
    }

    #[test]
    fn waits_are_summed_by_powers_of_two_and_over_tables() {
        let mut table = WaitTable::default();
        assert_eq!(table.occupied().count(), 0);
        for (latency, blocked) in [(0, 1), (1, 2), (1023, 10), (1024, 100), (2047, 200)] {
            table.record(Nanos(latency), split(0, 0, blocked, 0));
        }
        let classes = |table: &WaitTable| -> Vec<(u32, u64, WaitSplit)> {
            table.occupied().map(|(power, class)| (power, class.ops, class.split)).collect()
        };
        let one =
            [(0, 2, split(0, 0, 3, 0)), (9, 1, split(0, 0, 10, 0)), (10, 2, split(0, 0, 300, 0))];
        assert_eq!(classes(&table), one);
        let mut both = table.clone();
        both.record(Nanos(1500), split(1, 2, 3, 4));
        both.merge(&table);
        let sums =
            [(0, 4, split(0, 0, 6, 0)), (9, 2, split(0, 0, 20, 0)), (10, 5, split(1, 2, 603, 4))];
        assert_eq!(classes(&both), sums);
        both.take_stopped(Nanos(1024), Nanos(600));
        both.take_stopped(Nanos(1023), Nanos(600));
        assert_eq!(classes(&both)[1..], [(9, 2, split(0, 0, 0, 20)), (10, 5, split(1, 2, 3, 604))]);
    }
}
