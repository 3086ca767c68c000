//! What the program and the Python package both do: run, compare, explain, predict, fit, verify.
//!
//! Both pass on words (a scenario's name, `sim:pixel-2016+f2fs`, `full=90%`) and get runs,
//! comparisons, forecasts and profiles back. So both understand the words alike and refuse them
//! with the same messages. Nothing is printed here; progress goes to a [`Counting`], if there is
//! one.
#![forbid(unsafe_code)]

mod compare;
mod error;
mod explain;
mod files;
#[cfg(feature = "fit")]
mod fit;
mod limits;
mod predict;
mod protocol;
mod run;
mod simulations;
mod verify;

pub use compare::{Sides, compared};
pub use error::{CommandError, one_paragraph};
pub use explain::{Forecasts, Subject, explained};
pub use files::{earlier, name_of, run_from, scenario_text};
#[cfg(feature = "fit")]
pub use fit::{FitWords, fit};
pub use limits::{ASK_ABOVE, Limits, celsius, percent};
pub use predict::{PredictWords, Prediction};
pub use run::{RunWords, consent, label, proves_card};
pub use simulations::{Counting, Silent, Simulations, scenario_of_check};
pub use verify::discrepancies;
