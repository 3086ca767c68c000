/// A stretch of a scenario with similar parts: days of use, or rounds of writes. Further parts can
/// be left out once they no longer change anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Index of the first step of each part, ascending.
    pub begin: Vec<usize>,
    /// Index of the step after the last part.
    pub end: usize,
    /// Whether the flash's content at the start of the stretch is as random overwrites would have
    /// arranged it in the long run. A map of log blocks starts as the previous steps have left it.
    pub scatter: bool,
}

/// What comes after a part of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The next part, if there is one.
    Next,
    /// The step after the stretch: its other parts are left out.
    End {
        /// Program/erase cycles that the parts left out add to each block.
        cycles: u32,
    },
}
