//! The tests of `flashlag-export` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod comparisons;
mod exports;
mod fio;
mod fio_forms;
mod fio_job;
mod gate;
mod openmetrics;
mod prometheus;
