//! The tests of `flashlag-nbd` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod commands;
mod common;
mod deaths;
mod fio;
mod neighbours;
mod serving;
