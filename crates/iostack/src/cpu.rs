//! The cores that a test's threads run on.

use flashlag_schema::profile::StackModel;
use flashlag_units::Nanos;

/// Cores, and the threads on them: a thread does one thing at a time, and so does a core.
#[derive(Debug)]
pub(crate) struct Cpus {
    /// When each core is free again.
    cores: Vec<Nanos>,
    /// When each thread is free again.
    threads: Vec<Nanos>,
}

impl Cpus {
    pub(crate) fn new(model: &StackModel) -> Cpus {
        let cores = model.cores.unwrap_or(1).max(1);
        Cpus { cores: vec![Nanos::ZERO; cores as usize], threads: Vec::new() }
    }

    /// Whether threads run side by side.
    pub(crate) fn are_several(&self) -> bool {
        self.cores.len() > 1
    }

    /// When a thread's next work of this duration begins and ends: after the thread's work before,
    /// on the core that is free first.
    pub(crate) fn reserve(&mut self, thread: usize, now: Nanos, time: Nanos) -> (Nanos, Nanos) {
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Nanos::ZERO);
        }
        let earliest = self.cores.iter_mut().min_by_key(|free| **free);
        let from = now.max(self.threads[thread]).max(earliest.as_deref().copied().unwrap_or(now));
        let until = from.plus(time);
        self.threads[thread] = until;
        if let Some(core) = earliest {
            *core = until;
        }
        (from, until)
    }
}
