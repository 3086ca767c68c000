//! One sentence: will it lag, how badly. Then: can I believe it.

use flashlag_schema::{CheckId, Run};

/// What the first screen says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// One or two short sentences that end in a full stop.
    pub sentence: String,
    /// A sentence or two that qualify it; empty where there is nothing to add.
    pub more: String,
    /// Whether it can be believed.
    pub believe: Believe,
    /// Set where a failed check covers what the headline would say: then `sentence` begins with
    /// `No verdict`.
    pub no_verdict: Option<NoVerdict>,
}

/// The answer to "Can you believe it?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Believe {
    /// `Yes`, `Yes, except the Idle row`, `No`.
    pub answer: String,
    /// `9 checks pass, 1 fails, 2 unknown`.
    pub counts: String,
    /// How the two read as one, with a full stop: `Yes, except the Idle row: 9 checks pass, …`.
    pub sentence: String,
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoVerdict {
    /// The failed check.
    pub id: CheckId,
    /// What should have been true.
    pub claim: String,
    /// What was seen instead.
    pub cause: String,
    /// What to do; empty where the check gave no advice.
    pub fix: String,
}

/// Of a run.
pub fn headline(run: &Run) -> Headline {
    let _ = run;
    Headline {
        sentence: String::new(),
        more: String::new(),
        believe: Believe { answer: String::new(), counts: String::new(), sentence: String::new() },
        no_verdict: None,
    }
}
