//! The tests of `flashlag-engine` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod common;
mod conformance_files;
mod drive_edges;
mod drive_real;
mod drive_virtual;
mod fill_loop;
mod fill_trim;
mod guard_kill;
mod guard_rules;
mod mixed_and_threads;
mod refused;
mod series_end;
mod several_files;
mod thinking;
mod wait_split;
