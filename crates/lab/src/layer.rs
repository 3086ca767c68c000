//! The layers that a target can name above its filesystem.

use serde::{Deserialize, Serialize};

/// The FUSE daemon that passes every call through.
///
/// The overlay daemon, over an empty directory, because it is faithful: bindfs turns each fdatasync
/// into an fsync and drops those of directories, and mergerfs and unionfs refuse writes with
/// `O_DIRECT`.
pub(crate) const DAEMON: &str = "fuse-overlayfs";

/// A layer above a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// A FUSE daemon that passes every call through.
    Fuse,
    /// An overlay over an empty directory.
    Overlay,
    /// A bind mount, at no cost.
    Bind,
}

impl Layer {
    /// The kernel module that the layer needs.
    pub fn module(self) -> Option<&'static str> {
        match self {
            Layer::Fuse => Some("fuse"),
            Layer::Overlay => Some("overlay"),
            Layer::Bind => None,
        }
    }

    /// The program that the layer needs, and its Debian package.
    pub fn program(self) -> Option<(&'static str, &'static str)> {
        (self == Layer::Fuse).then_some((DAEMON, DAEMON))
    }
}
