//! What several test programs use.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]
#![allow(clippy::print_stdout, reason = "a test that fails says its seed")]
#![allow(dead_code, reason = "each test program uses some of it")]

use std::hash::{BuildHasher, RandomState};
use std::process::Output;

use flashlag_standin::{AdbServer, Builder, Phone};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// A phone and an adb that is connected to it.
pub struct Pair {
    pub adb: AdbServer,
    pub phone: Phone,
    pub serial: String,
}

/// The phone that a builder makes, connected; skips where that can't be.
pub fn pair(builder: Builder) -> Option<Pair> {
    if let Some(lack) = builder.lacks() {
        flashlag_need::skip(lack);
        return None;
    }
    let (adb, phone) = (AdbServer::start().unwrap(), builder.start().unwrap());
    let serial = adb.connect(&phone).unwrap();
    Some(Pair { adb, phone, serial })
}

impl Pair {
    pub fn shell(&self, command: &str) -> Output {
        self.adb.shell(&self.serial, command).unwrap()
    }

    /// What a command prints; it must succeed.
    pub fn says(&self, command: &str) -> String {
        let output = self.shell(command);
        assert!(output.status.success(), "{command}: {output:?}");
        text(&output.stdout)
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.adb.run(&[&["-s", &self.serial], arguments].concat()).unwrap()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A generator whose seed is printed; `FLASHLAG_TEST_SEED` sets it.
pub fn random() -> Pcg64Mcg {
    let set = std::env::var("FLASHLAG_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = set.unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("FLASHLAG_TEST_SEED={seed}");
    Pcg64Mcg::seed_from_u64(seed)
}
