//! Screens of a terminal: live progress, the summary of a run, a comparison, a forecast.
//!
//! Every view but [`progress`] is a pure function from a run to a string and writes nothing.
//! `flashlag-views` decides what a screen says (verdicts, headlines, findings); this crate only
//! lays it out: in columns that fit a width, with or without colour and with or without Unicode.
//! Control characters are removed from strings that come from a device, a file or a user.
#![forbid(unsafe_code)]
// A page in a browser has forecasts alone.
#![cfg_attr(target_family = "wasm", allow(dead_code))]

mod axis;
mod comparison;
mod cuts;
mod device;
pub mod explain;
mod history;
mod line;
mod picture;
pub mod predict;
mod profiles;
#[cfg(not(target_family = "wasm"))]
pub mod progress;
mod recording;
mod repeats;
mod scenarios;
#[cfg(not(target_family = "wasm"))]
mod stream;
mod style;
mod summary;
mod table;
mod text;
mod trace;

pub use comparison::{comparison, comparison_in_full, comparison_verdict};
pub use cuts::power_cuts;
pub use device::{device_stats, power_cut};
pub use history::history;
pub use profiles::profiles;
#[cfg(not(target_family = "wasm"))]
pub use progress::{Counter, Progress, ProgressMode, SideBySide};
pub use recording::{Recording, WriterRow, recording, recording_line};
pub use repeats::repeats;
pub use scenarios::{scenario, scenarios};
pub use style::Style;
pub use summary::{files, summary, summary_in_full, trust, verdict};
pub use text::wrapped;
pub use trace::trace;
