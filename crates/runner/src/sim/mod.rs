//! Simulations: a modelled filesystem over a modelled flash, in virtual time, driven by the same loop
//! as real storage. The same seed gives the same run file, byte for byte.

mod environment;
mod fill;
#[cfg(test)]
mod inferred_tests;
#[cfg(test)]
mod layout_tests;
mod ledger;
mod repeats;
#[cfg(not(target_family = "wasm"))]
mod stack_files;
#[cfg(test)]
mod tests;
mod trust;
#[cfg(test)]
mod waits_tests;
mod world;

use flashlag_device::{Clock, Device};
use flashlag_engine::FileSet;
use flashlag_flash::FlashDevice;
use flashlag_iostack::{FileRow, Stack, StackSpec};
use flashlag_schema::{Run, Target, TargetKind};
use flashlag_spec::Reading;
use flashlag_spec::profile::Profile;
use flashlag_spec::target::MountSpec;
use flashlag_units::{Bytes, Nanos};

pub use flashlag_spec::profile::{
    builtin_profile, builtin_protocol, names as profile_names, protocol_names,
};
pub use repeats::{Follow, simulate_repeats};
#[cfg(all(feature = "lab", not(target_family = "wasm")))]
pub(crate) use trust::flushes;

pub use crate::target::{SimTarget, of_size, profile};

use crate::error::{RunError, VirtualError};
use crate::estimate::estimate;
use crate::events::Observer;
use crate::record::{new_run, profile_record, reviewers_leave};
use crate::request::Request;
use crate::task::tasks;
use crate::work::{Evidence, Work};
use ledger::{LayerCounters, SimStack};

/// A simulated device with a filesystem on it.
#[derive(Debug)]
pub(crate) struct Simulation {
    stack: SimStack,
    /// The files that were laid out, by [`Role`].
    laid_out: [Option<SimFiles>; 3],
    /// The files that grew alternating with that of [`Role::Grown`].
    grown_beside: Option<SimFiles>,
    /// CPU time of SQLite in a save.
    save_cpu: Nanos,
    /// Number of fills so far.
    fills: u32,
    /// The files of fills that are not deleted yet.
    filled: Vec<SimFiles>,
}

/// Files of a modelled filesystem, with the names and sizes that they have in a directory.
#[derive(Clone, Debug)]
pub(crate) struct SimFiles {
    set: FileSet,
    row: FileRow,
}

/// Room for files on the empty filesystem of a simulated device.
pub fn room(profile: &Profile, mount: &MountSpec) -> Result<Bytes, RunError> {
    let refuse = |source: VirtualError| RunError::Simulation {
        target: profile.name.clone(),
        source: Box::new(source),
    };
    let model = profile.model().map_err(|error| refuse(error.into()))?;
    let spec = StackSpec::of(mount).map_err(|error| refuse(error.into()))?;
    let zones = flashlag_flash::zone_geometry(&model);
    flashlag_iostack::room(&spec, model.map.capacity.0, zones).map_err(|error| refuse(error.into()))
}

/// Prepares a run on a new simulated device.
pub(crate) fn prepare(request: Request, target: &SimTarget) -> Result<Work<Simulation>, RunError> {
    let refuse = |source: VirtualError| RunError::Simulation {
        target: target.text.clone(),
        source: Box::new(source),
    };
    let model = target.profile.model().map_err(|error| refuse(error.into()))?;
    if request.scenario.asks_a_card() {
        return Err(refuse(VirtualError::NoCard));
    }
    let aged = flashlag_flash::aged_by(&model, request.seed, target.age, target.daily);
    let (flash, began) = aged.map_err(|error| refuse(error.into()))?;
    let spec = StackSpec::of(&target.mount).map_err(|error| refuse(error.into()))?;
    #[cfg(not(target_family = "wasm"))]
    if spec.atomic && !flashlag_sqlite::has_atomic_writes() {
        return Err(refuse(VirtualError::NoAtomicWrites));
    }
    let device = FlashDevice::new(flash);
    let device = if request.waits { device.with_waits() } else { device };
    device.clock().advance_to(began);
    let stack = Stack::mount(device, spec, &model.stack)
        .map_err(|error| refuse(error.into()))?
        .seeded(request.seed);
    if request.waits {
        stack.keep_waits();
    }
    let environment = environment::environment(
        &target.profile,
        &model,
        &target.mount,
        stack.total(),
        stack.free(),
    );
    let recorded = Target {
        kind: TargetKind::Simulated,
        name: target.text.clone(),
        directory: None,
        profile: Some(profile_record(
            &target.profile,
            target.mount.to_string(),
            target.device_options(),
        )),
    };
    let leave = reviewers_leave(request.leave);
    let estimate = estimate(&request.scenario, stack.free().saturating_minus(leave.0));
    let run = new_run(&request, recorded, leave.clone(), environment);
    let world = Simulation {
        stack,
        laid_out: [None, None, None],
        grown_beside: None,
        save_cpu: model.stack.save_cpu.0,
        fills: 0,
        filled: Vec::new(),
    };
    Ok(Work::new(request, run, world, estimate, leave.0))
}

#[cfg(not(target_family = "wasm"))]
/// Simulates a run for its phases alone: without findings, a judgement and a checksum, which take longer
/// than a short test. Nothing is stored.
pub fn measure(request: Request, observer: &mut dyn Observer) -> Result<Run, RunError> {
    let request = request.unstored().with_traces()?;
    let target = request.target.simulated()?.clone();
    let mut work = prepare(request, &target)?;
    let scenario = work.request.scenario.clone();
    work.run.status = work.go_through(&tasks(&scenario), 0, observer)?;
    Ok(work.run)
}

/// Does every task of a simulation and stores the run.
pub(crate) fn finish(
    mut work: Work<Simulation>,
    observer: &mut dyn Observer,
) -> Result<Run, RunError> {
    let scenario = work.request.scenario.clone();
    let status = work.go_through(&tasks(&scenario), 0, observer)?;
    work.refresh();
    work.run.status = status;
    #[cfg(not(target_family = "wasm"))]
    if let Some(output) = work.request.output.clone() {
        output.store(&mut work.run)?;
        return Ok(work.run);
    }
    work.run.seal();
    Ok(work.run)
}

impl Simulation {
    fn refresh(&self, run: &mut Run, evidence: &Evidence<LayerCounters>) {
        let stats = self.stack.with_device(|device| device.stats());
        run.simulated_ns = Some(self.stack.clock().now());
        run.wear.block_bytes = Reading::Value(stats.host_written);
        run.wear.life_percent = match stats.life_used {
            Some(share) => Reading::Value(share * 100.0),
            None => Reading::unavailable("the profile gives no endurance (wear.endurance)"),
        };
        run.trust = trust::trust(
            &run.environment,
            &run.phases,
            &evidence.fills,
            evidence.leave,
            self.stack.free(),
        );
    }
}
