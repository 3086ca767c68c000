//! The tests of `flashlag-flash` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod batch;
mod common;
mod conformance;
mod device;
mod limits;
mod modern;
mod past;
mod power_cut;
mod slices;
mod waits;
mod wear;
