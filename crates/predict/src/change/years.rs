//! How years of use change a device, one cause after the other.
//!
//! Each cause is a simulation of the same device, with the same seeds, that includes the previous
//! causes and this one: the difference from the previous simulation is what this cause changes.

use flashlag_units::Nanos;

use super::figures::{self, Figures, Named, TestFigures};
use super::plan::{Cause, Plan};
use super::situation::Situation;
use super::steady::DaysOfUse;
use crate::ModelError;

/// How years of use change a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Years {
    /// The figures of the device as new.
    pub new: Figures,
    /// The figures with each cause, added to those before it.
    pub causes: Vec<CauseFigures>,
}

/// The figures of a device with a cause and all earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseFigures {
    pub cause: Cause,
    /// The figures, or why there are none.
    pub figures: Result<Figures, Absence>,
}

/// The reason why a cause has no figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The device's model does not depend on the cause, or can't start with it.
    NotModelled,
    /// All days were simulated: the figures of the previous cause include this one.
    Included,
}

impl CauseFigures {
    /// Sequential reads of a file: from [`Cause::Fragmentation`] on, of a fragmented one.
    pub fn reads_of_file(&self) -> Option<&TestFigures> {
        let figures = self.figures.as_ref().ok()?;
        if self.cause < Cause::Fragmentation {
            figures.reads_of_file()
        } else {
            figures.reads_of_grown()
        }
    }
}

/// The indices, among all simulated situations, of those that separate the causes.
#[derive(Debug)]
pub(super) struct Chain {
    new: usize,
    filled: usize,
    written: usize,
    aged: usize,
    /// Whether the device becomes slower as its blocks wear.
    wears: bool,
}

/// Adds the situations that separate the causes of an aged one. A situation that is among
/// `situations` already is reused.
pub(super) fn chain(aged: usize, situations: &mut Vec<Named>) -> Result<Chain, ModelError> {
    let (situation, name) = situations[aged].clone();
    let mut index_of = |plan: Plan, what: &str| {
        let wanted = Situation { plan, ..situation.clone() };
        figures::index_of(situations, wanted, || format!("{name}, {what}"))
    };
    let plan = situation.plan;
    let new = Plan { full: None, age: Nanos::ZERO, idle_maintenance: false, ..plan };
    Ok(Chain {
        new: index_of(new, "as new"),
        filled: index_of(Plan { up_to: Cause::Fill, ..plan }, "filled"),
        written: index_of(without_days(plan), "written at random"),
        aged,
        wears: situation.profile.model()?.wear.retries > 0.0,
    })
}

/// The plan without its days, with storage as full and overwritten at random. If storage is at
/// least a fifth full, its days take no room of their own, and this is the plan of a device that is
/// only full.
fn without_days(plan: Plan) -> Plan {
    const ROOM_OF_DAYS: f64 = 0.2;
    if plan.full.is_some_and(|full| full >= ROOM_OF_DAYS) {
        return Plan { age: Nanos::ZERO, ..plan };
    }
    Plan { up_to: Cause::Map, ..plan }
}

impl Chain {
    /// The effect of each cause, from the figures of all simulated situations.
    pub(super) fn years(&self, figures: &[Figures]) -> Years {
        let at = |index: usize| figures.get(index).cloned().unwrap_or_default();
        let aged = at(self.aged);
        let left_out = aged.lived.as_ref().is_some_and(DaysOfUse::extrapolated);
        let (unworn, worn) = match aged.unworn.is_empty() {
            false => (Figures { tests: aged.unworn.clone(), ..Figures::default() }, Ok(aged)),
            true if self.wears && !left_out => (aged, Err(Absence::Included)),
            true => (aged, Err(Absence::NotModelled)),
        };
        let causes = [
            (Cause::Fill, Ok(at(self.filled))),
            (Cause::Map, Ok(at(self.written))),
            (Cause::Deleted, Ok(unworn.clone())),
            (Cause::Fragmentation, Ok(unworn)),
            (Cause::Wear, worn),
        ];
        let causes = causes.into_iter().map(|(cause, figures)| CauseFigures { cause, figures });
        Years { new: at(self.new), causes: causes.collect() }
    }
}
