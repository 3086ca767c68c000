use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use flashlag_serve::{Age, Listen, TimeScale};
use flashlag_units::{Bytes, Nanos};

/// `flashlag device`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
pub struct DeviceArgs {
    /// A command to a served device.
    #[command(subcommand)]
    pub action: Option<DeviceAction>,
    /// The device to serve.
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// `flashlag device PROFILE`
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// A simulated device (`flashlag profiles` lists them) or a TOML file
    #[arg(required = true)]
    pub profile: Option<String>,
    /// Size of the device, e.g. 8GB [default: the profile's]
    #[arg(long)]
    pub size: Option<Bytes>,
    /// new, full, or aged:12mo at 20 GB a day [default: new]
    #[arg(long)]
    pub state: Option<Age>,
    /// unix:PATH or tcp:[ADDRESS:]PORT [default: a socket]
    #[arg(long, value_name = "WHERE")]
    pub listen: Option<Listen>,
    /// Seed of every random choice
    #[arg(hide_short_help = true, long, default_value_t = 1)]
    pub seed: u64,
    /// File for its data and state [default: in memory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Initial content; not with an existing --store
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Times faster than real time
    #[arg(hide_short_help = true, long, value_name = "X", default_value = "1")]
    pub time_scale: TimeScale,
    /// Control socket [default: beside the socket of --listen]
    #[arg(hide_short_help = true, long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Certificates for clients on other machines, as nbdkit's --tls-certificates
    #[arg(hide_short_help = true, long, value_name = "DIR", conflicts_with = "tls_psk")]
    pub tls_certificates: Option<PathBuf>,
    /// Keys for clients on other machines, as nbdkit's --tls-psk
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub tls_psk: Option<PathBuf>,
    /// The nbdkit plugin [default: beside this program]
    #[arg(hide_short_help = true, long, value_name = "FILE", env = "FLASHLAG_NBD_PLUGIN")]
    pub plugin: Option<PathBuf>,
}

/// Commands to a served device.
#[derive(Debug, Subcommand)]
pub enum DeviceAction {
    /// Show the statistics of a device
    Stat {
        /// Control socket [default: that of the only device]
        socket: Option<PathBuf>,
        /// Format
        #[arg(long, value_enum, default_value_t = StatFormat::Text)]
        format: StatFormat,
    },
    /// Cut a device's power: what was not flushed is lost in part
    Cut(CutArgs),
    /// Restore a device's power after `cut --stay-off`
    On {
        /// Control socket [default: that of the only device]
        socket: Option<PathBuf>,
    },
    /// Inject faults into a device
    Fault(FaultArgs),
    /// Undo all faults
    Repair {
        /// Control socket [default: that of the only device]
        socket: Option<PathBuf>,
    },
    /// Record every request in a file
    Record(RecordArgs),
}

/// The format of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatFormat {
    /// Text
    Text,
    /// JSON as the device reports it
    Json,
    /// OpenMetrics, for collectors
    Openmetrics,
    /// Prometheus's text format, for node_exporter
    Prometheus,
}

/// `flashlag device cut`
#[derive(Debug, Args)]
pub struct CutArgs {
    /// Control socket [default: that of the only device]
    pub socket: Option<PathBuf>,
    /// Cut after N more commands [default: now]
    #[arg(long, value_name = "N", group = "moment")]
    pub after_commands: Option<u64>,
    /// Cut after this much more of the device's time
    #[arg(long, value_name = "TIME", group = "moment")]
    pub after: Option<Nanos>,
    /// Cut within one of the next N commands, at a moment drawn from --seed
    #[arg(long, value_name = "N", group = "moment")]
    pub within_commands: Option<u64>,
    /// Seed of the drawn moment
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Leave the power off until `flashlag device on`
    #[arg(long)]
    pub stay_off: bool,
}

/// `flashlag device fault`
#[derive(Debug, Args)]
pub struct FaultArgs {
    /// Requests that fail, a stall of --time, no more writes, or a way in which a bad card loses data
    #[arg(value_enum)]
    pub what: FaultWhat,
    /// Control socket [default: that of the only device]
    pub socket: Option<PathBuf>,
    /// Start of the faulty range
    #[arg(long, value_name = "SIZE", default_value = "0B")]
    pub offset: Bytes,
    /// Length of the faulty range [default: to the end]
    #[arg(long, value_name = "SIZE")]
    pub length: Option<Bytes>,
    /// Share of requests that fail, 0 to 1
    #[arg(long, default_value_t = 1.0)]
    pub share: f64,
    /// Seed of the draws
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Maximum number of failing requests
    #[arg(long, value_name = "N")]
    pub times: Option<u64>,
    /// Bytes that are still accepted before read-only
    #[arg(long, value_name = "SIZE")]
    pub after: Option<Bytes>,
    /// Length of a stall, in the device's time
    #[arg(long, default_value = "1s")]
    pub time: Nanos,
}

/// The kind of a fault.
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
    /// No request is accepted for a while
    Stall,
    /// The device refuses writes, after --after more were written
    ReadOnly,
    /// The device holds --offset bytes: higher addresses overwrite lower ones
    Wrap,
    /// Writes from --offset on are accepted and lost; reads give what was there before
    LoseOld,
    /// The same; reads give zeros
    LoseZeros,
    /// The same; reads give 0xff
    LoseOnes,
    /// The same; reads give noise
    LoseNoise,
    /// One bit of each sector from --offset on is flipped when it is read
    Flip,
}

/// `flashlag device record`
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The file; without one, end the recording
    pub file: Option<PathBuf>,
    /// Control socket [default: that of the only device]
    #[arg(long)]
    pub socket: Option<PathBuf>,
    /// Also record the written data
    #[arg(long)]
    pub data: bool,
    /// Size of the file at which the recording ends
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub limit: Bytes,
}
