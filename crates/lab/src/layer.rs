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
    /// A bind mount, which costs nothing.
    Bind,
}

impl Layer {
    /// The word in a target.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Fuse => "fuse",
            Layer::Overlay => "overlay",
            Layer::Bind => "bind",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Layer> {
        [Layer::Fuse, Layer::Overlay, Layer::Bind].into_iter().find(|layer| layer.name() == word)
    }

    /// The kernel module it needs.
    pub fn module(self) -> Option<&'static str> {
        match self {
            Layer::Fuse => Some("fuse"),
            Layer::Overlay => Some("overlay"),
            Layer::Bind => None,
        }
    }

    /// The program it needs, and the Debian package of that program.
    pub fn program(self) -> Option<(&'static str, &'static str)> {
        (self == Layer::Fuse).then_some((DAEMON, DAEMON))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_typed_as_it_is_named() {
        for layer in [Layer::Fuse, Layer::Overlay, Layer::Bind] {
            assert_eq!(Layer::parse(layer.name()), Some(layer));
        }
        assert_eq!(Layer::parse("sdcardfs"), None);
    }
}
