//! What the terminal can show, and how errors are printed.

use flashlag_schema::Run;
use flashlag_term::{ProgressMode, Style};
use flashlag_views::Comparison;

/// The standard streams.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// The display of progress on standard error.
    pub progress: ProgressMode,
    /// The capabilities of standard output.
    pub stdout: Style,
    /// `--quiet`: results and errors only.
    pub quiet: bool,
    /// `--verbose`: every check and phase.
    pub verbose: bool,
    /// Whether the summary of a run is its verdict alone, because it is one of several.
    pub brief: bool,
}

impl Terminal {
    /// Detects both from the standard streams and the environment.
    pub fn detect(quiet: bool, verbose: bool) -> Terminal {
        Terminal {
            progress: ProgressMode::of_stderr(quiet),
            stdout: Style::of_stdout(),
            quiet,
            verbose,
            brief: false,
        }
    }

    /// The summary of a run: in full with `--verbose`, the verdict alone with `--quiet`.
    pub fn summary(&self, run: &Run) -> String {
        if self.quiet || self.brief {
            flashlag_term::verdict(run, self.stdout)
        } else if self.verbose {
            flashlag_term::summary_in_full(run, self.stdout)
        } else {
            flashlag_term::summary(run, self.stdout)
        }
    }

    /// A comparison: in full with `--verbose`, its sentences alone with `--quiet`.
    pub fn comparison(&self, comparison: &Comparison) -> String {
        let text = match (self.quiet, self.verbose) {
            (true, _) => flashlag_term::comparison_verdict,
            (false, true) => flashlag_term::comparison_in_full,
            (false, false) => flashlag_term::comparison,
        };
        text(comparison, self.stdout)
    }
}

/// An error and its causes as one paragraph without control characters.
pub fn one_paragraph(error: &anyhow::Error) -> String {
    flashlag_commands::one_paragraph(error.as_ref())
}
