//! The loop in Rust that `bench_device.py` compares with: the same writes to the same device, one after
//! the other.
//!
//! `cargo run --profile wheel -p flashlag-python --example rust_loop PROFILE.toml PAGES AGING`: `PAGES`
//! holds page numbers of 32 bits; of these the first `AGING` are written before the clock starts.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::error::Error;
use std::time::Duration;

use flashlag_flash::{Command, Flash};
use flashlag_spec::profile::Profile;
use flashlag_units::{Bytes, Nanos};

const PAGE: u64 = 4096;
/// Addresses that are prefetched together.
const AHEAD: usize = 32;

/// Writes pages one after the other; ends at the time that the last one does.
fn write(flash: &mut Flash, from: Nanos, pages: &[u32]) -> Result<Nanos, Box<dyn Error>> {
    let mut at = from;
    for block in pages.chunks(AHEAD) {
        let mut offsets = [Bytes::ZERO; AHEAD];
        for (offset, page) in offsets.iter_mut().zip(block) {
            *offset = Bytes(u64::from(*page) * PAGE);
        }
        flash.expect(&offsets[..block.len()]);
        for offset in &offsets[..block.len()] {
            let command = Command::Write { offset: *offset, length: Bytes(PAGE), fua: false };
            at = flash.submit(at, command)?.ended;
        }
    }
    Ok(at)
}

/// Time of this process on the CPU.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [profile, pages, aging] = words.as_slice() else {
        return Err("give PROFILE.toml PAGES AGING".into());
    };
    let model = Profile::parse(&std::fs::read_to_string(profile)?)?.model()?;
    let bytes = std::fs::read(pages)?;
    let number = |four: &[u8]| four.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
    let pages: Vec<u32> = bytes.chunks_exact(4).map(number).collect();
    let (aging, measured) = pages.split_at(aging.parse()?);
    let mut flash = Flash::new(&model, 1)?;
    let aged = write(&mut flash, Nanos::ZERO, aging)?;
    let before = cpu_time();
    let ended = write(&mut flash, aged, measured)?;
    let seconds = (cpu_time() - before).as_secs_f64();
    println!("{} {}", measured.len() as f64 / seconds, ended.0);
    Ok(())
}
