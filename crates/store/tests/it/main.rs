//! The tests of `flashlag-store` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod columns;
mod common;
mod documented;
mod entries;
mod folder;
mod parquet;
mod place;
mod postgres;
mod writers;
