//! What this terminal can show, and how errors read on it.

use flashlag_schema::Run;
use flashlag_term::{ProgressMode, Style};
use flashlag_views::Comparison;

/// The standard streams.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// How progress is shown on standard error.
    pub progress: ProgressMode,
    /// What standard output can show.
    pub stdout: Style,
    /// Whether less is to be printed.
    pub quiet: bool,
    /// Whether more is to be printed.
    pub verbose: bool,
    /// Whether a run's summary is its headline alone: it is one of several.
    pub brief: bool,
}

impl Terminal {
    /// Looks at the standard streams and the environment.
    pub fn detect(quiet: bool, verbose: bool) -> Terminal {
        Terminal {
            progress: ProgressMode::of_stderr(quiet),
            stdout: Style::of_stdout(),
            quiet,
            verbose,
            brief: false,
        }
    }

    /// The summary of a run: in full where more is to be printed, the verdict alone where less is.
    pub fn summary(&self, run: &Run) -> String {
        if self.quiet || self.brief {
            flashlag_term::verdict(run, self.stdout)
        } else if self.verbose {
            flashlag_term::summary_in_full(run, self.stdout)
        } else {
            flashlag_term::summary(run, self.stdout)
        }
    }

    /// A comparison: in full where more is to be printed, its sentences alone where less is.
    pub fn comparison(&self, comparison: &Comparison) -> String {
        let text = match (self.quiet, self.verbose) {
            (true, _) => flashlag_term::comparison_verdict,
            (false, true) => flashlag_term::comparison_in_full,
            (false, false) => flashlag_term::comparison,
        };
        text(comparison, self.stdout)
    }
}

/// An error and its causes as one paragraph, without control characters from anywhere.
pub fn one_paragraph(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = without_errno(&cause.to_string());
        // A transparent error repeats its cause, others end with its message.
        if !parts.last().is_some_and(|last| last.ends_with(&text)) {
            parts.push(text);
        }
    }
    flashlag_units::sanitize(&parts.join(": "))
}

/// `No such file or directory (os error 2)` without the number that helps nobody.
fn without_errno(text: &str) -> String {
    let Some((before, after)) = text.split_once(" (os error ") else { return text.to_owned() };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}{}", rest.strip_prefix(')').unwrap_or(rest))
}
