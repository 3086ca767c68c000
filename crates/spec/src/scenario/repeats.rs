/// A stretch of a scenario whose parts are alike: days of use, or rounds of writes. Further parts can be
/// left out once they would change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Index of the first step of each part, ascending.
    pub begin: Vec<usize>,
    /// Index of the step after the last part.
    pub end: usize,
    /// Whether the stretch begins with the flash's content where random overwrites would have put it
    /// in the long run. A map of log blocks begins as the steps before have left it.
    pub scatter: bool,
}

/// What follows a part of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The next part, if there is one.
    Next,
    /// What follows the stretch: its other parts are left out.
    End {
        /// Program/erase cycles that the parts left out add to each block.
        cycles: u32,
    },
}
