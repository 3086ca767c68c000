//! Mounting layers above a filesystem: each shows the directory below it at another place.

use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use crate::error::LabError;
use crate::layer::Layer;
use crate::mounting::put;

/// Starts the FUSE daemon with these arguments, mounted at that path.
type Serve<'a> = dyn FnMut(&[String], &Path) -> Result<(), LabError> + 'a;

/// Mounts each layer above the one below it, from the filesystem at the first of [`places`] up. A
/// FUSE daemon is a process: `serve` starts it.
pub(crate) fn put_all(at: &Path, above: &[Layer], serve: &mut Serve<'_>) -> Result<(), LabError> {
    let places = places(at, above);
    above.iter().zip(places.windows(2)).try_for_each(|(layer, pair)| {
        let (below, at) = (&pair[0], &pair[1]);
        match layer {
            Layer::Fuse => {
                std::fs::create_dir_all(at).map_err(LabError::file("create", at))?;
                serve(&daemon_arguments(&overlay_options(below)?, at), at)
            }
            Layer::Overlay => {
                put("overlay", "overlay", at, MountFlags::empty(), &overlay_options(below)?)
            }
            Layer::Bind => put(&below.to_string_lossy(), "none", at, MountFlags::BIND, ""),
        }
    })
}

/// An overlay's mount options. Makes its directories: an empty lower one, an upper one that takes
/// the writes, and a work directory.
fn overlay_options(below: &Path) -> Result<String, LabError> {
    let parts = ["lower", "upper", "work"].map(|part| below.join(part));
    for part in &parts {
        std::fs::create_dir_all(part).map_err(LabError::file("create", part))?;
    }
    let [lower, upper, work] = parts.map(|part| part.display().to_string());
    Ok(format!("lowerdir={lower},upperdir={upper},workdir={work}"))
}

/// The mount points of a filesystem and of each layer above it; the last is `at`.
pub(crate) fn places(at: &Path, above: &[Layer]) -> Vec<PathBuf> {
    let below = (0..above.len()).map(|index| {
        let mut place = at.as_os_str().to_owned();
        place.push(format!(".{index}"));
        PathBuf::from(place)
    });
    below.chain([at.to_owned()]).collect()
}

/// The daemon's arguments to mount an overlay at `at`.
///
/// As Android's daemon was mounted: each write becomes a request at once (no `writeback`), and names
/// and attributes are cached for 10 s.
fn daemon_arguments(overlay: &str, at: &Path) -> Vec<String> {
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
}
