use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::help::EXPLAIN_HELP;

/// The forms of `flashlag explain`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    /// For a terminal.
    #[default]
    Text,
    /// What was seen and found.
    Json,
    /// Life used, the state before its end, bytes written: as far as the storage says.
    Prometheus,
}

/// `flashlag explain`
#[derive(Debug, Args)]
#[command(after_long_help = EXPLAIN_HELP)]
pub struct ExplainArgs {
    /// A run file, a directory on the storage in question, a phone, or a simulated device
    #[arg(value_name = "RUN.json|DIR|adb:[SERIAL][:DIR]|sim:PROFILE", default_value = ".")]
    pub subject: PathBuf,
    /// Print what was seen and found as JSON; the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Print it as JSON, or the storage's wear for Prometheus
    #[arg(long, value_enum, default_value = "text")]
    pub format: ExplainFormat,
    /// Forecast effects on this profile, instead of the one nearest to the run
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Leave effects out that the run did not measure
    #[arg(long)]
    pub no_forecast: bool,
}

impl ExplainArgs {
    /// The form that was asked for.
    pub fn format(&self) -> ExplainFormat {
        if self.json { ExplainFormat::Json } else { self.format }
    }
}
