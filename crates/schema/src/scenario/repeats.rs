/// The parts of a scenario that are repeated until further ones would change nothing, so that not all
/// need to be simulated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// The stretches of equal parts, in the order of their steps.
    pub stretches: Vec<Stretch>,
    /// Program/erase cycles of each block before the first step.
    pub cycles: u32,
}

/// A stretch of a scenario whose parts are alike: days of use, or rounds of writes.
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
