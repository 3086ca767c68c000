use std::fmt;

use super::kind::Kind;
use super::option::TargetOption;
use super::{FilesystemKind, TargetError, parse, table};

/// A filesystem and options: `ext4,nobarrier,fuse`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountSpec {
    pub filesystem: FilesystemKind,
    /// The options, in the order in which they apply.
    pub options: Vec<TargetOption>,
}

impl MountSpec {
    /// Parses `FS[,OPTION]...` for a kind of target. Fails on an unknown filesystem or option, an
    /// option that does not apply, or an invalid value.
    pub fn parse(kind: Kind, text: &str) -> Result<MountSpec, TargetError> {
        let mut words = text.split(',').map(str::trim);
        let filesystem = parse::filesystem(kind, words.next().unwrap_or_default())?;
        let options = words.map(|word| parse::option(kind, filesystem, word));
        Ok(MountSpec { filesystem, options: options.collect::<Result<_, _>>()? })
    }

    /// Checks that the filesystem and every option apply to a kind of target.
    pub fn check(&self, kind: Kind) -> Result<(), TargetError> {
        parse::filesystem(kind, self.filesystem.name())?;
        self.options.iter().try_for_each(|option| parse::check(kind, self.filesystem, option))
    }

    /// Checks that no option is repeated. Layers of the lab are stacked in their order.
    pub(super) fn check_each_once(&self, kind: Kind) -> Result<(), TargetError> {
        use TargetOption::{Bind, Fuse, Overlay};
        let mut seen: Vec<String> = Vec::new();
        for option in &self.options {
            if kind == Kind::Lab && matches!(option, Fuse | Overlay | Bind) {
                continue;
            }
            let second = option.to_string();
            let same = |first: &&String| table::name_of(first) == table::name_of(&second);
            if let Some(first) = seen.iter().find(same) {
                return Err(TargetError::Twice { first: first.clone(), second });
            }
            seen.push(second);
        }
        Ok(())
    }

    /// The filesystem and the layers above it, as a run file records them: without the options of
    /// the device.
    #[must_use]
    pub fn stack(&self) -> MountSpec {
        let kept = self.options.iter().filter(|option| !option.is_of_device());
        MountSpec { filesystem: self.filesystem, options: kept.cloned().collect() }
    }
}

impl fmt::Display for MountSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.filesystem)?;
        self.options.iter().try_for_each(|option| write!(f, ",{option}"))
    }
}
