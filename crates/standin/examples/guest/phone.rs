//! In the machine: its first process, which mounts `/data` and is adb's daemon.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use flashlag_lab::guest;
use flashlag_lab::protocol::{SETUP, Setup};
use flashlag_standin::Phone;

use crate::{ADB, MODEL, Outcome, READY};

/// Serves adb until the machine is switched off.
pub fn be() -> Outcome {
    guest::mount_system()?;
    let setup: Setup = serde_json::from_str(&std::fs::read_to_string(SETUP)?)?;
    guest::set_up(&setup)?;
    // The addresses of QEMU's own network for a guest.
    for words in [["lo", "127.0.0.1", "up"], ["eth0", "10.0.2.15", "up"]] {
        let done = Command::new("toybox").arg("ifconfig").args(words).output()?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
        }
    }
    let data = setup.mounts.first().map(|mount| mount.at.clone()).unwrap_or_default();
    // This kernel's own name, not that of the model.
    let phone = Phone::builder().model(MODEL).text("uname", kernel_release()?);
    let phone = phone.data_folder(Path::new(&data));
    let _phone = phone.address((Ipv4Addr::UNSPECIFIED, ADB).into()).start()?;
    println!("{READY}");
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn kernel_release() -> std::io::Result<Vec<u8>> {
    std::fs::read("/proc/sys/kernel/osrelease")
}
