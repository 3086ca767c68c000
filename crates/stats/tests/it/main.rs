//! The tests of `flashlag-stats` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod change;
mod histogram;
mod live;
mod recorder;
mod steady;
