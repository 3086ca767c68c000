//! Devices that live fast, and what tests write to them.
#![allow(dead_code, reason = "each test uses some of it")]

use flashlag_flash::minimum_size;
use flashlag_serve::{ServedDevice, Settings};
use flashlag_spec::profile::Profile;
use flashlag_units::Bytes;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

pub const BLOCK: u64 = 4096;
/// Blocks that are written to: few, so that they are overwritten often.
pub const SPAN: u64 = 96;
/// Kinds of devices: with a volatile buffer, without, with a write cache, a map of log blocks.
pub const PROFILES: [&str; 5] =
    ["nexus7-2012", "nexus5-2013", "moto-x-2013", "ufs31-phone", "sd-c10"];

/// A small device of a profile, so fast that nobody waits.
pub fn settings(profile: &str, seed: u64) -> Settings {
    let model = Profile::find(profile).unwrap().model().unwrap();
    let least = minimum_size(&model).unwrap();
    let size = Bytes(least.0.max(256 << 20));
    let time_scale = "100000".parse().unwrap();
    Settings { size: Some(size), seed, time_scale, ..Settings::of(profile) }
}

pub fn open(profile: &str, seed: u64) -> ServedDevice {
    ServedDevice::open(&settings(profile, seed)).unwrap()
}

/// What a block holds that was written as the number-th.
pub fn block(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(BLOCK as usize / 8)
}

/// The number that a block holds; it must be whole.
pub fn number(content: &[u8], what: &str) -> u64 {
    let mut words = content.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let first = words.next().unwrap();
    assert!(words.all(|word| word == first), "{what}: a block is torn");
    first
}

pub fn read(device: &ServedDevice, at: u64, what: &str) -> u64 {
    let mut content = vec![0; BLOCK as usize];
    device.read(at * BLOCK, &mut content).unwrap();
    number(&content, what)
}

/// What each block may hold after a power cut: the last is what it holds now.
pub struct Witness {
    pub allowed: Vec<Vec<u64>>,
    pub random: Pcg64Mcg,
    next: u64,
}

impl Witness {
    pub fn new(seed: u64) -> Witness {
        let random = Pcg64Mcg::seed_from_u64(seed);
        Witness { allowed: vec![vec![0]; SPAN as usize], random, next: 1 }
    }

    /// One request: mostly a write of a few blocks, else a flush or a discard.
    pub fn step(&mut self, device: &ServedDevice) {
        let first = self.random.random_range(0..SPAN);
        let count = self.random.random_range(1..=8).min(SPAN - first);
        let blocks = first as usize..(first + count) as usize;
        match self.random.random_range(0..10) {
            0 => {
                device.flush().unwrap();
                self.allowed.iter_mut().for_each(Witness::keep_last);
            }
            1 => {
                device.trim(first * BLOCK, count * BLOCK, false).unwrap();
                // A device may keep what is not a whole mapping unit of its own.
                for at in blocks {
                    let held = read(device, at as u64, "after a discard");
                    let before = *self.allowed[at].last().unwrap();
                    assert!(held == 0 || held == before, "a discard left {held} in {at}");
                    self.allowed[at].push(held);
                }
            }
            kind => {
                let fua = kind == 2;
                let numbers: Vec<u64> = (self.next..self.next + count).collect();
                self.next += count;
                let content: Vec<u8> = numbers.iter().flat_map(|number| block(*number)).collect();
                device.write(first * BLOCK, &content, fua).unwrap();
                for (at, number) in blocks.zip(numbers) {
                    self.allowed[at].push(number);
                    if fua {
                        Witness::keep_last(&mut self.allowed[at]);
                    }
                }
            }
        }
    }

    fn keep_last(versions: &mut Vec<u64>) {
        versions.drain(..versions.len() - 1);
    }

    /// After a cut: every block is as it was at some time since it was durable.
    pub fn check(&mut self, device: &ServedDevice, what: &str) {
        for (at, allowed) in self.allowed.iter_mut().enumerate() {
            let held = read(device, at as u64, what);
            assert!(allowed.contains(&held), "{what}: block {at} holds {held}, not {allowed:?}");
            *allowed = vec![held];
        }
    }
}
