//! Every stored type. A scenario describes what is done to the storage; a run holds everything that
//! was measured. Both are versioned, and `flashlag schema` prints the JSON Schema of a run.
//!
//! [`RUN_JSON_SCHEMA`] and the lists of keys are generated from the types and committed, so that the
//! program carries neither the generator nor its code. A test holds the files to the types.
//!
//! Units are in the names of the fields. A value that could not be read is absent with a reason
//! ([`Reading`]), never 0.
#![forbid(unsafe_code)]

mod calibration;
mod comparison;
mod conditions;
pub mod counters;
mod cuts;
mod environment;
pub mod finding;
mod hint;
mod histogram;
pub mod internals;
mod lag;
mod layer;
mod limits;
mod packed;
mod phase;
mod pressure;
pub mod profile;
pub mod published;
mod reading;
mod recorded;
#[cfg(feature = "json-schema")]
pub mod reference;
pub mod remote;
pub mod replay;
mod run;
pub mod scenario;
mod seal;
mod served;
mod stall;
pub mod target;
pub mod trace;
mod trust;
pub mod verify;
mod watched;
mod words;

pub use calibration::{Calibration, ClockCalibration, EngineOverhead};
pub use comparison::{
    COMPARISON_SCHEMA, CheckOutcome, ComparedCheck, ComparedField, ComparedFigure, ComparedFigures,
    ComparedOverload, ComparedRatio, ComparedSubject, ComparedTest, ComparisonRecord,
};
pub use conditions::{ConditionLimits, Conditions, OtherIo, Power, Throttling};
pub use cuts::Cuts;
pub use environment::{
    Cpu, Device, DeviceLife, Encryption, Environment, Filesystem, Queue, Quota, QuotaOf, Software,
};
pub use histogram::{LatencySummary, StoredHistogram};
pub use lag::Lag;
pub use layer::{Layer, LayerKind};
pub use limits::{Limit, LimitCount, LimitKind, Limits};
pub use packed::PackedText;
pub use phase::{
    BlockKinds, Change, ChangeKind, Cleanup, Floor, Growth, GrowthPart, IntervalRecord, KindCount,
    Ledger, Mixed, Phase, Think, WaitRecord,
};
pub use pressure::PressureStall;
pub use reading::Reading;
pub use run::{
    Downgrade, Integrity, Options, ProfileRecord, Program, Run, RunStatus, SCHEMA, ScenarioRecord,
    SharedRecord, Skipped, Target, TargetKind, Wear,
};
pub use seal::RunFileError;
pub use served::{
    CutReport, DeviceCount, DeviceStats, FlashState, HostRequests, Lateness, SlowRequest,
};
pub use stall::{CauseBasis, StallCause, StallRecord, Time, WaitPart};
pub use trust::{Check, CheckCause, CheckId, CheckStatus, Trust, Verdict};
pub use watched::{Look, Looks, Surroundings, Watched};
pub use words::{Operation, State};

/// The JSON Schema of a run file, as indented JSON.
pub static RUN_JSON_SCHEMA: PackedText = packed::packed!("generated/run.schema.json");
/// Every key of a scenario's file, as lines for a terminal.
pub static SCENARIO_KEYS: PackedText = packed::packed!("generated/scenario-keys.txt");
/// Every key of a profile's file, as lines for a terminal.
pub static PROFILE_KEYS: PackedText = packed::packed!("generated/profile-keys.txt");

/// The JSON Schema of a run file, generated from the types.
#[cfg(feature = "json-schema")]
pub fn run_json_schema() -> serde_json::Value {
    schemars::schema_for!(Run).to_value()
}

/// What flashlag writes as JSON.
#[cfg(feature = "json-schema")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the schema alone is made of it")]
enum Written {
    /// A run file.
    Run(Box<Run>),
    /// What `flashlag compare -o FILE.json` writes.
    Comparison(Box<ComparisonRecord>),
    /// What `flashlag explain --json` prints.
    Explanation(Box<finding::Explained>),
}

/// The JSON Schema of all that is written, in which a field that is always there is required: a reader of
/// run files accepts some that lack it.
#[cfg(feature = "json-schema")]
pub fn written_json_schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<Written>().to_value()
}
