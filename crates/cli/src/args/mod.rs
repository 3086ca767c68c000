//! The command line as typed. Each command builds validated objects from it.

mod bug;
#[cfg(feature = "lab")]
mod cuts;
#[cfg(feature = "lab")]
mod device;
mod explain;
#[cfg(feature = "fit")]
mod fit;
mod help;
mod installed;
mod limits;
mod profiles;
#[cfg(feature = "site")]
mod store;
#[cfg(feature = "sweep")]
mod sweep;
mod trace;
pub mod watch;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use flashlag_commands::{RunWords, label};
use flashlag_units::Bytes;

use crate::form::Form;
use help::{AFTER_HELP, CHANGES, PREDICT_HELP};

pub use bug::BugArgs;
#[cfg(feature = "lab")]
pub use cuts::{CutsArgs, JournalArg, KindArg, SynchronousArg};
#[cfg(feature = "lab")]
pub use device::{
    CutArgs, DeviceAction, DeviceArgs, FaultArgs, FaultWhat, RecordArgs, ServeArgs, StatFormat,
};
pub use explain::{ExplainArgs, ExplainFormat};
#[cfg(feature = "fit")]
pub use fit::FitArgs;
pub use help::{built_without, grouped, no_number, option_of_others};
pub use installed::CompletionsArgs;
#[cfg(feature = "man")]
pub use installed::ManPagesArgs;
pub use limits::LimitArgs;
pub use profiles::{ProfilesAction, ProfilesArgs};
#[cfg(feature = "site")]
pub use store::{PlaceArgs, SiteArgs, StoreAction, StoreArgs, TableArgs, TableForm, TableName};
#[cfg(feature = "sweep")]
pub use sweep::SweepArgs;
pub use trace::{TraceArgs, TraceFormat};
pub use watch::{HistoryForm, WatchAction, WatchArgs, WatchLiveArgs};

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "flashlag", version, after_long_help = AFTER_HELP, max_term_width = 80)]
#[command(about = "Measures how flash storage makes a device lag, and whether to believe it")]
#[command(arg_required_else_help = true)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Print less: results and errors only
    #[arg(short, long, global = true, display_order = 100)]
    pub quiet: bool,
    /// Print more: every trust check, every test
    #[arg(short, long, global = true, display_order = 101)]
    pub verbose: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure a directory's storage, a phone, a simulated device
    Run(Box<RunArgs>),
    /// Compare runs, with confidence intervals
    Compare(CompareArgs),
    /// Write a run as HTML, Markdown, CSV, fio's JSON, ...
    Report(ReportArgs),
    /// Say why a run or a directory is slow, and what to change
    Explain(ExplainArgs),
    /// Show which programs write to storage and which wait for it
    Trace(TraceArgs),
    /// Record for months when storage freezes, and why
    Watch(WatchArgs),
    /// Recompute every figure of a run file
    Verify(VerifyArgs),
    /// Write a run without what is private, to give to others
    Share(ShareArgs),
    #[cfg(feature = "site")]
    /// Make a static site of a folder of run files
    Site(SiteArgs),
    #[cfg(feature = "site")]
    /// Keep the runs of a team, and query them with SQL
    Store(StoreArgs),
    /// Forecast the effect of a change, of full storage or of age
    Predict(PredictArgs),
    /// Make a device profile from a measured run
    #[cfg(feature = "fit")]
    Fit(FitArgs),
    /// Simulate all combinations of a grid into one Parquet table
    #[cfg(feature = "sweep")]
    Sweep(SweepArgs),
    /// List the simulated devices, show one, or check one
    Profiles(ProfilesArgs),
    #[cfg(feature = "lab")]
    /// Cut a virtual device's power and count lost saves
    Cuts(CutsArgs),
    #[cfg(feature = "lab")]
    /// Serve a simulated device to kernels, virtual machines and fio
    Device(Box<DeviceArgs>),
    /// List the built-in scenarios, or show one as a file
    Scenarios(ScenariosArgs),
    /// Print the JSON Schema of run files
    Schema,
    /// Remove the files of killed runs, and nothing else
    Clean(CleanArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write what a report of a fault needs, without what is private
    Bug(BugArgs),
    /// Write the man pages into a folder: for who packages flashlag
    #[cfg(feature = "man")]
    #[command(hide = true)]
    ManPages(ManPagesArgs),
    /// The phone's end of a run on a phone: started by flashlag itself
    #[command(hide = true)]
    OnPhone(OnPhoneArgs),
    /// A process of a sweep: started by flashlag itself
    #[cfg(feature = "sweep")]
    #[command(hide = true)]
    SweepWorker,
    /// Reads a table for `compare --with`: started by flashlag itself
    #[cfg(feature = "parquet")]
    #[command(hide = true)]
    TableReader { table: PathBuf },
}

