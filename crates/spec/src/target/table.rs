//! The list of a target's options.

use std::fmt::Write;

use super::filesystem::FilesystemKind::{self, Btrfs, Ext4, F2fs, Nilfs2, Ntfs3, Xfs};
use super::kind::Kind;
use super::option::{Cipher, FsyncMode, TargetOption};
use super::value::ValueError;

/// An option: its word, its value, the filesystems that it applies to, and what it does.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    /// The word, complete or up to the `=` of a value: `nobarrier`, `data=journal`, `size`.
    pub word: &'static str,
    /// The value's place in a message: `SIZE`; `None` without a value.
    pub value: Option<&'static str>,
    /// The simulated filesystems that have the option.
    pub sim: &'static [FilesystemKind],
    /// The lab's filesystems that have the option.
    pub lab: &'static [FilesystemKind],
    /// What the option does, in a line.
    pub help: &'static str,
    /// Parses the option with this value, which is empty if it has none.
    pub(super) read: fn(&str) -> Result<TargetOption, ValueError>,
}

const SIM: &[FilesystemKind] = FilesystemKind::of(Kind::Sim);
const LAB: &[FilesystemKind] = FilesystemKind::of(Kind::Lab);
const NONE: &[FilesystemKind] = &[];

/// Every option of a target.
pub const OPTIONS: [OptionRow; 30] = [
    OptionRow {
        word: "barrier",
        value: None,
        sim: SIM,
        lab: LAB,
        help: "A sync flushes the device: the default.",
        read: |_| Ok(TargetOption::Barrier(true)),
    },
    OptionRow {
        word: "nobarrier",
        value: None,
        sim: SIM,
        lab: &[Ext4, F2fs, Btrfs, Nilfs2],
        help: "Nothing flushes the device.",
        read: |_| Ok(TargetOption::Barrier(false)),
    },
    OptionRow {
        word: "fsync_mode=posix",
        value: None,
        sim: &[F2fs],
        lab: &[F2fs],
        help: "An fsync flushes the device once: the default.",
        read: |_| Ok(TargetOption::FsyncMode(FsyncMode::Posix)),
    },
    OptionRow {
        word: "fsync_mode=strict",
        value: None,
        sim: &[F2fs],
        lab: &[F2fs],
        help: "An fsync of a new file is a checkpoint if a file was deleted since the last one.",
        read: |_| Ok(TargetOption::FsyncMode(FsyncMode::Strict)),
    },
    OptionRow {
        word: "fsync_mode=nobarrier",
        value: None,
        sim: &[F2fs],
        lab: &[F2fs],
        help: "An fsync does not flush the device; a checkpoint and an atomic write do.",
        read: |_| Ok(TargetOption::FsyncMode(FsyncMode::NoBarrier)),
    },
    OptionRow {
        word: "atomic",
        value: None,
        sim: &[F2fs],
        lab: &[F2fs],
        help: "SQLite commits by F2FS's atomic writes and without a rollback journal, as Android's \
               build does.",
        read: |_| Ok(TargetOption::AtomicWrites),
    },
    OptionRow {
        word: "background_gc=on",
        value: None,
        sim: &[F2fs],
        lab: &[F2fs],
        help: "F2FS cleans a segment from time to time while the device is idle: the default of \
             `lab:`.",
        read: |_| Ok(TargetOption::BackgroundCleaning(true)),
    },
    OptionRow {
        word: "background_gc=off",
        value: None,
        sim: &[F2fs],
        lab: &[F2fs],
        help: "F2FS cleans only when it runs out of free segments: the default of `sim:`, since \
             an idle phone is suspended.",
        read: |_| Ok(TargetOption::BackgroundCleaning(false)),
    },
    OptionRow {
        word: "checkpoint_merge",
        value: None,
        sim: &[F2fs],
        lab: &[F2fs],
        help: "A kernel thread makes one checkpoint for all threads that need one at the same \
             time; for a single thread nothing changes.",
        read: |_| Ok(TargetOption::CheckpointMerge),
    },
    OptionRow {
        word: "nodatacow",
        value: None,
        sim: &[Btrfs],
        lab: &[Btrfs],
        help: "Data is overwritten in place, without checksums; trees are still copied.",
        read: |_| Ok(TargetOption::NoDataCopy),
    },
    OptionRow {
        word: "discard",
        value: None,
        sim: SIM,
        lab: LAB,
        help: "Freed space is discarded at once: the default on F2FS.",
        read: |_| Ok(TargetOption::Discard(true)),
    },
    OptionRow {
        word: "nodiscard",
        value: None,
        sim: SIM,
        lab: LAB,
        help: "Only a trim discards: the default except on F2FS.",
        read: |_| Ok(TargetOption::Discard(false)),
    },
    OptionRow {
        word: "ipu",
        value: None,
        sim: &[F2fs],
        lab: NONE,
        help: "An fsync of a few pages writes in place, as since Linux 3.17: the default.",
        read: |_| Ok(TargetOption::InPlace(true)),
    },
    OptionRow {
        word: "noipu",
        value: None,
        sim: &[F2fs],
        lab: NONE,
        help: "Every fsync appends, as before Linux 3.17.",
        read: |_| Ok(TargetOption::InPlace(false)),
    },
    OptionRow {
        word: "inmem",
        value: None,
        sim: &[F2fs],
        lab: NONE,
        help: "Pages of an atomic write wait in memory, as before Linux 5.19, and also for the \
             previous atomic write's node.",
        read: |_| Ok(TargetOption::AtomicInMemory),
    },
    OptionRow {
        word: "rootdir",
        value: None,
        sim: &[F2fs],
        lab: LAB,
        help: "Files are in the root directory, which on F2FS has a block for names; by default in \
               an app's directory, whose few names F2FS has in its inode.",
        read: |_| Ok(TargetOption::RootDirectory),
    },
    OptionRow {
        word: "fast_commit",
        value: None,
        sim: &[Ext4],
        lab: &[Ext4],
        help: "Small changes are committed in a fast area of the journal.",
        read: |_| Ok(TargetOption::FastCommit),
    },
    OptionRow {
        word: "data=journal",
        value: None,
        sim: NONE,
        lab: &[Ext4],
        help: "Data goes through the journal as well.",
        read: |_| Ok(TargetOption::DataJournal),
    },
    OptionRow {
        word: "fuse",
        value: None,
        sim: SIM,
        lab: LAB,
        help: "A FUSE daemon above the filesystem passes every call on (the lab needs \
               fuse-overlayfs).",
        read: |_| Ok(TargetOption::Fuse),
    },
    OptionRow {
        word: "esdfs",
        value: None,
        sim: SIM,
        lab: NONE,
        help: "A wrapper in the kernel instead of FUSE, at no cost.",
        read: |_| Ok(TargetOption::Esdfs),
    },
    OptionRow {
        word: "overlay",
        value: None,
        sim: NONE,
        // An overlay needs attributes that FAT and exFAT do not have.
        lab: &[Ext4, F2fs, Btrfs, Xfs, Nilfs2, Ntfs3],
        help: "An overlay above the filesystem, over an empty directory: all writes reach the \
             flash.",
        read: |_| Ok(TargetOption::Overlay),
    },
    OptionRow {
        word: "bind",
        value: None,
        sim: NONE,
        lab: LAB,
        help: "A bind mount above the filesystem: a control, at no cost.",
        read: |_| Ok(TargetOption::Bind),
    },
    OptionRow {
        word: "encrypt",
        value: None,
        sim: SIM,
        lab: LAB,
        help: "dm-crypt below the filesystem, with AES-XTS (the lab needs cryptsetup).",
        read: |_| Ok(TargetOption::Encrypt(Cipher::AesXts)),
    },
    OptionRow {
        word: "encrypt=aes-xts",
        value: None,
        sim: NONE,
        lab: LAB,
        help: "The same as `encrypt`.",
        read: |_| Ok(TargetOption::Encrypt(Cipher::AesXts)),
    },
    OptionRow {
        word: "encrypt=adiantum",
        value: None,
        sim: NONE,
        lab: LAB,
        help: "dm-crypt with Adiantum.",
        read: |_| Ok(TargetOption::Encrypt(Cipher::Adiantum)),
    },
    OptionRow {
        word: "host",
        value: None,
        sim: NONE,
        // The other filesystems are refused later, with advice on what to leave out.
        lab: LAB,
        help: "The host's own kernel instead of a guest's (ext4, btrfs and xfs, as root).",
        read: |_| Ok(TargetOption::Host),
    },
    OptionRow {
        word: "size",
        value: Some("SIZE"),
        sim: SIM,
        lab: LAB,
        help: "The capacity of the device, as `size=4GB` or `size=4GiB`; the profile's by default.",
        read: |value| value.parse().map(TargetOption::Size).map_err(|_| ValueError::Size),
    },
    OptionRow {
        word: "state",
        value: Some("STATE"),
        sim: SIM,
        lab: LAB,
        help: "The device's state before the filesystem is made: `new` (the default), `full` or \
               `aged:12mo`.",
        read: |value| value.parse().map(TargetOption::State),
    },
    OptionRow {
        word: "time-scale",
        value: Some("N"),
        sim: NONE,
        lab: LAB,
        help: "The device's clock runs N times as fast as real time.",
        read: |value| value.parse().map(TargetOption::TimeScale),
    },
    OptionRow {
        word: "fill-time-scale",
        value: Some("N"),
        sim: NONE,
        lab: LAB,
        help: "The same while a fill goes on, or a test that only prepares; `time-scale` by \
               default.",
        read: |value| value.parse().map(TargetOption::FillTimeScale),
    },
];

