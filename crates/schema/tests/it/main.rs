//! The tests of `flashlag-schema` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod counters;
mod environment;
mod generated;
mod json_schema;
mod phase;
mod results_format;
mod stored;
mod verify;
mod verify_bounds;
mod verify_mixed;
mod verify_parts;
