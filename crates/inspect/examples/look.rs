//! Prints what is seen of a directory: `cargo run -p flashlag-inspect --example look -- DIR`.
#![allow(clippy::print_stdout, reason = "printing is what this example does")]

use std::path::PathBuf;

use flashlag_inspect::{Probe, Root, environment};

fn main() {
    let directory = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    let environment = environment(&Root::system(), &directory);
    println!("{}", serde_json::to_string_pretty(&environment).unwrap_or_default());
    let probe = Probe::open(&Root::system(), &directory);
    let started = std::time::Instant::now();
    let counters = probe.counters();
    println!("{counters:#?}\nread in {:?}", started.elapsed());
}
