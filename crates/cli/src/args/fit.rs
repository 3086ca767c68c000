//! `flashlag fit`: a profile from a measured run.

use std::path::PathBuf;

use clap::Args;

/// `flashlag fit`
#[derive(Debug, Args)]
pub struct FitArgs {
    /// The measured run: quick works; lifecycle determines more parameters, most with --set sizes=1
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The new profile
    #[arg(short, long, value_name = "PROFILE.toml")]
    pub output: PathBuf,
    /// Overwrite PROFILE.toml, and use a run although it failed a trust check or has too few
    /// operations: the profile and all forecasts with it then say so
    #[arg(long)]
    pub force: bool,
    /// Starting profile [default: the built-in one with the nearest figures]
    #[arg(long, value_name = "PROFILE")]
    pub from: Option<String>,
    /// Filesystem and options of the run [default: those in the run file]
    #[arg(long, value_name = "FS[,OPTION]...")]
    pub fs: Option<String>,
    /// Parameters that may move [default: all with a range]
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Maximum number of simulations
    #[arg(hide_short_help = true, long, default_value_t = 3000)]
    pub simulations: usize,
    /// Number of starting points of the search
    #[arg(hide_short_help = true, long, default_value_t = 3)]
    pub starts: usize,
}
