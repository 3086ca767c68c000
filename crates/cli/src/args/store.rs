use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `flashlag site`
#[derive(Debug, Args)]
#[command(after_long_help = SITE_HELP)]
pub struct SiteArgs {
    /// A folder of run files; folders within it are looked through too
    #[arg(value_name = "RUNS")]
    pub runs: PathBuf,
    /// The folder of the site: new, empty, or an earlier site
    #[arg(short, long, value_name = "FOLDER", required_unless_present = "check")]
    pub output: Option<PathBuf>,
    /// Name of the site, above every page
    #[arg(long, value_name = "NAME", value_parser = super::label)]
    pub title: Option<String>,
    /// Make no site: say which files may not go into a collection of shared runs, and exit with 1
    ///
    /// A file may if it verifies, passed its checks, is no copy, holds nothing that `flashlag share`
    /// would remove, and has at most 256 kB
    #[arg(long, conflicts_with_all = ["output", "title"])]
    pub check: bool,
}

const SITE_HELP: &str = "\
What the pages show is what `flashlag share` would leave of each run. The run
files themselves are not part of the site: those that hold more are named.

  flashlag site runs/ -o site/    open site/index.html, or put it on a web host";

/// `flashlag store`
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// What to do
    #[command(subcommand)]
    pub action: StoreAction,
}

/// What `flashlag store` does.
#[derive(Debug, Subcommand)]
pub enum StoreAction {
    /// Copy run files into the store
    Add {
        /// The store
        #[command(flatten)]
        place: PlaceArgs,
        /// Run files
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<PathBuf>,
    },
    /// List the runs in the store
    List {
        /// The store
        #[command(flatten)]
        place: PlaceArgs,
        /// Only runs for which this SQL condition holds, e.g. "filesystem = 'f2fs'"
        #[arg(long = "where", value_name = "CONDITION")]
        condition: Option<String>,
        /// The form
        #[command(flatten)]
        form: TableArgs,
    },
    /// Print what a SQL statement selects from the tables runs and phases
    #[command(after_long_help = QUERY_HELP)]
    Query {
        /// The store
        #[command(flatten)]
        place: PlaceArgs,
        /// A statement that reads; instead of --from, --columns and --where
        #[arg(conflicts_with_all = ["from", "columns", "condition"])]
        #[arg(required_unless_present_any = ["from", "columns", "condition"])]
        sql: Option<String>,
        /// The table: a row a run, or a row a test
        ///
        /// Phases have device, kind, model, filesystem, age, standing, scenario and more of their runs
        #[arg(long, value_name = "TABLE", default_value = "phases")]
        from: TableName,
        /// Columns [default: all]
        #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
        columns: Vec<String>,
        /// Only rows for which this SQL condition holds
        #[arg(long = "where", value_name = "CONDITION")]
        condition: Option<String>,
        /// The form
        #[command(flatten)]
        form: TableArgs,
    },
    /// Say whether devices became slower over runs that were made now and then
    #[command(after_long_help = TREND_HELP)]
    Trend {
        /// The store
        #[command(flatten)]
        place: PlaceArgs,
        /// The test, by its name in the scenario [default: the first that decides the verdict]
        #[arg(long, value_name = "NAME")]
        test: Option<String>,
        /// Only runs for which this SQL condition holds, e.g. "device = 'SC64G'"
        #[arg(long = "where", value_name = "CONDITION")]
        condition: Option<String>,
    },
}

const TREND_HELP: &str = "\
Median waits are compared over good runs of one scenario on one device and
filesystem, as found; runs of one day count as one. Noise hardly ever shows a
change: a slow one needs runs in nine weeks.

Exit status: 1 if a device became slower, else 0.";

const QUERY_HELP: &str = "\
For instance:
  flashlag store query --columns device,p99_ns --where \"name = 'save_wal'\"
  flashlag store query \"SELECT device, count(*) FROM runs GROUP BY device\"

docs/store.md lists the columns of both tables.";

/// Where the store is.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// The store: a folder of run files, or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "FOLDER|URL", env = "FLASHLAG_STORE", hide_env_values = true)]
    pub store: String,
}

/// The form of a table.
#[derive(Debug, Args)]
pub struct TableArgs {
    /// Output file; `-` is standard output
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    pub output: PathBuf,
    /// Format [default: by the extension of -o, else text]
    #[arg(long, value_enum)]
    pub format: Option<TableForm>,
    /// Overwrite the file of -o, whatever is in it
    #[arg(long)]
    pub force: bool,
}

/// The tables of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableName {
    /// A row a run
    Runs,
    /// A row a test of a run
    Phases,
}

/// The forms of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableForm {
    /// Columns for a terminal
    Text,
    /// CSV
    Csv,
    /// A list of objects
    Json,
    /// Apache Parquet
    Parquet,
}
