//! The stages of a fit, by name.

/// The stages of a fit, each of which can be left out to measure what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitStage {
    /// Times and units by the figures of new storage alone, before all others.
    New,
    /// Every pair of mapping unit and program unit, each with its best times.
    Pairs,
    /// Every size of the write buffer with the leading pairs.
    Buffers,
    /// Figures that scatter from seed to seed weigh less.
    Scatter,
    /// Candidates of every garbage collection policy.
    Policies,
    /// One step of one parameter after another, while one improves.
    Steps,
    /// Small changes of all parameters of collection, alternating with least squares.
    Changes,
    /// Parameters without effect go back to their starting values.
    Reset,
    /// Least squares once more with the parameters that have an effect only at the end.
    Last,
}

impl FitStage {
    /// All stages, in their order.
    pub const ALL: [FitStage; 9] = [
        FitStage::New,
        FitStage::Pairs,
        FitStage::Buffers,
        FitStage::Scatter,
        FitStage::Policies,
        FitStage::Steps,
        FitStage::Changes,
        FitStage::Reset,
        FitStage::Last,
    ];

    /// A word.
    pub fn name(self) -> &'static str {
        match self {
            FitStage::New => "new",
            FitStage::Pairs => "pairs",
            FitStage::Buffers => "buffers",
            FitStage::Scatter => "scatter",
            FitStage::Policies => "policies",
            FitStage::Steps => "steps",
            FitStage::Changes => "changes",
            FitStage::Reset => "reset",
            FitStage::Last => "last",
        }
    }
}
