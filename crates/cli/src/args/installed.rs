//! What a package installs beside the program.

#[cfg(feature = "man")]
use std::path::PathBuf;

use clap::Args;

/// `flashlag completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `flashlag man-pages`
#[cfg(feature = "man")]
#[derive(Debug, Args)]
pub struct ManPagesArgs {
    /// The folder; it is made
    pub folder: PathBuf,
}
