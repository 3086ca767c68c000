//! Whether a run counts.

/// Whether a run counts, and if not why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It counts: its figures follow from its histograms, and no check failed.
    Good,
    /// A copy of a run that counts: the same measurement.
    Copy,
    /// A trust check failed, or nothing was measured.
    Untrusted,
    /// Figures do not follow from the histograms, or the checksum is wrong.
    Unverified,
    /// Not a run file, or one of another version.
    Unreadable,
}

impl Standing {
    /// Every standing, the best first.
    pub const ALL: [Standing; 5] = [
        Standing::Good,
        Standing::Copy,
        Standing::Untrusted,
        Standing::Unverified,
        Standing::Unreadable,
    ];

    /// As in the column `standing`.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Good => "good",
            Standing::Copy => "copy",
            Standing::Untrusted => "untrusted",
            Standing::Unverified => "unverified",
            Standing::Unreadable => "unreadable",
        }
    }

    /// The standing of that name.
    pub fn named(name: &str) -> Option<Standing> {
        Standing::ALL.into_iter().find(|standing| standing.name() == name)
    }
}
