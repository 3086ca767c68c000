use flashlag_schema::RunFileError;
use flashlag_units::sanitize;
use thiserror::Error;

/// A field that was removed or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The field's path: `environment.filesystem.mount_point`.
    pub field: String,
    /// Why.
    pub reason: &'static str,
    /// How many values of the field were removed or changed.
    pub values: usize,
}

/// Free text that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The field's path.
    pub field: String,
    /// The text that stays, made safe for a terminal.
    pub text: String,
}

/// Why a run can't be made fit for publication.
#[derive(Debug, Error)]
pub enum ShareError {
    /// A field without a rule.
    #[error(
        "the run has text in {field}, and this flashlag has no rule for whether that is private: share \
         the run with the flashlag that made it"
    )]
    UnknownField { field: String },
    #[error("what is left is not a run: {0}")]
    NoRun(#[from] RunFileError),
}

/// Text in a form that is safe to show to its owner.
pub(super) fn shown(text: &str) -> String {
    sanitize(text)
}
