use std::path::PathBuf;

use clap::Args;

/// `flashlag bug`
#[derive(Debug, Args)]
#[command(after_long_help = BUG_HELP)]
pub struct BugArgs {
    /// The run that is wrong, or that failed [default: none, the set-up of this directory]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// The report, in Markdown
    #[arg(short, long, value_name = "FILE.md", default_value = "flashlag-bug.md")]
    pub output: PathBuf,
    /// Overwrite the file of -o, whatever is in it
    #[arg(long)]
    pub force: bool,
}

const BUG_HELP: &str = "\
The file has the version, the set-up, and the run as `flashlag share` would
leave it. flashlag sends nothing: the file is yours to publish.

  flashlag bug run.json    attach flashlag-bug.md to your report";
