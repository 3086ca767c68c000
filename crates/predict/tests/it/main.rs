//! The tests of `flashlag-predict` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod change;
mod check;
mod common;
mod effect;
mod effect_simulated;
mod fit;
mod fit_runs;
mod parse;
mod profiles;
mod round_trip;
mod years;
