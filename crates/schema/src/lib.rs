//! The types of results: the run file with everything that was measured, traces, and what is written
//! about them. Run files are versioned, and `flashlag schema` prints their JSON Schema. The types of
//! requests (scenario, target, profile) are in `flashlag_spec`.
//!
//! [`RUN_JSON_SCHEMA`] is generated from the types and committed, so that the program contains
//! neither the generator nor its code. A test compares the file with the types.
//!
//! Units are in the names of the fields. A value that could not be read is absent with a reason
//! ([`flashlag_spec::Reading`]), never 0.
#![forbid(unsafe_code)]

mod card;
mod clocks;
mod comparison;
mod conditions;
pub mod counters;
mod cuts;
mod environment;
pub mod finding;
mod histogram;
pub mod history;
pub mod internals;
mod lag;
mod layer;
mod limits;
mod phase;
mod pressure;
mod pretty;
mod recorded;
pub mod remote;
mod run;
mod seal;
mod served;
mod stall;
pub mod trace;
mod trust;
pub mod verify;
mod watched;

use flashlag_spec::PackedText;

pub use card::{
    CardCheck, CardHolds, CardLost, CardReach, CardRewritten, CardStretch, CardVerdict,
};
pub use clocks::ClockReading;
pub use comparison::{
    COMPARISON_SCHEMA, CheckOutcome, ComparedCheck, ComparedField, ComparedFigure, ComparedFigures,
    ComparedOverload, ComparedRatio, ComparedSubject, ComparedTest, ComparisonRecord,
};
pub use conditions::{ConditionLimits, Conditions, OtherIo, Power, Throttling};
pub use cuts::{CutRepairs, Cuts};
pub use environment::{
    Cpu, Device, DeviceLife, Encryption, Environment, Filesystem, Queue, Quota, QuotaOf, Software,
};
pub use histogram::{LatencySummary, StoredHistogram};
pub use lag::Lag;
pub use layer::{Layer, LayerKind};
pub use limits::{Limit, LimitCount, LimitKind, Limits};
pub use phase::{
    BlockKinds, Change, ChangeKind, Floor, Growth, GrowthPart, IntervalRecord, KindCount, Ledger,
    Mixed, Phase, Replayed, Think, WaitRecord,
};
pub use pressure::PressureStall;
pub use pretty::to_json_pretty;
pub use run::{
    Integrity, Options, ProfileRecord, Program, Run, RunStatus, SCHEMA, ScenarioRecord,
    SharedRecord, Skipped, Target, TargetKind, Wear,
};
pub use seal::RunFileError;
pub use served::{CutReport, DeviceCount, DeviceStats, HostRequests, Lateness, SlowRequest};
pub use stall::{CauseBasis, StallCause, StallRecord, Time, WaitPart};
pub use trust::{Check, CheckCause, CheckId, CheckStatus, Trust};
pub use watched::{Look, Looks, Surroundings, Watched};

/// The JSON Schema of a run file, as indented JSON.
pub static RUN_JSON_SCHEMA: PackedText =
    PackedText::new(include_bytes!(concat!(env!("OUT_DIR"), "/run.schema.json")));

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

/// The JSON Schema of written files, in which every field that is always written is required; a
/// reader of run files accepts some files without them.
#[cfg(feature = "json-schema")]
pub fn written_json_schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<Written>().to_value()
}
