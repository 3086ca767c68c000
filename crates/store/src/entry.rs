//! A run file, as far as it could be read.

use flashlag_schema::StoredHistogram;

use crate::rows::{PhaseRow, RunRow};
use crate::standing::Standing;

/// A run file in a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its row; for an unreadable file only the name, the size and the reason are known.
    pub run: RunRow,
    /// What was measured, in the order of the run file.
    pub phases: Vec<Measured>,
    /// Fields that `flashlag share` would remove, if the file was not shared yet: publishing the
    /// file itself would reveal them.
    pub private: Vec<String>,
}

/// A test of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub row: PhaseRow,
    /// The latencies as users feel them: from the intended start if there was a schedule.
    pub histogram: StoredHistogram,
}

/// Checksum, hash of the measurement, and the file that counts instead.
pub(crate) type Marks = (Option<String>, Option<String>, Option<String>);

impl Entry {
    /// What decides whether an entry is a copy, as an index stores it.
    pub(crate) fn standing_only(
        file: String,
        standing: &str,
        reason: Option<String>,
        (run, measurement_sha256, copy_of): Marks,
        shared: bool,
    ) -> Entry {
        let run = RunRow {
            file,
            file_sha256: String::new(),
            file_bytes: 0,
            standing: Standing::named(standing).unwrap_or(Standing::Unreadable),
            reason,
            run,
            measurement_sha256,
            copy_of,
            shared,
            facts: None,
        };
        Entry { run, phases: Vec::new(), private: Vec::new() }
    }

    /// Whether the run counts.
    pub fn is_good(&self) -> bool {
        self.run.standing == Standing::Good
    }
}
