//! The tests of `flashlag-inspect` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod captured;
mod garbage;
mod limits;
mod live;
mod mounted;
