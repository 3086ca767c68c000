use clap::{Args, ValueEnum};

/// `flashlag cuts`
#[derive(Debug, Args)]
pub struct CutsArgs {
    /// lab:PROFILE+FS[,OPTION]..., e.g. lab:nexus5-2013+ext4,nobarrier
    pub target: String,
    /// SQLite's journal mode: delete, truncate, persist or wal
    #[arg(hide_possible_values = true, long, value_name = "MODE", value_enum, default_value_t = JournalArg::Delete)]
    pub journal: JournalArg,
    /// SQLite's synchronous: extra, full or normal
    #[arg(hide_possible_values = true, long, value_name = "MODE", value_enum, default_value_t = SynchronousArg::Full)]
    pub synchronous: SynchronousArg,
    /// What saves: sqlite, shared-preferences, datastore, atomic-file, rename, rename-synced or append-log
    #[arg(hide_possible_values = true, long, value_name = "KIND", value_enum, default_value_t = KindArg::Sqlite, conflicts_with_all = ["journal", "synchronous"])]
    pub kind: KindArg,
    /// Android whose calls a kind makes, where they changed [default: the newest]
    #[arg(hide_short_help = true, long, value_name = "N", requires = "kind")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=16))]
    pub android: Option<u32>,
    /// Number of power cuts
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub cuts: u32,
    /// Number of saves that the cuts are spread over
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub saves: u64,
    /// Seed of the moments and contents
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What saves, as `[[save]] kind` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// Transactions of SQLite
    Sqlite,
    /// Android's SharedPreferences
    SharedPreferences,
    /// androidx.datastore
    Datastore,
    /// android.util.AtomicFile
    AtomicFile,
    /// A new file, synced and renamed
    Rename,
    /// The same, and a sync of the directory
    RenameSynced,
    /// A record appended to a log
    AppendLog,
}

/// Journal modes in which a save is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JournalArg {
    /// Rollback journal, deleted at every commit
    Delete,
    /// Rollback journal, truncated
    Truncate,
    /// Rollback journal, its header zeroed
    Persist,
    /// Write-ahead log
    Wal,
}

/// SQLite's `synchronous`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SynchronousArg {
    /// The deletion of the rollback journal is made durable as well
    Extra,
    /// SQLite's default
    Full,
    /// In WAL mode the last saves may be lost
    Normal,
}
