use std::path::PathBuf;

use clap::Args;

const AFTER_HELP: &str = "\
A grid has for each key a value or a list; all combinations are measured:

  profile    = [\"nexus7-2012\", \"sd-a1\"]
  filesystem = [\"ext4\", \"f2fs\"]
  size       = \"4GiB\"
  full       = [\"0%\", \"50%\", \"90%\"]
  seed       = { from = 1, count = 100 }

The same command goes on after Ctrl-C or a crash: until the table is written,
what is measured is in FILE.parquet.journal. A point that fails is a row that
says why, and each row has the command that repeats its point. On a cluster:
`flashlag.sweep` in Python. See docs/sweeps.md.";

/// `flashlag sweep`
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct SweepArgs {
    /// The grid, a TOML file
    #[arg(value_name = "GRID.toml")]
    pub grid: PathBuf,
    /// The table
    #[arg(short, long, value_name = "FILE.parquet")]
    pub output: PathBuf,
    /// Number of simulations side by side [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Begin anew: drop what an earlier sweep measured, and overwrite the file of -o
    #[arg(long)]
    pub force: bool,
}
