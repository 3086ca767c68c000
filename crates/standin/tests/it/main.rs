//! The tests of `flashlag-standin` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod adb;
mod cable;
mod common;
mod models;
