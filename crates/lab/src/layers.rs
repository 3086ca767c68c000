//! What lies above a filesystem: each layer shows the directory below it at another place.

use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::mounting::put;

/// The FUSE daemon that passes every call on.
///
/// An overlay's, over an empty directory, since it is a faithful one: bindfs makes an fsync of each
/// fdatasync and drops those of directories, and mergerfs and unionfs refuse writes with `O_DIRECT`.
pub(crate) const DAEMON: &str = "fuse-overlayfs";

/// Starts the FUSE daemon with these words, to be mounted there.
type Serve<'a> = dyn FnMut(&[String], &Path) -> Result<(), LabError> + 'a;

/// A layer above a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// A FUSE daemon that passes every call on.
    Fuse,
    /// An overlay of an empty directory below and one that takes what is written.
    Overlay,
    /// A bind mount, which costs nothing.
    Bind,
}

impl Layer {
    /// As it is typed.
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

    /// The kernel's module.
    pub fn module(self) -> Option<&'static str> {
        match self {
            Layer::Fuse => Some("fuse"),
            Layer::Overlay => Some("overlay"),
            Layer::Bind => None,
        }
    }

    /// The program that it needs, and the package that has it.
    pub fn program(self) -> Option<(&'static str, &'static str)> {
        (self == Layer::Fuse).then_some((DAEMON, DAEMON))
    }
}

/// Puts each layer on what is below it, from the filesystem at the first of [`places`] up. A FUSE
/// daemon is a process: `serve` starts it with these words.
pub(crate) fn put_all(at: &Path, above: &[Layer], serve: &mut Serve<'_>) -> Result<(), LabError> {
    let places = places(at, above);
    above.iter().zip(places.windows(2)).try_for_each(|(layer, pair)| {
        let (below, at) = (&pair[0], &pair[1]);
        match layer {
            Layer::Fuse => {
                std::fs::create_dir_all(at).map_err(LabError::file("create", at))?;
                serve(&daemon_words(&overlay_options(below)?, at), at)
            }
            Layer::Overlay => {
                put("overlay", "overlay", at, MountFlags::empty(), &overlay_options(below)?)
            }
            Layer::Bind => put(&below.to_string_lossy(), "none", at, MountFlags::BIND, ""),
        }
    })
}

/// An empty directory below, one that takes what is written, and one to work in: all are made.
fn overlay_options(below: &Path) -> Result<String, LabError> {
    let parts = ["lower", "upper", "work"].map(|part| below.join(part));
    for part in &parts {
        std::fs::create_dir_all(part).map_err(LabError::file("create", part))?;
    }
    let [lower, upper, work] = parts.map(|part| part.display().to_string());
    Ok(format!("lowerdir={lower},upperdir={upper},workdir={work}"))
}

/// Where a filesystem is mounted and where each layer above it is; the last place is `at`.
pub(crate) fn places(at: &Path, above: &[Layer]) -> Vec<PathBuf> {
    let below = (0..above.len()).map(|index| {
        let mut place = at.as_os_str().to_owned();
        place.push(format!(".{index}"));
        PathBuf::from(place)
    });
    below.chain([at.to_owned()]).collect()
}

/// How the daemon is told to show what an overlay has at `at`.
///
/// As Android's daemon had it: each write is a request at once (no `writeback`), and names and
/// attributes are good for 10 s.
fn daemon_words(overlay: &str, at: &Path) -> Vec<String> {
    let options = format!("{overlay},writeback=0,timeout=10");
    vec!["-o".to_owned(), options, at.to_string_lossy().into_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenario_runs_on_top_whatever_lies_below() {
        let at = Path::new("/mnt/flash");
        assert_eq!(places(at, &[]), [at]);
        let expected = ["/mnt/flash.0", "/mnt/flash.1", "/mnt/flash"].map(PathBuf::from);
        assert_eq!(places(at, &[Layer::Overlay, Layer::Fuse]), expected);
    }

    #[test]
    fn a_layer_is_typed_as_it_is_named() {
        for layer in [Layer::Fuse, Layer::Overlay, Layer::Bind] {
            assert_eq!(Layer::parse(layer.name()), Some(layer));
        }
        assert_eq!(Layer::parse("sdcardfs"), None);
    }
}
