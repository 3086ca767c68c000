//! The tests of `flashlag-term` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod explain;
mod lengths;
mod progress;
mod properties;
mod sides;
mod views;
