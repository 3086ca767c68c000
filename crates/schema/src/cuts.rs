//! The outcome of power cuts during saves.

use flashlag_spec::Reading;
use serde::Serialize;

/// The outcome of a series of power cuts, as `flashlag cuts --json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cuts {
    /// The target as the user named it.
    pub target: String,
    /// Cuts that were tried.
    pub cuts: u64,
    /// Saves that were made, without a cut.
    pub saves: u64,
    /// Saves acknowledged before each cut, summed.
    pub acknowledged: u64,
    /// Cuts after which an acknowledged save was missing.
    pub with_loss: u64,
    /// Acknowledged saves that were missing, summed.
    pub lost: u64,
    /// Acknowledged saves missing after the worst cut.
    pub most_lost: u64,
    /// Cuts after which the database was damaged, or gone.
    pub damaged: u64,
    /// Cuts after which a file that was saved without a database was gone or empty.
    pub empty: u64,
    /// Cuts after which the filesystem could not be mounted.
    pub unmountable: u64,
    /// Descriptions of the first failures.
    pub failures: Vec<String>,
    /// What the filesystem's own tool brings back, or why none was run.
    pub repair: Reading<CutRepairs>,
}

/// What a repair brings back. After each cut the filesystem's tool also repairs a copy of what the cut
/// left, without asking, as a machine does by itself; the copy is then mounted and checked as the cut's
/// own image was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CutRepairs {
    /// The tool and its options: `fsck.vfat -a`.
    pub command: String,
    /// Cuts after which something was wrong before the repair: acknowledged saves missing, a database
    /// damaged, a file gone, or no mount. The sum of the next four.
    pub hurt: u64,
    /// Of those, after which nothing was wrong any more.
    pub whole: u64,
    /// Of those, after which the filesystem could be mounted, and something was still wrong.
    pub lossy: u64,
    /// Of those, after which the filesystem could still not be mounted.
    pub unmountable: u64,
    /// Of those, which the tool did not repair, by its own word, whatever the mount after it gave.
    pub refused: u64,
    /// Of those that hurt, after which what was saved last is whole in a file that the tool made of
    /// clusters or inodes that no name led to (`FSCK0000.REC`), where no app looks for it.
    pub salvaged: u64,
    /// Cuts after which nothing was wrong until the repair.
    pub harmed: u64,
    /// Acknowledged saves missing after the repairs, summed over all cuts.
    pub lost: u64,
    /// Descriptions of the first failures.
    pub failures: Vec<String>,
}
