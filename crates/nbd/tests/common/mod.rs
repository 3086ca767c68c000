//! Devices for tests, where nbdkit is.
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::path::{Path, PathBuf};

use flashlag_serve::{Launch, Running, Settings};

/// The plugin that cargo built beside this test.
fn plugin() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders = test.ancestors().skip(1).take(2);
    let files = folders.map(|folder| folder.join("libflashlag_nbd.so"));
    files.into_iter().find(|file| file.is_file()).unwrap()
}

/// A device to be started with that plugin.
pub fn launch(settings: Settings) -> Launch {
    Launch { plugin: Some(plugin()), ..Launch::new(settings) }
}

/// Starts one; `None`, visibly, where there is no nbdkit.
pub fn start(settings: Settings) -> Option<Running> {
    let found = ["/usr/bin/nbdkit", "/usr/sbin/nbdkit", "/usr/local/bin/nbdkit"];
    if !found.iter().any(|path| Path::new(path).is_file()) {
        println!("skipped: there is no nbdkit (install the package nbdkit)");
        return None;
    }
    Some(launch(settings).start().unwrap())
}
