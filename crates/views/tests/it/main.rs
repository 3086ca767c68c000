//! The tests of `flashlag-views` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod beside;
mod compare;
mod compare_sides;
mod fail_if;
mod fills;
mod formats;
mod history;
mod layered;
mod odd_runs;
mod over_time;
mod pages;
mod replays;
mod require;
mod samples;
mod sentences;
mod sizes;
mod trace;
mod verdicts;
mod worst_state;
