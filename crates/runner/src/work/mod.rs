//! The recipes of a run, written once for every target: how a test, a save and a fill are measured,
//! and how the tasks of a scenario follow each other. What differs between targets is a [`World`].

mod background;
#[cfg(not(target_family = "wasm"))]
mod card;
mod changes;
mod conditions;
mod device_wait;
#[cfg(not(target_family = "wasm"))]
mod file_save;
mod files;
mod fill;
mod halves;
mod hindrance;
mod io;
#[cfg(test)]
mod mock;
mod outcome;
mod phase;
mod replay;
#[cfg(not(target_family = "wasm"))]
mod save;
mod tasks;
#[cfg(test)]
mod tests;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use flashlag_device::Budget;
use flashlag_schema::{Lag, Phase, Run};
use flashlag_spec::{Downgrade, State};
use flashlag_stats::live::Live;
use flashlag_units::Bytes;

pub(crate) use crate::role::{GROWN_BESIDE, Role};
pub(crate) use device_wait::DeviceWait;
pub(crate) use hindrance::Hindrance;
pub(crate) use io::drive_device;
pub(crate) use outcome::Outcome;
pub(crate) use world::{
    Access, BackgroundEnd, BackgroundOrder, BackgroundStart, Controls, Edge, FillEnd, FillOrder,
    OpenedDevice, TestJob, Trimmed, World,
};
pub(crate) use world::{Direction, Earlier, Evidence, NO_CARD};

use crate::error::RunError;
use crate::estimate::Estimate;
use crate::events::{Event, Observer};
use crate::request::Request;
use flashlag_units::Nanos;

/// Width of an interval at first: it gives the shortest test ten intervals, and the screen four a
/// second.
pub(crate) const INTERVAL: Nanos = Nanos::from_millis(250);
/// A wait longer than one frame at 60 Hz is recorded with its cause: flashlag looks for periods
/// among these, and those far beyond the usual wait are the stalls.
pub(crate) const STALL_OVER: Nanos = Lag::FRAME_60HZ;

/// A run under way on a world.
#[derive(Debug)]
pub(crate) struct Work<W: World> {
    pub request: Request,
    pub run: Run,
    pub world: W,
    pub evidence: Evidence<W::Counters>,
    pub estimate: Estimate,
    controls: Controls,
    trimmed: bool,
    /// How often a test of each label was begun.
    begun: BTreeMap<String, u32>,
}

impl<W: World> Work<W> {
    /// A run that has done nothing in this process; `run` may hold phases of an earlier one.
    pub fn new(request: Request, run: Run, world: W, estimate: Estimate, leave: Bytes) -> Work<W> {
        let phases = run.phases.iter().map(|_| None).collect();
        let left = |budget: Bytes| Budget::of(budget.saturating_minus(run.wear.written_bytes));
        Work {
            controls: Controls {
                seed: request.seed,
                stop: Arc::clone(&request.stop),
                budget: request.budget.map(left),
                verify: request.verify,
            },
            trimmed: run.phases.iter().any(|phase| phase.state == State::Trimmed),
            evidence: Evidence {
                phases,
                fills: Vec::new(),
                verified: None,
                leave,
                earlier: request.resume.is_some().then(|| Earlier::of(&run)),
            },
            request,
            run,
            world,
            estimate,
            begun: BTreeMap::new(),
        }
    }

    /// Free space that a fill leaves.
    pub fn leave(&self) -> Bytes {
        self.evidence.leave
    }

    fn stopped(&self) -> bool {
        self.controls.stop.load(Ordering::Relaxed)
    }

    /// The seed of one task: another stream for each label.
    fn task_seed(&self, label: &str) -> u64 {
        task_seed(self.request.seed, label)
    }

    /// The seed of a measured test: another stream each time that its label comes again in a later
    /// step; otherwise every day of a year would write the same addresses.
    fn test_seed(&mut self, label: &str) -> u64 {
        let before = self.begun.entry(label.to_owned()).or_default();
        *before += 1;
        match *before {
            1 => self.task_seed(label),
            time => self.task_seed(&format!("{label}, time {time}")),
        }
    }

