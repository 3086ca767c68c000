//! The tests of `flashlag-serve` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod common;
mod control;
mod full_disk;
mod power_cut;
mod requests;
mod stored;
