//! The cores that a test's threads run on.

use flashlag_spec::profile::StackModel;
use flashlag_units::Nanos;

use crate::chance::Chance;
use crate::governor::{Governor, Load};

/// Cores, and the threads on them. A thread does one thing at a time, and so does a core.
#[derive(Debug)]
pub(crate) struct Cpus {
    /// When each core becomes free.
    cores: Vec<Nanos>,
    /// The threads. The first also makes every call that is not block I/O of a test.
    threads: Vec<Thread>,
    /// The background job's thread.
    beside: Load,
    governor: Governor,
    chance: Chance,
    idle: Option<Idle>,
    /// How long the last work of a thread was preempted.
    preempted: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// When its work is done.
    free: Nanos,
    load: Load,
}

/// A deeper idle state of a core.
#[derive(Clone, Copy, Debug)]
struct Idle {
    after: Nanos,
    exit: Nanos,
}

impl Cpus {
    pub(crate) fn new(model: &StackModel) -> Cpus {
        let cores = model.cores.unwrap_or(1).max(1);
        Cpus {
            cores: vec![Nanos::ZERO; cores as usize],
            threads: vec![Thread::default()],
            beside: Load::default(),
            governor: Governor::new(model),
            chance: Chance::new(model, 0),
            idle: model.idle_after.map(|after| Idle { after: after.0, exit: model.idle_exit.0 }),
            preempted: Nanos::ZERO,
        }
    }

    /// Restarts the random draws from a seed.
    pub(crate) fn seed(&mut self, model: &StackModel, seed: u64) {
        self.chance = Chance::new(model, seed);
    }

    /// Whether there is more than one thread.
    pub(crate) fn are_several(&self) -> bool {
        self.cores.len() > 1
    }

    /// How long work of the caller takes if it begins now.
    pub(crate) fn caller(&mut self, now: Nanos, work: Nanos) -> Nanos {
        let thread = &mut self.threads[0];
        let work = self.chance.spread(work);
        self.preempted = self.chance.preempted();
        let time = self.governor.run(&mut thread.load, now, work).plus(self.preempted);
        thread.free = now.plus(time);
        time
    }

    /// How long the last work of a test's thread was preempted after it had begun.
    pub(crate) fn preempted(&self) -> Nanos {
        self.preempted
    }

    /// How long work of the background job takes if it begins now.
    pub(crate) fn beside(&mut self, now: Nanos, work: Nanos) -> Nanos {
        let work = self.chance.spread(work);
        self.governor.run(&mut self.beside, now, work).plus(self.chance.preempted())
    }

    /// When a thread's next work begins and ends. It begins after the thread's previous work, on
    /// the core that becomes free first.
    pub(crate) fn reserve(&mut self, thread: usize, now: Nanos, work: Nanos) -> (Nanos, Nanos) {
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Thread::default());
        }
        let thread = &mut self.threads[thread];
        let core = self.cores.iter_mut().min_by_key(|free| **free);
        let from = now.max(thread.free).max(core.as_deref().copied().unwrap_or(now));
        let work = self.chance.spread(work);
        self.preempted = self.chance.preempted();
        let time = self.governor.run(&mut thread.load, from, work).plus(self.preempted);
        thread.free = from.plus(time);
        if let Some(core) = core {
            *core = thread.free;
        }
        (from, thread.free)
    }

    /// How long a thread takes to wake when its wait is over: zero, unless its core was idle long
    /// enough to enter a deeper idle state.
    pub(crate) fn wake(&mut self, thread: usize, now: Nanos) -> Nanos {
        let thread = if self.are_several() { thread } else { 0 };
        let Some((idle, thread)) = self.idle.zip(self.threads.get_mut(thread)) else {
            return Nanos::ZERO;
        };
        if now.saturating_since(thread.free) <= idle.after {
            return Nanos::ZERO;
        }
        thread.free = now.plus(idle.exit);
        idle.exit
    }
}