impl OptionRow {
    /// The option in its notation: `size=SIZE`.
    pub fn usage(&self) -> String {
        match self.value {
            Some(value) => format!("{}={value}", self.word),
            None => self.word.to_owned(),
        }
    }

    /// The filesystems of a kind that have the option.
    pub fn filesystems(&self, kind: Kind) -> &'static [FilesystemKind] {
        match kind {
            Kind::Sim => self.sim,
            Kind::Lab => self.lab,
        }
    }

    /// The value in `word`, if `word` is this option.
    fn value_of<'a>(&self, word: &'a str) -> Option<&'a str> {
        match self.value {
            Some(_) => word.strip_prefix(self.word)?.strip_prefix('='),
            None => (word == self.word).then_some(""),
        }
    }
}

/// The row of a word.
pub(super) fn row_of(word: &str) -> Option<(&'static OptionRow, &str)> {
    const { &OPTIONS }.iter().find_map(|row| Some((row, row.value_of(word)?)))
}

/// The name of an option, without its value.
pub(super) fn name_of(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}

/// The options of a kind, for messages: those that only some filesystems have, with these.
pub(super) fn listed(kind: Kind) -> String {
    let known = OPTIONS.iter().filter(|row| !row.filesystems(kind).is_empty());
    let words = known.map(|row| {
        let of = row.filesystems(kind);
        if of.len() == FilesystemKind::of(kind).len() || of.len() > 2 {
            row.usage()
        } else {
            format!("{} ({})", row.usage(), named(of))
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Names as a sentence has them: `ext4, f2fs and xfs`.
pub(super) fn named(filesystems: &[FilesystemKind]) -> String {
    let names: Vec<&str> = filesystems.iter().map(|filesystem| filesystem.name()).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The list as a table in Markdown.
pub fn options_as_markdown() -> String {
    let mut text = "| option | `sim:` | `lab:` | what it does |\n|---|---|---|---|\n".to_owned();
    for row in &OPTIONS {
        let [sim, lab] = Kind::ALL.map(|kind| match row.filesystems(kind) {
            [] => "-".to_owned(),
            of if of.len() == FilesystemKind::of(kind).len() => "all".to_owned(),
            of => of.iter().map(|one| one.name()).collect::<Vec<_>>().join(", "),
        });
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "| `{}` | {sim} | {lab} | {} |", row.usage(), row.help);
    }
    text
}