impl Command {
    /// Whether the command measures or simulates, and so allocates much memory.
    pub fn takes_memory(&self) -> bool {
        match self {
            Command::Run(_) | Command::Predict(_) | Command::Trace(_) => true,
            #[cfg(feature = "fit")]
            Command::Fit(_) => true,
            #[cfg(feature = "lab")]
            Command::Cuts(_) | Command::Device(_) => true,
            #[cfg(feature = "sweep")]
            Command::Sweep(_) => true,
            _ => false,
        }
    }
}

/// The help of a scenario's argument, with the names of all that are built in.
fn scenario_help() -> String {
    let names: Vec<&str> = flashlag_runner::BUILTINS.iter().map(|builtin| builtin.name).collect();
    format!("A scenario ({}) or a TOML file", names.join(", "))
}

fn purpose_names() -> impl Iterator<Item = &'static str> {
    flashlag_runner::PURPOSES.iter().map(|purpose| purpose.name)
}

/// The help of `--for`, with every purpose.
fn purpose_help() -> String {
    let names: Vec<&str> = purpose_names().collect();
    format!("Say whether the storage is good enough for one of {}", names.join(", "))
}

fn purposes() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(purpose_names())
}

/// `flashlag run`
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    // The doc comment would be a list by hand; the help names the built-in scenarios itself.
    #[arg(default_value = "quick", help = scenario_help())]
    pub scenario: String,
    // The list is the program's own, and not written by hand.
    #[arg(long = "for", value_name = "PURPOSE", conflicts_with = "scenario", value_parser = purposes())]
    #[arg(help = "Say whether it is good enough for etcd, sd-a1, ...", long_help = purpose_help())]
    #[arg(hide_possible_values = true)]
    pub purpose: Option<String>,
    /// A directory, sim:PROFILE, lab:PROFILE+FS or adb:
    ///
    /// The directory whose storage is measured, sim:PROFILE[+FS[,OPTION]...] for a simulated
    /// device, lab:PROFILE+FS[,OPTION]... for a real kernel on a virtual one, or
    /// adb:[SERIAL|all][:PATH] for a phone on a cable, or for all of them
    #[arg(long, value_name = "TARGET", default_value = ".")]
    pub on: String,
    /// The run file [default: its name has the time]
    ///
    /// By default it is flashlag-run-SCENARIO-TIME.json in this directory
    #[arg(short, long, value_name = "RUN.json")]
    pub output: Option<PathBuf>,
    /// The HTML report [default: beside the run file]
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Overwrite the files of -o and --report, whatever is in them
    #[arg(help_heading = "Results", hide_short_help = true, long, conflicts_with = "resume")]
    pub force: bool,
    /// Name of the device in every view, e.g. 'Card A'
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub label: Option<String>,
    /// Change a setting of the scenario
    ///
    /// `flashlag scenarios NAME` lists them
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Change a parameter of the simulated device's profile (`flashlag profiles show NAME` lists them)
    #[arg(help_heading = "Procedure", hide_short_help = true)]
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub parameter: Vec<(String, String)>,
    /// Seed of every random choice
    #[arg(help_heading = "Procedure", hide_short_help = true, long, default_value_t = 1)]
    pub seed: u64,
    /// Run the whole scenario N times
    ///
    /// The run files are NAME-1.json, NAME-2.json, …; a simulation is run with consecutive seeds
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Free space that a fill leaves, e.g. 300MB [default: the larger of 5% and 1 GB, a tenth of a small volume; sim: 300 MB]
    #[arg(help_heading = "Safety", hide_short_help = true, long, value_name = "SIZE")]
    pub leave: Option<Bytes>,
    /// Never write more than this
    #[arg(long, value_name = "SIZE")]
    pub budget: Option<Bytes>,
    /// Do not ask before writing more than 4 GB
    #[arg(long)]
    pub yes: bool,
    /// Resume the run in the file given by -o, at its next test
    #[arg(help_heading = "Procedure", hide_short_help = true, long, requires = "output")]
    pub resume: bool,
    /// Read back everything written and check every byte
    #[arg(help_heading = "Procedure", hide_short_help = true, long)]
    pub verify: bool,
    /// Charge and heat
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Exit with 1 if a figure crosses it: 'rand_write_4k.p99>20ms'
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<String>,
}

