//! The tests of `flashlag-report` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod browser;
mod chart;
mod common;
mod comparison;
mod odd_runs;
mod page;
