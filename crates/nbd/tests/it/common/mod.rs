//! Devices for tests, where nbdkit is.
#![allow(clippy::print_stdout, reason = "a test that skips says so")]
#![allow(dead_code, reason = "each test uses some of it")]

pub mod client;
pub mod negotiated;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use flashlag_serve::{Launch, Listen, Running, Settings};

pub use client::Client;

/// The socket of a device.
pub fn socket(running: &Running) -> PathBuf {
    match running.listen() {
        Listen::Unix(path) => path.clone(),
        Listen::Tcp(..) => panic!("tests use sockets of their own"),
    }
}

pub fn connect(running: &Running) -> Client {
    Client::connect(&socket(running)).unwrap()
}

/// A small device, so fast that nobody waits.
pub fn fast(profile: &str) -> Settings {
    Settings {
        size: Some(flashlag_units::Bytes::from_mib(512)),
        time_scale: "1000".parse().unwrap(),
        ..Settings::of(profile)
    }
}

/// The plugin, as it is now: cargo builds no plugin for a test by itself. The script that runs all tests
/// has built it with the workspace; alone it has other features, and is compiled anew.
fn plugin() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        // The test is in TARGET/PROFILE/deps.
        let test = std::env::current_exe().unwrap();
        let profile = test.ancestors().nth(2).unwrap();
        let plugin = profile.join("libflashlag_nbd.so");
        if std::env::var_os("FLASHLAG_TEST_BUILT").is_some() {
            return plugin;
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--locked", "-p", "flashlag-nbd", "--target-dir"]);
        command.arg(profile.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
        if profile.ends_with("release") {
            command.arg("--release");
        }
        assert!(command.status().unwrap().success(), "cannot build the plugin");
        plugin
    };
    BUILT.get_or_init(build).clone()
}

/// A device to be started with that plugin.
pub fn launch(settings: Settings) -> Launch {
    Launch { plugin: Some(plugin()), ..Launch::new(settings) }
}

/// Starts a device; skips without nbdkit.
pub fn start(settings: Settings) -> Option<Running> {
    flashlag_need::program("nbdkit", "nbdkit")?;
    Some(launch(settings).start().unwrap())
}