impl RunArgs {
    /// The same with the scenario of its purpose, if it names one.
    pub fn for_its_purpose(&self) -> RunArgs {
        let scenario = self.purpose.clone().unwrap_or_else(|| self.scenario.clone());
        RunArgs { scenario, purpose: None, ..self.clone() }
    }

    /// The request for a run, without the paths of its results.
    pub fn words(&self) -> RunWords {
        RunWords {
            set: self.set.clone(),
            parameters: self.parameter.clone(),
            label: self.label.clone(),
            leave: self.leave,
            budget: self.budget,
            verify: self.verify,
            limits: self.limits.limits(),
            ..RunWords::new(&self.scenario, &self.on, self.seed)
        }
    }
}

/// `flashlag compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Run files, or fio json+ files; those of one machine, set up the same, count as repeats
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The runs of the other side, e.g. those made before a change, with those made after it as RUN
    #[arg(long, num_args = 1.., value_name = "RUN")]
    pub against: Vec<PathBuf>,
    /// Name of a side, in order, the other side first
    ///
    /// One for each side, or one for each run
    #[arg(long = "label", value_name = "NAME", value_parser = label)]
    pub labels: Vec<String>,
    /// Compare although the scenarios differ; overwrite the files of -o and --report, whatever is in
    /// them
    #[arg(hide_short_help = true, long)]
    pub force: bool,
    /// Output file; `-` is standard output
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    pub output: PathBuf,
    /// Format [default: by the extension of -o, else text]
    #[arg(long, value_parser = Form::of_comparisons())]
    pub format: Option<Form>,
    /// Also write the comparison as an HTML page
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Exit with 1 if a figure is surely slower by more than this, e.g. 5%
    ///
    /// A figure of the second side is surely slower than the first side's by more than this share if its
    /// whole 95% interval is
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fail_if_slower: Option<f64>,
    /// Place each run among those of a table: of its model, else of its class, and as old and full
    ///
    /// The table is data/phases.parquet of a site, or made by `flashlag store query --from phases -o
    /// FILE.parquet`
    #[cfg(feature = "parquet")]
    #[arg(hide_short_help = true, long = "with", value_name = "FILE.parquet")]
    #[arg(conflicts_with_all = ["against", "labels", "force", "output", "format", "report"])]
    #[arg(conflicts_with_all = ["fail_if_slower", "junit"])]
    pub table: Option<PathBuf>,
    /// Also write JUnit XML: a test for each figure, which fails where --fail-if-slower would (default: 0%)
    #[arg(hide_short_help = true, long, value_name = "FILE.xml")]
    pub junit: Option<PathBuf>,
}

/// `flashlag report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run files, or fio json+ files; several make a comparison
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Output file; `-` is standard output
    #[arg(short, long, default_value = "-")]
    pub output: PathBuf,
    /// Format [default: by the extension of -o, else text]
    #[arg(long, value_enum)]
    pub format: Option<Form>,
    /// Only this chart of the run, as SVG (`--chart list` prints their names)
    #[arg(long, value_name = "NAME", conflicts_with = "format")]
    pub chart: Option<String>,
    /// Draw the chart in light colours on a dark background
    #[arg(long, requires = "chart")]
    pub dark: bool,
    /// Compare although the scenarios differ; overwrite the file of -o, whatever is in it
    #[arg(long)]
    pub force: bool,
}

