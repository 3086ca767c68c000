//! The types of requests: scenarios (what is done to the storage), targets (which storage), profiles
//! (the parameters of a modelled device) and replays; and the few types of the workers' answers. The
//! types of results are in `flashlag_schema`, on which no model of a device depends.
//!
//! The lists of keys are generated from the types and committed, so that the program contains
//! neither the generator nor its code. A test compares the files with the types.
#![forbid(unsafe_code)]

mod answer;
mod calibration;
mod hint;
mod packed;
pub mod profile;
pub mod published;
mod reading;
pub mod replay;
pub mod scenario;
pub mod target;
mod words;

pub use answer::{Cleanup, Downgrade, FlashState};
pub use calibration::{Calibration, ClockCalibration, EngineOverhead};
pub use packed::PackedText;
pub use reading::Reading;
pub use words::{Operation, State, TraceFileKind, TraceSourceKind, Verdict};

/// Every key of a scenario's file, as lines for a terminal.
pub static SCENARIO_KEYS: PackedText = packed::packed!("generated/scenario-keys.txt");
/// Every key of a profile's file, as lines for a terminal.
pub static PROFILE_KEYS: PackedText = packed::packed!("generated/profile-keys.txt");

/// The JSON Schema of what reads a scenario's file.
#[cfg(feature = "json-schema")]
pub fn scenario_json_schema() -> serde_json::Value {
    schemars::schema_for!(scenario::ScenarioFile).to_value()
}

/// The JSON Schemas of what reads a profile's file: its head, its sections, a parameter.
#[cfg(feature = "json-schema")]
pub fn profile_json_schemas() -> [serde_json::Value; 3] {
    use profile::{Model, Parameter, ProfileHead};
    [
        schemars::schema_for!(ProfileHead).to_value(),
        schemars::schema_for!(Model).to_value(),
        schemars::schema_for!(Parameter).to_value(),
    ]
}
