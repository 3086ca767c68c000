//! The request for a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_schema::{ConditionLimits, Run};
use flashlag_spec::replay::ReplayStream;
use flashlag_spec::scenario::Scenario;
use flashlag_units::Bytes;

#[cfg(not(target_family = "wasm"))]
use crate::output::RunFile;
use crate::target::Target;

/// The operations of traces, by the name of the test that replays them.
pub type Replays = BTreeMap<String, Arc<ReplayStream>>;

/// A run to be made, on any target.
#[derive(Clone, Debug)]
pub struct Request {
    /// The steps and tests.
    pub scenario: Scenario,
    /// The operations of the traces to replay, by the name of the test; [`crate::prepare`] reads
    /// the missing ones.
    pub replays: Replays,
    /// The storage that is measured.
    pub target: Target,
    /// The seed of every random choice.
    pub seed: u64,
    /// Free space that a fill leaves; `None` for the target's default.
    pub leave: Option<Bytes>,
    /// The most that may be written.
    pub budget: Option<Bytes>,
    /// Whether every byte is read back and compared.
    pub verify: bool,
    /// Limits of charge and heat on a device with a battery.
    pub limits: ConditionLimits,
    /// The user's name for the device under test.
    pub label: Option<String>,
    /// The command line, as it is recorded.
    pub command: Vec<String>,
    /// The run file; `None` for a run that only feeds a forecast.
    #[cfg(not(target_family = "wasm"))]
    pub output: Option<Arc<RunFile>>,
    /// An earlier run of the same scenario, to be continued.
    pub resume: Option<Box<Run>>,
    /// Whether a simulation keeps account of what its operations wait for. Times are the same without, and a
    /// forecast of months asks only for those.
    pub waits: bool,
    /// Raised from outside to end the run.
    pub stop: Arc<AtomicBool>,
}

impl Request {
    /// A run with nothing but defaults: not stored, not limited, and never stopped from outside.
    pub fn new(scenario: Scenario, target: Target, seed: u64) -> Request {
        Request {
            scenario,
            replays: Replays::new(),
            target,
            seed,
            leave: None,
            budget: None,
            verify: false,
            limits: ConditionLimits::default(),
            label: None,
            command: Vec::new(),
            #[cfg(not(target_family = "wasm"))]
            output: None,
            resume: None,
            waits: true,
            stop: Arc::new(AtomicBool::new(false)),
        }
    }

    /// The same run without a run file.
    pub(crate) fn unstored(self) -> Request {
        #[cfg(not(target_family = "wasm"))]
        return Request { output: None, ..self };
        #[cfg(target_family = "wasm")]
        self
    }
}
