//! How a device was set up when it was measured: one row per set-up.

use flashlag_store::{PhaseRow, RunFacts, UNKNOWN, fill_class};

/// Filesystem, age, fill and state of a device during a test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetUp {
    /// The filesystem, the mount option that keeps a sync from flushing the device, and the
    /// filesystems above.
    pub filesystem: String,
    /// Age, as in the table of runs.
    pub age: String,
    /// A class of [`fill_class`].
    pub fill: &'static str,
    /// `new` (as found), `filled`, …
    pub state: &'static str,
}

impl SetUp {
    /// The set-up of a run's test.
    pub fn of(facts: &RunFacts, phase: &PhaseRow) -> SetUp {
        let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        SetUp {
            filesystem: filesystem(facts, UNKNOWN),
            age: or_unknown(&facts.age),
            fill: fill_class(phase.filled_percent),
            state: phase.state,
        }
    }

    /// `f2fs, new, over 95% full (filled)`.
    pub fn in_words(&self) -> String {
        let known = [self.filesystem.as_str(), self.age.as_str()];
        let known = known.into_iter().filter(|word| *word != UNKNOWN);
        let words: Vec<String> = known.map(str::to_owned).chain([self.fill_and_state()]).collect();
        words.join(", ")
    }

    /// `over 95% full (filled)`.
    pub fn fill_and_state(&self) -> String {
        let fill = if self.fill == UNKNOWN { "fill unknown" } else { self.fill };
        match self.state {
            "new" => fill.to_owned(),
            state => format!("{fill} ({state})"),
        }
    }
}

/// `f2fs, nobarrier, fuse above`: the name includes everything that makes durable writes of one
/// filesystem differ.
pub fn filesystem(facts: &RunFacts, unknown: &str) -> String {
    let name = facts.filesystem.clone().unwrap_or_else(|| unknown.to_owned());
    let above = facts.above.as_ref().map(|above| format!("{above} above"));
    let words: Vec<String> =
        [name].into_iter().chain(facts.no_flush.clone()).chain(above).collect();
    words.join(", ")
}
