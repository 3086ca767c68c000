//! The tests of `flashlag-watch` from outside, in one program.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod book;
mod day;
mod ends;
mod glance;
mod kills;
mod made;
mod noise;
mod years;
