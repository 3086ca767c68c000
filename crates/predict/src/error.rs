use thiserror::Error;

/// Why nothing can be said. Each says what to try next.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PredictError {
    /// The profile has no `[[check]]`.
    #[error("{profile} has no [[check]]: no published row is held against it")]
    NoCheck {
        /// The profile.
        profile: String,
    },
    /// A check names a scenario that there is not, or that can't be read.
    #[error("{profile}, check of {device}: {reason}")]
    Protocol {
        /// The profile.
        profile: String,
        /// The device whose rows are meant.
        device: String,
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// A simulation failed.
    #[error("simulating {what}: {reason}")]
    Simulation {
        /// Which.
        what: String,
        /// Why.
        reason: String,
    },
    /// A run that can't be believed, or that says too little.
    #[error("{run} is not to be relied on: {}; --force goes on all the same, and what comes of it says so", doubts.join("; "))]
    Untrusted {
        /// The run.
        run: String,
        /// Each reason.
        doubts: Vec<String>,
    },
    /// A run has nothing that could be used.
    #[error("{run}: {reason}")]
    Run {
        /// The run.
        run: String,
        /// Why, and what to try.
        reason: String,
    },
    /// A change can't be read.
    #[error("`{change}`: {reason}")]
    Change {
        /// As it was typed.
        change: String,
        /// What is wrong, and what is allowed.
        reason: String,
    },
}
