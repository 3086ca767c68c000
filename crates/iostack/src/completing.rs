//! Waits for requests that several threads of one caller have in flight on a stack.

use flashlag_device::{Completion, Device, DeviceError, VirtualClock};
use flashlag_units::Nanos;

use crate::stack::{Inner, Stack};

/// Requests or calls on a stack that complete as virtual time passes.
pub(crate) trait Completing<D: Device<Clock = VirtualClock>> {
    /// The stack that they are on.
    fn stack(&self) -> &Stack<D>;

    /// Continues the requests whose processes have ended; adds those that are complete to `done`.
    fn collect(&mut self, inner: &mut Inner<D>);

    /// Completions that the caller has not taken yet.
    fn done(&mut self) -> &mut Vec<Completion>;

    /// Whether anything is in flight.
    fn is_busy(&self) -> bool;

    /// Lets time pass until something completes, at most to `until`.
    fn pass(&mut self, until: Nanos) {
        let stack = self.stack().clone();
        let mut inner = stack.0.borrow_mut();
        loop {
            self.collect(&mut inner);
            if !self.done().is_empty() || inner.now() >= until {
                return;
            }
            inner.step(until);
        }
    }

    /// Takes the completions; waits until there are `at_least` of them, or nothing is in flight.
    fn take_completed(
        &mut self,
        at_least: u32,
        completed: &mut Vec<Completion>,
    ) -> Result<(), DeviceError> {
        let stack = self.stack().clone();
        self.collect(&mut stack.0.borrow_mut());
        let mut wanted = at_least;
        loop {
            wanted = wanted.saturating_sub(self.done().len() as u32);
            completed.append(self.done());
            if wanted == 0 || !self.is_busy() {
                return Ok(());
            }
            self.pass(Nanos::MAX);
        }
    }
}
