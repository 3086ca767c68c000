//! `flashlag watch`

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use flashlag_units::{Bytes, Nanos};

const HELP: &str = "\
Examples:
  flashlag watch /srv/data --probe 10s   until Ctrl-C, or by a systemd unit
  flashlag watch report /srv/data        what was found so far, at any time
  flashlag watch adb: --probe 30s        on a phone, which goes on without cable
  flashlag watch fetch adb:              take what the phone found so far

It reads the disk's counters four times a second and keeps a history: waits by
hour, later by day; free space, wear, temperature, kernel and firmware; and
incidents: waits over --over and ten times the usual, with what happened in the
half minute before. Root sees more programs.

A suspended machine, a stopped process, a clock that is set and a CPU that is
taken by a hypervisor are never incidents.

On a phone it goes on by itself until the phone restarts. Most phones hide the
disk's counters, so that only probes measure it.

sim:PROFILE watches half a year of a simulated user's days in virtual time, in
which waits and ageing are planted, and prints what of that was found.";

/// `flashlag watch`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_long_help = HELP)]
#[command(disable_help_subcommand = true)]
pub struct WatchArgs {
    /// What to do with a history.
    #[command(subcommand)]
    pub action: Option<WatchAction>,
    /// What to watch.
    #[command(flatten)]
    pub live: WatchLiveArgs,
}

/// `flashlag watch DIR`
#[derive(Debug, Args)]
pub struct WatchLiveArgs {
    /// Whose disk is watched: a directory, adb: or sim:PROFILE
    #[arg(default_value = ".", value_name = "DIR")]
    pub directory: PathBuf,
    /// Make a durable 4 KiB write this often, so that an idle disk is measured too
    #[arg(long, value_name = "TIME", value_parser = every)]
    pub probe: Option<Nanos>,
    /// A wait beyond this, and beyond ten times the usual one, is an incident [default: 250ms]
    #[arg(long, value_name = "TIME", value_parser = over)]
    pub over: Option<Nanos>,
    /// The history [default: flashlag-watch.history in DIR]
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// The most that the history may take; the oldest days go first [default: 20MB]
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = size)]
    pub size: Option<Bytes>,
    /// The most that the history may write a day; incidents are written in any case [default: 1MB]
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = daily)]
    pub daily: Option<Bytes>,
    /// A TOML file with probe, over, size and daily, in the place of these options' defaults; SIGHUP reads it again
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// How long to watch [default: until Ctrl-C; sim: 180d]
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Nanos>,
    /// Serve the page and Prometheus here
    ///
    /// The page is at http://127.0.0.1:PORT/, figures at /metrics. With ADDRESS:PORT, e.g. 0.0.0.0:9178, others see
    /// both, with the names of programs.
    #[arg(long, value_name = "PORT", value_parser = listen)]
    pub listen: Option<SocketAddr>,
    /// How many times as long each request of sim: takes at the end [default: 1.5]
    #[arg(hide_short_help = true, long, value_name = "RATIO", value_parser = ageing)]
    pub ageing: Option<f64>,
    /// Seed of every random choice of sim:
    #[arg(hide_short_help = true, long, default_value_t = 1)]
    pub seed: u64,
}

/// What `flashlag watch` does with a history.
#[derive(Debug, Subcommand)]
pub enum WatchAction {
    /// Say what a history shows, while it is written or after
    Report {
        /// The watched directory, or the history's file
        #[arg(default_value = ".", value_name = "DIR|FILE")]
        place: PathBuf,
        /// Output file; `-` is standard output
        #[arg(short, long, default_value = "-", value_name = "FILE")]
        output: PathBuf,
        /// Format [default: by the extension of -o, else text]
        #[arg(long, value_enum)]
        format: Option<HistoryForm>,
        /// Overwrite the file of -o, whatever is in it
        #[arg(long)]
        force: bool,
    },
    /// Take the history of a phone, whose watch goes on
    Fetch {
        /// The phone; of several, its serial number
        #[arg(default_value = "adb:", value_name = "adb:SERIAL")]
        phone: PathBuf,
        /// Output file; a history there is replaced [default: watch-SERIAL.history]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// End the watch, and remove everything of it from the phone
        #[arg(long)]
        end: bool,
        /// Overwrite the file of -o, whatever is in it
        #[arg(long)]
        force: bool,
    },
    /// Print the JSON Schema of `report --format json`
    Schema,
}

/// The forms of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryForm {
    /// For a terminal
    Text,
    /// A self-contained page
    Html,
    /// A Markdown page
    Markdown,
    /// Everything, for programs
    Json,
    /// A line for each hour or day
    Csv,
    /// Prometheus's text format, for node_exporter
    Prometheus,
}

fn within(text: &str, least: Nanos, most: Nanos) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    if (least..=most).contains(&time) {
        Ok(time)
    } else {
        Err(format!("write a time from {least} to {most}"))
    }
}

/// The interval of `--probe`.
pub fn every(text: &str) -> Result<Nanos, String> {
    within(text, Nanos::from_secs(1), Nanos::from_secs(3600))
}

/// The limit of `--over`.
pub fn over(text: &str) -> Result<Nanos, String> {
    within(text, Nanos::from_millis(10), Nanos::from_secs(3600))
}

fn ageing(text: &str) -> anyhow::Result<f64> {
    let ratio = text.parse().ok().filter(|ratio| (0.25..=4.0).contains(ratio));
    ratio.context("write a ratio from 0.25 to 4: 0.7 for a device that becomes faster")
}

/// A port is one of this machine alone.
fn listen(text: &str) -> anyhow::Result<SocketAddr> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().context("write a port, or an address and a port: 9178, 0.0.0.0:9178, [::1]:9178")
}

fn at_least(text: &str, least: Bytes) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if size >= least { Ok(size) } else { Err(format!("write at least {least}")) }
}

/// The size of `--size`.
pub fn size(text: &str) -> Result<Bytes, String> {
    at_least(text, Bytes(1_000_000))
}

/// The bytes of `--daily`.
pub fn daily(text: &str) -> Result<Bytes, String> {
    at_least(text, Bytes(100_000))
}
