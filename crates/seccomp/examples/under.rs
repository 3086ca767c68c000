//! Runs a program under Android's filter of system calls for apps (of x86_64, or of ARM with 64 and 32 bits):
//! `cargo run -p flashlag-seccomp --example under -- 8 dist/flashlag-x86_64 run quick --on DIRECTORY`.
#[path = "../tests/common/mod.rs"]
mod common;

use std::os::unix::process::CommandExt;
use std::process::Command;

fn main() {
    let mut words = std::env::args_os().skip(1);
    let android = words.next().and_then(|word| word.to_str()?.parse().ok());
    let (Some(android), Some(program)) = (android, words.next()) else {
        panic!("usage: under ANDROID PROGRAM [WORD...], with an Android of {:?}", common::ANDROIDS);
    };
    if let Err(error) = seccompiler::apply_filter(&common::filter(android, &[])) {
        panic!("cannot install the filter: {error}");
    }
    panic!("{}: {}", program.display(), Command::new(&program).args(words).exec());
}
