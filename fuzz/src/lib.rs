//! Every parser of flashlag under libFuzzer: `cargo +nightly fuzz run TARGET corpus/TARGET
//! seeds/TARGET` in this directory. The same checks run over the seeds and mutations of them in
//! `crates/cli/tests/program/fuzz_seeds.rs`, on stable Rust.
#![forbid(unsafe_code)]

pub mod checks;