    /// A phase whose stalls have their causes, as far as counters show them.
    fn with_causes(&self, mut phase: Phase) -> Phase {
        flashlag_explain::infer::name_causes(&mut phase, &self.run);
        phase
    }

    /// Counts bytes that this run handed to the filesystem.
    fn wrote(&mut self, bytes: Bytes) {
        self.run.wear.written_bytes = self.run.wear.written_bytes.plus(bytes);
    }

    /// Reserves the most that a part of the run may write.
    ///
    /// # Errors
    /// A [`Hindrance::Skip`] if the budget has less left.
    fn allow(&self, most: Bytes, purpose: &str) -> Result<(), Hindrance> {
        let Some(budget) = &self.controls.budget else { return Ok(()) };
        if budget.take(most) {
            return Ok(());
        }
        let (whole, left) = (self.request.budget.unwrap_or_default(), budget.left());
        Err(Hindrance::Skip(format!(
            "--budget {whole} is used up: {left} of it are left, {purpose} takes {most}"
        )))
    }

    /// Gives back what was reserved and not written.
    fn settle(&self, allowed: Bytes, written: Bytes) {
        if let Some(budget) = &self.controls.budget {
            budget.settle(allowed, written);
        }
    }

    /// The note of a phase that the budget ended.
    fn ended_by_budget(&self) -> String {
        let budget = self.request.budget.unwrap_or_default();
        format!("it ended early: --budget {budget} was used up")
    }

    fn note_downgrades(&mut self, downgrades: &[Downgrade]) {
        for downgrade in downgrades {
            if !self.run.downgrades.contains(downgrade) {
                self.run.downgrades.push(downgrade.clone());
            }
        }
    }

    /// Reports the bytes written before a phase, and the background that will write during it.
    /// Returns the phase's own progress.
    fn announce(
        &self,
        beside: Option<&BackgroundStart<W::Background>>,
        observer: &mut dyn Observer,
    ) -> Arc<Live> {
        observer.event(Event::Wrote(self.run.wear.written_bytes));
        if let Some(live) = beside.and_then(|beside| beside.live.as_ref()) {
            observer.event(Event::Beside(live));
        }
        Arc::new(Live::default())
    }

    /// Brings everything that is derived from the phases up to date, so that the run file is whole
    /// after every phase.
    pub fn refresh(&mut self) {
        let lags = self.run.phases.iter().filter_map(|phase| phase.lag);
        self.run.lag = lags.fold(Lag::default(), Lag::plus);
        self.world.refresh(&mut self.run, &self.evidence);
        flashlag_explain::attach(&mut self.run);
    }

    /// Stores the run, brought up to date; nothing where only the whole run is wanted, as by
    /// forecasts and fits.
    pub(super) fn save(&mut self) -> Result<(), RunError> {
        #[cfg(not(target_family = "wasm"))]
        if let Some(output) = self.request.output.clone() {
            self.refresh();
            output.store(&mut self.run)?;
        }
        Ok(())
    }
}

/// The seed of one task of a run.
fn task_seed(seed: u64, label: &str) -> u64 {
    // FNV-1a: a fixed function of the label, so that a task keeps its stream when others change.
    let hash = label.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod seed_tests {
    use super::*;

    #[test]
    fn the_seed_of_a_task_is_the_published_fnv_1a_hash_of_its_label_mixed_with_the_runs_seed() {
        // The hashes of "" and "a" in the reference tables of FNV-1a, 64 bits.
        assert_eq!(task_seed(0, ""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(task_seed(0, "a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(task_seed(0, "foobar"), 0x8594_4171_f739_67e8);
        let mixed = task_seed(3, "a") ^ task_seed(0, "a");
        assert_eq!(mixed, 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(3));
    }
}
