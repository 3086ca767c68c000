/// The days of use within a scenario whose days are alike, so that not all need to be simulated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Days {
    /// Index of the first step of each day, ascending.
    pub begin: Vec<usize>,
    /// Index of the step after the last day.
    pub end: usize,
    /// Program/erase cycles of each block before the first step.
    pub cycles: u32,
}
