use flashlag_units::{Bytes, Nanos};

use super::commands::Front;
use super::store::Store;
use crate::address::Unit;
use crate::command::FlashError;
use crate::power::{Ledger, Lost, LostUnit, PowerCut};

impl Front {
    /// Keeps count, from now on, of what a power cut would lose.
    pub(crate) fn keep_ledger(&mut self) {
        self.ledger.get_or_insert_default();
    }

    /// The number of the last command that changed data, and the first one that may still be lost;
    /// both 0 where no count is kept.
    pub(crate) fn commands(&self) -> (u64, u64) {
        self.ledger.as_deref().map_or((0, 0), |ledger| (ledger.sequence(), ledger.oldest()))
    }

    /// The power is gone at `at` and comes back at once. Nothing of what was under way goes on.
    ///
    /// A unit that falls back to an older version keeps its place in the map: as many units are
    /// mapped as before, and only which block holds this one is not what it was. A unit that had
    /// never been written is unmapped again.
    ///
    /// # Errors
    /// As the idle work that was done until then.
    pub(crate) fn power_cut<S: Store>(
        &mut self,
        store: &mut S,
        at: Nanos,
    ) -> Result<PowerCut, FlashError> {
        if at > self.host.quiet_from() {
            self.idle(store, at)?;
        }
        if let Some(buffer) = &mut self.buffer {
            if buffer.volatile { buffer.held.clear() } else { buffer.held.settle() }
        }
        let lost = self.ledger.as_deref_mut().map(|ledger: &mut Ledger| ledger.cut(at));
        for unit in lost.iter().flatten().filter(|lost| lost.empty).map(|lost| lost.unit) {
            self.forget(store, at, unit);
        }
        let recovery = store.power_cut(at);
        self.trims.clear();
        self.host.power_cut(at.plus(recovery));
        (self.programmed, self.changed) = (Nanos::ZERO, Nanos::ZERO);
        let length = Bytes(self.units.bytes());
        let lost = lost.map(|lost| {
            let range = |lost: LostUnit| Lost {
                offset: Bytes(u64::from(lost.unit.0) * length.0),
                length,
                command: lost.lost_from,
            };
            lost.into_iter().map(range).collect()
        });
        Ok(PowerCut { lost, recovery })
    }

    fn forget<S: Store>(&mut self, store: &mut S, at: Nanos, unit: Unit) {
        if let Some(buffer) = &mut self.buffer {
            buffer.held.take(unit);
        }
        if let Some(slc) = &mut self.slc {
            slc.forget(unit);
        }
        if store.is_mapped(unit) {
            store.discard(at, unit, 1);
        }
    }
}
