use flashlag_units::Nanos;

use super::commands::Front;
use super::store::Store;
use crate::command::FlashError;

impl Front {
    /// Idle work between the end of the last command and the next one at `until`: empties the
    /// buffer after `drain_after`, folds the write cache after `fold_after`, a step at a time, and
    /// leaves the rest of the time to the store.
    #[cold]
    pub(crate) fn idle<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        until: Nanos,
    ) -> Result<(), FlashError> {
        let before = store.trace().map(|trace| trace.aside(true));
        let done = self.idle_work(store, until);
        if let (Some(trace), Some(before)) = (store.trace(), before) {
            trace.aside(before);
        }
        done
    }

    fn idle_work<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        until: Nanos,
    ) -> Result<(), FlashError> {
        let quiet = self.host.quiet_from();
        let mut from = quiet;
        from = from.max(self.drain_idle(store, quiet, until)?);
        from = from.max(self.fold_idle(store, quiet, until)?);
        if from < until {
            store.background(from, until)?;
        }
        Ok(())
    }

    fn drain_idle<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        quiet: Nanos,
        until: Nanos,
    ) -> Result<Nanos, FlashError> {
        let Some(mut buffer) = self.buffer.take() else {
            return Ok(quiet);
        };
        let mut drained = Ok(());
        let begin = buffer.drain_after.map(|after| quiet.plus(after));
        if let Some(begin) = begin.filter(|begin| *begin < until) {
            while buffer.held.dirty() > 0 && drained.is_ok() {
                drained = self.drain(store, &mut buffer.held, begin);
            }
        }
        self.buffer = Some(buffer);
        drained.map(|()| quiet)
    }

    fn fold_idle<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        quiet: Nanos,
        until: Nanos,
    ) -> Result<Nanos, FlashError> {
        let Some(slc) = &mut self.slc else {
            return Ok(quiet);
        };
        let folding = slc.idle();
        let Some(after) = folding.after else {
            return Ok(quiet);
        };
        let mut now = quiet.plus(after);
        if now >= until || slc.units() == 0 {
            return Ok(quiet);
        }
        let power = folding.until.map_or(Nanos::MAX, |rest| quiet.plus(rest));
        while now < until
            && (now < power || slc.must_go_on(store))
            && let Some(end) = slc.fold_idle(store, now)?
        {
            now = end;
        }
        Ok(now)
    }
}
