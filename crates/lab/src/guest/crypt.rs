//! Encryption below the filesystem, in the guest: `cryptsetup` from the host, in its plain mode, which
//! keeps nothing on the disk.

use std::path::{Path, PathBuf};

use flashlag_spec::target::Cipher;

use crate::error::LabError;
use crate::program::run;

/// The guest's file with the key. The key protects nothing, but cryptsetup needs one.
const KEY: &str = "/tmp/key";
/// The kernel's name of a cipher, and the size of its key in bits.
fn words(cipher: Cipher) -> (&'static str, usize) {
    match cipher {
        Cipher::AesXts => ("aes-xts-plain64", 256),
        Cipher::Adiantum => ("xchacha12,aes-adiantum-plain64", 256),
    }
}

/// Opens an encrypted disk under a name. Returns the path of the open disk.
pub(super) fn open(disk: &Path, cipher: Cipher, name: &str) -> Result<PathBuf, LabError> {
    let (kernel_name, bits) = words(cipher);
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
            kernel_name,
            "--key-size",
            &bits,
            "--key-file",
            KEY,
            "--sector-size",
            "4096",
            "--allow-discards",
            &disk.to_string_lossy(),
            name,
        ],
    )?;
    Ok(Path::new("/dev/mapper").join(name))
}
