//! Encryption below the filesystem, in the guest: `cryptsetup` from the host, in its plain mode, which
//! keeps nothing on the disk.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flashlag_spec::target::Cipher;

use crate::error::LabError;
use crate::protocol::Mount;

/// The guest's file with the key. The key protects nothing, but cryptsetup needs one.
const KEY: &str = "/tmp/key";
/// The kernel's name of a cipher, and the size of its key in bits.
fn words(cipher: Cipher) -> (&'static str, usize) {
    match cipher {
        Cipher::AesXts => ("aes-xts-plain64", 256),
        Cipher::Adiantum => ("xchacha12,aes-adiantum-plain64", 256),
    }
}

/// Opens an encrypted disk and makes the filesystem in it. Returns the path of the open disk.
pub(super) fn open(disk: &Path, cipher: Cipher, mount: &Mount) -> Result<PathBuf, LabError> {
    let (name, bits) = words(cipher);
    let key: Vec<u8> = (0..bits / 8).map(|index| index as u8 + 1).collect();
    std::fs::write(KEY, key).map_err(LabError::file("write", KEY))?;
    let bits = bits.to_string();
    run(
        Path::new("/bin/cryptsetup"),
        &[
            "open",
            "--batch-mode",
            "--type",
            "plain",
            "--cipher",
            name,
            "--key-size",
            &bits,
            "--key-file",
            KEY,
            "--sector-size",
            "4096",
            "--allow-discards",
            &disk.to_string_lossy(),
            &mount.serial,
        ],
    )?;
    let opened = Path::new("/dev/mapper").join(&mount.serial);
    if let Some((program, options)) = mount.make.split_first() {
        let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
        let at = opened.to_string_lossy();
        words.push(&at);
        run(Path::new(program), &words)?;
    }
    Ok(opened)
}

fn run(program: &Path, words: &[&str]) -> Result<(), LabError> {
    let mut command = Command::new(program);
    // There is no udev to create nodes and respond.
    command.env("DM_DISABLE_UDEV", "1").args(words).stdin(Stdio::null());
    let output = command.output().map_err(LabError::file("start", program))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let reason = if said.is_empty() { output.status.to_string() } else { said };
    Err(LabError::Program { program: program.display().to_string(), reason })
}
