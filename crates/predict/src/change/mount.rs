use std::fmt;

use crate::ModelError;

/// Filesystem and options in the notation of a target: `ext4,nobarrier`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    kind: String,
    options: Vec<String>,
}

/// The modelled filesystems.
pub(super) const KINDS: [&str; 3] = ["raw", "ext4", "f2fs"];

impl Mount {
    /// Parses `ext4,nobarrier`.
    ///
    /// # Errors
    /// An unknown filesystem. Options are checked by the simulator.
    pub fn parse(text: &str) -> Result<Mount, ModelError> {
        let mut words = text.split(',').map(str::trim);
        let kind = words.next().unwrap_or_default();
        if !KINDS.contains(&kind) {
            let (kind, known) = (kind.to_owned(), KINDS.join(", "));
            return Err(ModelError::UnknownFilesystem { kind, known });
        }
        let options = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
        Ok(Mount { kind: kind.to_owned(), options })
    }

    /// The name of the filesystem.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Whether it has an option.
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|one| one == option)
    }

    /// Another filesystem with the same options, without those that only the old one has.
    pub(super) fn on(&self, kind: &str) -> Mount {
        let mut mount = Mount { kind: kind.to_owned(), options: self.options.clone() };
        if kind != self.kind {
            // Filesystems differ in their default for discards.
            mount.options.retain(|one| one != "discard" && one != "nodiscard");
        }
        mount
    }

    /// With an option, or without it.
    pub(super) fn with(&self, option: &str, on: bool) -> Mount {
        let mut mount = self.clone();
        mount.options.retain(|one| one != option);
        if on {
            mount.options.push(option.to_owned());
        }
        mount
    }

    /// Whether a delete is followed by a discard; the default on F2FS, not on ext4.
    pub fn discards(&self) -> bool {
        match self.kind.as_str() {
            "f2fs" => !self.has("nodiscard"),
            _ => self.has("discard"),
        }
    }

    /// With discards after a delete, or without.
    pub(super) fn discarding(&self, on: bool) -> Mount {
        let mount = self.with("discard", false).with("nodiscard", false);
        match (mount.kind.as_str(), on) {
            ("ext4", true) => mount.with("discard", true),
            ("f2fs", false) => mount.with("nodiscard", true),
            _ => mount,
        }
    }
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        self.options.iter().try_for_each(|option| write!(f, ",{option}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_go_along_to_another_filesystem_with_its_own_default_for_discards() {
        let to = |text: &str, kind: &str| Mount::parse(text).unwrap().on(kind).to_string();
        assert_eq!(to("ext4,fuse,encrypt", "f2fs"), "f2fs,fuse,encrypt");
        assert_eq!(to("f2fs,nodiscard,encrypt", "ext4"), "ext4,encrypt");
        assert_eq!(to("ext4,discard", "f2fs"), "f2fs");
    }

    #[test]
    fn discards_are_said_as_each_filesystem_says_them() {
        let on = |text: &str, on: bool| Mount::parse(text).unwrap().discarding(on).to_string();
        assert_eq!(on("ext4", true), "ext4,discard");
        assert_eq!(on("ext4,discard", false), "ext4");
        assert_eq!(on("f2fs", false), "f2fs,nodiscard");
        assert_eq!(on("f2fs,nodiscard", true), "f2fs");
    }
}
