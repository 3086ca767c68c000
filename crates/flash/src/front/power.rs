use flashlag_units::{Bytes, Nanos};

use super::commands::Front;
use super::store::Store;
use crate::address::Unit;
use crate::command::FlashError;
use crate::power::{Ledger, Lost, LostUnit, PowerCut};

impl Front {
    /// Records from now on what a power cut would lose.
    pub(crate) fn keep_ledger(&mut self) {
        self.ledger.get_or_insert_default();
    }

    /// Numbers of the last command that changed data and of the first one that may still be lost;
    /// both 0 unless they are recorded.
    pub(crate) fn commands(&self) -> (u64, u64) {
        self.ledger.as_deref().map_or((0, 0), |ledger| (ledger.sequence(), ledger.oldest()))
    }

    /// Cuts the power at `at`; it comes back at once. Nothing that was in progress goes on.
    ///
    /// A unit that reverts to an older content keeps its entry in the map, so the number of mapped
    /// units is right and only the block that holds the unit is not. A unit that had no content
    /// before is unmapped.
    ///
    /// # Errors
    /// As the idle work that was due until then.
    pub(crate) fn power_cut<S: Store + ?Sized>(
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

    fn forget<S: Store + ?Sized>(&mut self, store: &mut S, at: Nanos, unit: Unit) {
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
