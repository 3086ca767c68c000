use flashlag_spec::profile::Model;
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::log_blocks::LogBlocks;
use crate::address::{Die, Unit};
use crate::command::FlashError;
use crate::die::{DieWork, Dies};
use crate::front::{Store, UnitWrite};
use crate::power::WordLine;
use crate::trace::Trace;

/// A log-block map with its dies, as a [`Store`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LogBlockStore<D> {
    pub(crate) map: LogBlocks,
    pub(crate) dies: D,
}

impl<D: Dies> LogBlockStore<D> {
    /// A model's map over its dies, each of which needs [`super::layout::Layout::blocks_per_die`]
    /// blocks.
    pub(crate) fn new(model: &Model, dies: D) -> Result<LogBlockStore<D>, FlashError> {
        Ok(LogBlockStore { map: LogBlocks::new(model)?, dies })
    }
}

impl<D: Dies> Store for LogBlockStore<D> {
    fn read(&mut self, at: Nanos, unit: Unit, count: u32) -> Nanos {
        self.map.read(&mut self.dies, at, unit, count)
    }

    fn write(&mut self, at: Nanos, units: &[UnitWrite]) -> Result<Nanos, FlashError> {
        self.dies.check_wear()?;
        Ok(self.map.write(&mut self.dies, at, units))
    }

    fn word_line(&self) -> Option<WordLine> {
        self.dies.word_line()
    }

    fn discard(&mut self, at: Nanos, unit: Unit, count: u32) {
        self.map.discard(&mut self.dies, at, unit, count);
    }

    fn is_mapped(&self, unit: Unit) -> bool {
        self.map.is_mapped(unit)
    }

    fn mapped_units(&self) -> u64 {
        self.map.mapped_units()
    }

    fn background(&mut self, from: Nanos, until: Nanos) -> Result<(), FlashError> {
        self.map.background(&mut self.dies, from, until);
        Ok(())
    }

    fn power_cut(&mut self, at: Nanos) -> Nanos {
        self.dies.power_cut(at);
        self.map.recovery(self.dies.count())
    }

    fn dies(&self) -> u32 {
        self.dies.count()
    }

    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos {
        self.dies.work(at, die, work)
    }

    #[inline]
    fn trace(&mut self) -> Option<&mut Trace> {
        self.dies.trace()
    }
}
