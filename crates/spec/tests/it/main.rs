//! The tests of `flashlag-spec` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod keys;
mod profiles;
mod published_fio;
mod reference;
mod scenarios;
