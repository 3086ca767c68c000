//! The tests of `flashlag-sqlite` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod common;
mod faults;
mod growth;
mod limits;
mod matrix;
mod phase;
mod transactions;
