//! A stand-in phone to play with by hand:
//! `cargo run -p flashlag-standin --example phone -- --model pixel4-android13`.
//!
//! It prints its address and serves until Ctrl-C.

#![allow(clippy::print_stdout, reason = "it prints its address")]

use std::io::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use flashlag_standin::{Model, Phone, State};

fn main() -> Result<()> {
    let mut builder = Phone::builder();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().ok_or_else(|| Error::other(format!("{argument} what?")));
        builder = match argument.as_str() {
            "--model" => builder.model(&value()?),
            "--without" => builder.without([value()?.as_str()]),
            "--unreadable" => builder.unreadable([value()?.as_str()]),
            "--runner" => builder.runner(&value()?),
            "--abis" => builder.abis(&value()?),
            "--features" => builder.features(value()?.split(',').filter(|name| !name.is_empty())),
            "--data-mib" => {
                let mib: u64 = value()?.parse().map_err(Error::other)?;
                builder.data_size(Some(mib << 20))
            }
            "--volume-mib" => {
                let mib: u64 = value()?.parse().map_err(Error::other)?;
                builder.volume("ABCD-1234", mib << 20)
            }
            "--unauthorised" => builder.state(State::Unauthorised),
            "--silent" => builder.state(State::Silent),
            _ => return usage(),
        };
    }
    if let Some(reason) = builder.lacks() {
        return Err(Error::other(reason));
    }
    let phone = builder.start()?;
    println!("adb connect {}", phone.address());
    println!("root: {}", phone.root().display());
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ends))?;
    }
    while !ends.load(Ordering::Relaxed) {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    Ok(())
}

fn usage() -> Result<()> {
    println!(
        "phone [--model NAME] [--without PROGRAM]... [--unreadable PATH]... [--features A,B]\n      \
         [--data-mib N] [--volume-mib N] [--runner qemu-aarch64-static] [--abis A,B] [--unauthorised | --silent]\nmodels: {}",
        Model::names().join(" ")
    );
    Ok(())
}
