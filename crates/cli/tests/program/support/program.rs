//! The program under test, and what it finds on this machine.

use std::path::PathBuf;

pub fn flashlag() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_flashlag"))
}

/// The plugin that cargo built with the workspace.
pub fn plugin() -> Option<PathBuf> {
    let folder = flashlag().parent()?.to_owned();
    let folders = [folder.clone(), folder.join("deps")];
    folders.map(|folder| folder.join("libflashlag_nbd.so")).into_iter().find(|file| file.is_file())
}

pub fn has(program: &str) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
