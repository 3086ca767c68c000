use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use flashlag_spec::Reading;
use flashlag_units::{InOrder, Nanos};

use crate::reason::Reason;

/// The longest file that is read: a mountinfo of thousands of mounts is a few hundred kilobytes.
const LONGEST: u64 = 4 << 20;

/// The root of `/proc`, `/sys` and `/etc`: `/` on a live system, a directory for a captured one. Every
/// absolute path in this crate is read through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    prefix: PathBuf,
    live: bool,
}

impl Root {
    /// This machine.
    pub fn system() -> Root {
        Root { prefix: PathBuf::from("/"), live: true }
    }

    /// A captured tree with `proc/`, `sys/`, `etc/` below `prefix`. No system call is made for it:
    /// that would describe this machine.
    pub fn captured(prefix: impl Into<PathBuf>) -> Root {
        let prefix = prefix.into();
        Root { prefix: prefix.canonicalize().unwrap_or(prefix), live: false }
    }

    /// Whether this is the live system, so that system calls describe the same machine.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Clock ticks per second in `/proc`: 100 on every machine that a captured tree may come from.
    pub(crate) fn ticks_per_second(&self) -> u64 {
        if self.live { rustix::param::clock_ticks_per_second().max(1) } else { 100 }
    }

    /// The real path of `path`, which is absolute in the tree. `..` can't leave the tree.
    pub(crate) fn real(&self, path: &Path) -> PathBuf {
        let mut real = self.prefix.clone();
        for part in path.components() {
            match part {
                Component::Normal(name) => real.push(name),
                Component::ParentDir if real != self.prefix => {
                    real.pop();
                }
                _ => {}
            }
        }
        real
    }

    /// The text of a file, trimmed, invalid UTF-8 replaced; or why it can't be read.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Result<String, Reason> {
        let path = path.as_ref();
        let mut bytes = Vec::new();
        let opened = File::open(self.real(path));
        let read = opened.and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
        read.map_err(|error| Reason::file(path, error.kind()))?;
        // Device-tree strings end with a NUL.
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned())
    }

    /// Up to `length` bytes of a file or a device from an offset on; or why they can't be read.
    pub(crate) fn bytes(
        &self,
        path: impl AsRef<Path>,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, Reason> {
        let path = path.as_ref();
        let read = || {
            let mut file = File::open(self.real(path))?;
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            file.take(length).read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        };
        read().map_err(|error| Reason::file(path, error.kind()))
    }

    /// As [`Root::text`]; `None` if the file does not exist.
    pub(crate) fn text_if_there(&self, path: impl AsRef<Path>) -> Result<Option<String>, Reason> {
        let path = path.as_ref();
        match self.real(path).symlink_metadata() {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            _ => self.text(path).map(Some),
        }
    }

    /// As [`Root::text`]; an empty file counts as absent.
    pub(crate) fn line(&self, path: impl AsRef<Path>) -> Result<String, Reason> {
        let path = path.as_ref();
        let text = self.text(path)?;
        if text.is_empty() { Err(Reason::content(path, "is empty")) } else { Ok(text) }
    }

    /// The result of [`Root::line`] as a reading.
    pub(crate) fn reading(&self, path: impl AsRef<Path>) -> Reading<String> {
        self.line(path).into()
    }

    /// A whole decimal number.
    pub(crate) fn number<N: FromStr>(&self, path: impl AsRef<Path>) -> Result<N, Reason> {
        let path = path.as_ref();
        let text = self.line(path)?;
        text.parse().map_err(|_| Reason::content(path, format!("is no number: {text:.40}")))
    }

    /// A number or word in a file as a flag.
    pub(crate) fn flag(&self, path: impl AsRef<Path>) -> Reading<bool> {
        let path = path.as_ref();
        let read = self.line(path).and_then(|text| match text.as_str() {
            "1" | "true" | "Y" | "on" | "enabled" => Ok(true),
            "0" | "false" | "N" | "off" | "disabled" => Ok(false),
            other => Err(Reason::content(path, format!("is neither on nor off: {other:.40}"))),
        });
        read.into()
    }

    /// Names in a directory, sorted; empty if it can't be read.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.real(path.as_ref())) else { return Vec::new() };
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.order();
        names
    }

    /// What a link says, as it is: nothing of it is looked up.
    pub(crate) fn link(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = std::fs::read_link(self.real(path.as_ref())).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    /// Whether a path exists.
    pub(crate) fn has(&self, path: impl AsRef<Path>) -> bool {
        self.real(path.as_ref()).exists()
    }

    /// Whether a path exists. A dangling link counts: those below `/etc` lead to other places of a
    /// captured tree.
    pub(crate) fn is_there(&self, path: &Path) -> bool {
        self.real(path).symlink_metadata().is_ok()
    }

    /// How long ago a file was modified; `None` for a captured tree, whose files have no times of
    /// their own.
    pub(crate) fn age(&self, path: &Path) -> Option<Nanos> {
        let changed = self.real(path).metadata().ok().filter(|_| self.live)?.modified().ok()?;
        let age = changed.elapsed().ok()?;
        Some(Nanos(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The path with all links resolved, absolute in the tree; `None` if it leads nowhere or out of
    /// the tree.
    pub(crate) fn resolve(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let real = self.real(path.as_ref()).canonicalize().ok()?;
        Some(Path::new("/").join(real.strip_prefix(&self.prefix).ok()?))
    }
}
