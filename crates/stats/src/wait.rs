use flashlag_units::Nanos;

/// Where a wait went: on the CPU, runnable but waiting for one, or blocked (on storage, for a
/// thread that does nothing else).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitSplit {
    /// The thread was executing.
    pub on_cpu: Nanos,
    /// The thread could have run, but no CPU was free for it.
    pub runnable: Nanos,
    /// Asleep until something completed.
    pub blocked: Nanos,
    /// Stopped with the whole process ([`Stop`](crate::Stop)): it would have been blocked, running or
    /// neither, which nobody knows.
    pub stopped: Nanos,
}

impl WaitSplit {
    /// The split of `elapsed`, of which the scheduler says `on_cpu` and `runnable`. The
    /// scheduler's clock and ours differ by microseconds: what exceeds `elapsed` is cut.
    pub fn of(elapsed: Nanos, on_cpu: Nanos, runnable: Nanos) -> WaitSplit {
        let runnable = runnable.min(elapsed);
        let on_cpu = on_cpu.min(elapsed.since(runnable));
        let blocked = elapsed.since(runnable.plus(on_cpu));
        WaitSplit { on_cpu, runnable, blocked, stopped: Nanos::ZERO }
    }

    /// The same, of which `stopped` was no wait: what the scheduler does not count looked blocked.
    pub fn with_stopped(self, stopped: Nanos) -> WaitSplit {
        let stopped = stopped.min(self.blocked);
        WaitSplit { blocked: self.blocked.since(stopped), stopped, ..self }
    }

    /// All parts together.
    pub fn total(&self) -> Nanos {
        self.on_cpu.plus(self.runnable).plus(self.blocked).plus(self.stopped)
    }

    /// The sum, part by part.
    pub fn plus(&self, other: &WaitSplit) -> WaitSplit {
        WaitSplit {
            on_cpu: self.on_cpu.plus(other.on_cpu),
            runnable: self.runnable.plus(other.runnable),
            blocked: self.blocked.plus(other.blocked),
            stopped: self.stopped.plus(other.stopped),
        }
    }
}

/// The waits of one power of two of latency: `[2^class, 2^(class+1))` nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitClass {
    /// How many operations of this class were split.
    pub ops: u64,
    /// Where their time went, summed.
    pub split: WaitSplit,
}

/// Sampled waits by latency class, so that "where do the slow ones wait" has an answer of its own.
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
    /// Adds one operation that took `latency`.
    pub fn record(&mut self, latency: Nanos, split: WaitSplit) {
        let class = &mut self.classes[latency.0.max(1).ilog2() as usize];
        class.ops += 1;
        class.split = class.split.plus(&split);
    }

    /// Adds everything that `other` holds.
    pub fn merge(&mut self, other: &WaitTable) {
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            class.ops += more.ops;
            class.split = class.split.plus(&more.split);
        }
    }

    /// Takes back `stopped` of what looked blocked in an operation of `latency` that was recorded.
    pub fn take_stopped(&mut self, latency: Nanos, stopped: Nanos) {
        let class = &mut self.classes[latency.0.max(1).ilog2() as usize];
        let blocked = class.split.blocked;
        let stopped = stopped.min(blocked);
        class.split.blocked = blocked.since(stopped);
        class.split.stopped = class.split.stopped.plus(stopped);
    }

    /// The classes that hold something: the power of two and its waits.
    pub fn occupied(&self) -> impl Iterator<Item = (u32, &WaitClass)> {
        (0u32..).zip(&self.classes).filter(|(_, class)| class.ops > 0)
    }
}
