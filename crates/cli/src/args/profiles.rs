//! `flashlag profiles`: what it lists, shows and checks.

use clap::{Args, Subcommand};

/// `flashlag profiles`
#[derive(Debug, Args)]
pub struct ProfilesArgs {
    /// What to do; by default the profiles are listed
    #[command(subcommand)]
    pub action: Option<ProfilesAction>,
    /// List every key of a profile file with its values, default and meaning
    #[arg(long)]
    pub keys: bool,
}

/// What `flashlag profiles` does.
#[derive(Debug, Subcommand)]
pub enum ProfilesAction {
    /// Print a profile as a file to start your own from
    Show {
        /// Name of the profile
        name: String,
    },
    /// Run the reviewers' protocols on profiles: published, simulated and error, row by row
    Check {
        /// Profiles: names or TOML files [default: all with published rows]
        names: Vec<String>,
        /// Number of seeds to average
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
        seeds: u64,
        /// Also show how much each row changes when a fitted parameter changes by a tenth
        #[arg(long)]
        sensitivity: bool,
        /// Forecast each row that a profile was fitted to from its other rows
        #[cfg(feature = "fit")]
        #[arg(long, conflicts_with_all = ["sensitivity", "seeds"])]
        leave_one_out: bool,
        /// The profiles are a family: a parameter that was fitted in several is about the same in all
        #[cfg(feature = "fit")]
        #[arg(long, requires = "leave_one_out")]
        family: bool,
    },
}
