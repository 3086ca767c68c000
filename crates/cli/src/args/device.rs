use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use flashlag_serve::{Age, Listen, TimeScale};
use flashlag_units::{Bytes, Nanos};

/// `flashlag device`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
pub struct DeviceArgs {
    /// What is said to a device.
    #[command(subcommand)]
    pub action: Option<DeviceAction>,
    /// The device.
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// `flashlag device PROFILE`
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// A simulated device (`flashlag profiles` lists them) or a TOML file
    #[arg(required = true)]
    pub profile: Option<String>,
    /// Its size, e.g. 8GB [default: the profile's]
    #[arg(long)]
    pub size: Option<Bytes>,
    /// What it went through: new, full, or aged:12mo at 20 GB a day [default: new]
    #[arg(long)]
    pub state: Option<Age>,
    /// Where clients find it: unix:PATH, tcp:PORT or tcp:ADDRESS:PORT [default: a socket]
    #[arg(long, value_name = "WHERE")]
    pub listen: Option<Listen>,
    /// What every random choice follows from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Keeps its data in this file, and its flash beside it [default: in memory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// What it holds at first; not with a --store that is there already
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// It lives so many times faster than real time
    #[arg(long, value_name = "X", default_value = "1")]
    pub time_scale: TimeScale,
    /// Control socket [default: beside the socket]
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Certificates for clients from elsewhere, as nbdkit's --tls-certificates
    #[arg(long, value_name = "DIR", conflicts_with = "tls_psk")]
    pub tls_certificates: Option<PathBuf>,
    /// Keys for clients from elsewhere, as nbdkit's --tls-psk
    #[arg(long, value_name = "FILE")]
    pub tls_psk: Option<PathBuf>,
    /// The nbdkit plugin [default: beside this program]
    #[arg(long, value_name = "FILE", env = "FLASHLAG_NBD_PLUGIN")]
    pub plugin: Option<PathBuf>,
}

/// What is said to a device that is served.
#[derive(Debug, Subcommand)]
pub enum DeviceAction {
    /// Show how a device is
    Stat {
        /// Its control socket [default: the only device's]
        socket: Option<PathBuf>,
        /// How
        #[arg(long, value_enum, default_value_t = StatFormat::Text)]
        format: StatFormat,
    },
    /// Cut a device's power: what was not flushed is lost, or partly there
    Cut(CutArgs),
    /// Give a device its power back after `cut --stay-off`
    On {
        /// Its control socket [default: the only device's]
        socket: Option<PathBuf>,
    },
    /// Make a device go wrong
    Fault(FaultArgs),
    /// Undo all faults
    Repair {
        /// Its control socket [default: the only device's]
        socket: Option<PathBuf>,
    },
    /// Record every request in a file
    Record(RecordArgs),
}

/// How statistics are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatFormat {
    /// For people
    Text,
    /// As the device says it
    Json,
    /// For collectors
    Openmetrics,
}

/// `flashlag device cut`
#[derive(Debug, Args)]
pub struct CutArgs {
    /// Its control socket [default: the only device's]
    pub socket: Option<PathBuf>,
    /// When so many more commands were handed over [default: now]
    #[arg(long, value_name = "N", group = "moment")]
    pub after_commands: Option<u64>,
    /// When so much more of the device's time has passed
    #[arg(long, value_name = "TIME", group = "moment")]
    pub after: Option<Nanos>,
    /// Within one of so many commands, at a moment drawn from --seed
    #[arg(long, value_name = "N", group = "moment")]
    pub within_commands: Option<u64>,
    /// What the drawn moment follows from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// It stays without power until `flashlag device on`
    #[arg(long)]
    pub stay_off: bool,
}

/// `flashlag device fault`
#[derive(Debug, Args)]
pub struct FaultArgs {
    /// read, write, flush, discard or any: those fail; stall: none is taken for --time; read-only
    #[arg(value_enum)]
    pub what: FaultWhat,
    /// Its control socket [default: the only device's]
    pub socket: Option<PathBuf>,
    /// Where the range begins that goes wrong
    #[arg(long, value_name = "SIZE", default_value = "0B")]
    pub offset: Bytes,
    /// How long it is [default: to the end]
    #[arg(long, value_name = "SIZE")]
    pub length: Option<Bytes>,
    /// The share of requests that goes wrong, 0 to 1
    #[arg(long, default_value_t = 1.0)]
    pub share: f64,
    /// What the draws follow from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many go wrong at most
    #[arg(long, value_name = "N")]
    pub times: Option<u64>,
    /// How long a stall is, in the device's time
    #[arg(long, default_value = "1s")]
    pub time: Nanos,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FaultWhat {
    /// Reads fail
    Read,
    /// Writes fail
    Write,
    /// Flushes fail
    Flush,
    /// Discards fail
    Discard,
    /// Every request fails
    Any,
    /// No request is taken for a while
    Stall,
    /// The device only reads
    ReadOnly,
}

/// `flashlag device record`
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The file; without it the recording ends
    pub file: Option<PathBuf>,
    /// Its control socket [default: the only device's]
    #[arg(long)]
    pub socket: Option<PathBuf>,
    /// With what is written
    #[arg(long)]
    pub data: bool,
    /// The recording ends when the file is so large
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub limit: Bytes,
}
