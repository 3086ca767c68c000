//! Runs a profile's protocols in the simulator.

use flashlag_schema::Run;
use flashlag_spec::profile::{Profile, ProfileCheck};
use flashlag_spec::scenario::Scenario;
use flashlag_spec::target::{Kind, MountSpec};
use flashlag_units::Bytes;

use crate::{ModelError, PredictError, ProtocolError, Simulation, Simulator};

/// The options of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// The seeds that are averaged.
    pub seeds: Vec<u64>,
    /// Whether to move each fitted parameter by a tenth, down and up: two runs of each protocol for each
    /// parameter.
    pub sensitivity: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        CheckOptions { seeds: vec![1, 2, 3], sensitivity: false }
    }
}

/// A check with its parsed protocol.
pub(crate) struct Protocol<'a> {
    pub check: &'a ProfileCheck,
    pub mount: MountSpec,
    /// The mount of the run that it is compared with, for changes.
    pub against: Option<MountSpec>,
    pub scenario: Scenario,
    pub leave: Option<Bytes>,
}

/// The runs of one check with one seed: the run, and the one it is compared with, for changes.
pub(crate) struct Pair {
    pub run: Run,
    pub against: Option<Run>,
}

pub(crate) fn protocols<'a>(
    profile: &'a Profile,
    scenario_text: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Protocol<'a>>, PredictError> {
    if profile.checks.is_empty() {
        return Err(PredictError::NoCheck { profile: profile.name.clone() });
    }
    profile
        .checks
        .iter()
        .map(|check| {
            let wrong = |reason| PredictError::Protocol {
                profile: profile.name.clone(),
                device: check.device.clone(),
                reason,
            };
            let text = scenario_text(&check.scenario).ok_or_else(|| {
                wrong(ProtocolError::UnknownScenario { name: check.scenario.clone() })
            })?;
            let scenario = check.scenario_of(&text).map_err(|reason| {
                wrong(ProtocolError::Scenario {
                    name: check.scenario.clone(),
                    reason: Box::new(reason),
                })
            })?;
            let leave = check.leave.as_ref().map(|text| text.parse()).transpose();
            let leave = leave.map_err(|error| wrong(ProtocolError::Leave(error)))?;
            let mount = |text| {
                let mount = MountSpec::parse(Kind::Sim, text);
                mount.map_err(|error| wrong(ProtocolError::Mount(Box::new(error))))
            };
            let against = check.against.as_deref().map(mount).transpose()?;
            // By default the profile's filesystem is used.
            let mount = mount(check.filesystem.as_deref().unwrap_or(&profile.filesystem))?;
            Ok(Protocol { check, mount, against, scenario, leave })
        })
        .collect()
}

pub(crate) fn run_pair(
    profile: &Profile,
    protocol: &Protocol<'_>,
    seed: u64,
    simulator: &dyn Simulator,
) -> Result<Pair, PredictError> {
    let scenario = &protocol.scenario;
    let changed = profile.overridden(&protocol.check.model).map_err(ModelError::from)?;
    let one = |mount: &MountSpec| {
        let simulation =
            Simulation { profile: &changed, mount, scenario, seed, leave: protocol.leave };
        simulator.simulate(&simulation).map_err(|reason| PredictError::Simulation {
            what: format!("{} on sim:{}+{mount}, seed {seed}", scenario.name, profile.name),
            reason,
        })
    };
    let run = one(&protocol.mount)?;
    let against = protocol.against.as_ref().map(one).transpose()?;
    Ok(Pair { run, against })
}
