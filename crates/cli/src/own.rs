//! Processes of this program that it starts itself.

use std::path::PathBuf;

use anyhow::{Context, Result};

/// This program, even if its file was replaced in the meantime.
pub fn program() -> Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() {
        Ok(own)
    } else {
        std::env::current_exe().context("cannot find the program itself")
    }
}