/// `flashlag verify`
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Run files
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
}

/// `flashlag share`
#[derive(Debug, Args)]
pub struct ShareArgs {
    /// Run files, or fio json+ files
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The file for others [default: RUN-shared.json beside each run]
    #[arg(short, long, value_name = "FILE.json")]
    pub output: Option<PathBuf>,
    /// Only list what would go and what would stay
    #[arg(long)]
    pub list: bool,
    /// Do not ask before writing
    #[arg(long, conflicts_with = "list")]
    pub yes: bool,
    /// Overwrite the files, whatever is in them
    #[arg(long)]
    pub force: bool,
}

/// `flashlag predict`
#[derive(Debug, Args)]
#[command(after_long_help = PREDICT_HELP, after_help = CHANGES)]
pub struct PredictArgs {
    /// A simulated run, or a profile: NAME, sim:NAME+FS or a TOML file
    ///
    /// `flashlag profiles` lists the names
    #[arg(value_name = "RUN|PROFILE")]
    pub subject: String,
    /// Changes, each on top of those before it
    ///
    /// For example full=90%,fs=f2fs (see below)
    #[arg(long, value_name = "KEY=VALUE,...", required_unless_present = "sweep")]
    pub change: Vec<String>,
    /// Figures at fill levels ten points apart
    ///
    /// For example full=10%..95%
    #[arg(long, value_name = "full=A..B")]
    pub sweep: Option<String>,
    /// Filesystem before the first change [default: the profile's]
    ///
    /// With its options, as after the + of sim:NAME+FS
    #[arg(long, value_name = "FS[,OPTION]...")]
    pub fs: Option<String>,
    /// Bytes written on each day of use, and at least for full=
    #[arg(long, value_name = "SIZE", default_value = "5GB")]
    pub daily: Bytes,
    /// Number of seeds to average [default: 3 with age=, else 1]
    #[arg(hide_short_help = true)]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub seeds: Option<u64>,
    /// Use a run although it failed a trust check or has too few operations
    #[arg(hide_short_help = true, long)]
    pub force: bool,
}

/// `flashlag scenarios`
#[derive(Debug, Args)]
pub struct ScenariosArgs {
    /// Scenario to show as a file: a built-in one or a TOML file
    pub name: Option<String>,
    /// List every key of a scenario file with its values, default and meaning
    #[arg(long, conflicts_with = "name")]
    pub keys: bool,
    /// Format of the file
    #[arg(long, value_enum, default_value_t = ScenarioFormat::Toml, requires = "name")]
    pub format: ScenarioFormat,
    /// Change a setting, for --format fio
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, requires = "name")]
    pub set: Vec<(String, String)>,
}

/// The formats of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScenarioFormat {
    /// flashlag's own format
    Toml,
    /// An fio job file with the same block tests
    Fio,
}

/// `flashlag clean`
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Directories of earlier runs, or adb:[SERIAL] for a phone, where a run under way is ended
    #[arg(default_value = ".", value_name = "DIR")]
    pub targets: Vec<String>,
    /// Also remove files of runs on other machines, which you know to have ended
    #[arg(long)]
    pub force: bool,
}

/// `flashlag on-phone`
#[derive(Debug, Args)]
pub struct OnPhoneArgs {
    /// The question
    pub question: String,
    /// The folder of the run
    pub folder: String,
    /// The number of the last step that is known
    #[arg(default_value_t = 0)]
    pub after: u64,
}

/// A share of 0 to 1000 %, as a number: `5%` is 0.05.
fn share(text: &str) -> Result<f64, String> {
    let percent = text.trim().strip_suffix('%').map(str::trim);
    let share = percent.and_then(|percent| percent.parse::<f64>().ok()).map(|p| p / 100.0);
    let share = share.filter(|share| (0.0..=10.0).contains(share));
    share.ok_or_else(|| "write a share from 0% to 1000%, e.g. 5%".to_owned())
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, e.g. span=200MB")?;
    if key.is_empty() {
        return Err("the key is missing: write KEY=VALUE, e.g. span=200MB".to_owned());
    }
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
