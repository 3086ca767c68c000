use anyhow::Result;
use clap::{Args, ValueEnum};
use flashlag_runner::lab::{Cuts, CutsRequest, LabTarget, cut_in_lab};
use flashlag_schema::scenario::{JournalMode, Synchronous};
use flashlag_term::Progress;
use flashlag_units::printable_line;

use super::run::Shown;
use crate::exit::Exit;
use crate::say;
use crate::signals::stop_flag;
use crate::terminal::Terminal;

/// `flashlag cuts`
#[derive(Debug, Args)]
pub struct CutsArgs {
    /// lab:PROFILE+FS[,OPTION]...: lab:nexus5-2013+ext4,nobarrier
    pub target: String,
    /// SQLite's journal mode
    #[arg(long, value_enum, default_value_t = JournalArg::Delete)]
    pub journal: JournalArg,
    /// SQLite's synchronous
    #[arg(long, value_enum, default_value_t = SynchronousArg::Full)]
    pub synchronous: SynchronousArg,
    /// How many power cuts
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub cuts: u32,
    /// How many saves they are spread over
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub saves: u64,
    /// What moments and contents follow from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
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

/// How a commit is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SynchronousArg {
    /// The deletion of a rollback journal is made durable as well
    Extra,
    /// SQLite's default
    Full,
    /// In WAL mode the last saves may be lost
    Normal,
}

/// Cuts the power of a virtual device during saves, and says what was lost. Exits with 1 where
/// anything was.
pub fn cuts(args: &CutsArgs, terminal: &Terminal) -> Result<Exit> {
    let request = CutsRequest {
        target: LabTarget::parse(&args.target)?,
        journal: match args.journal {
            JournalArg::Delete => JournalMode::Delete,
            JournalArg::Truncate => JournalMode::Truncate,
            JournalArg::Persist => JournalMode::Persist,
            JournalArg::Wal => JournalMode::Wal,
        },
        synchronous: match args.synchronous {
            SynchronousArg::Extra => Synchronous::Extra,
            SynchronousArg::Full => Synchronous::Full,
            SynchronousArg::Normal => Synchronous::Normal,
        },
        saves: args.saves,
        cuts: args.cuts as usize,
        seed: args.seed,
        stop: stop_flag()?,
    };
    let title = format!("flashlag {}  power cuts on {}", env!("CARGO_PKG_VERSION"), args.target);
    let progress = Progress::new(terminal.progress, &title);
    let cuts = cut_in_lab(&request, &mut Shown { progress: &progress })?;
    progress.finished();
    if args.json {
        say::json(&format!("{}\n", serde_json::to_string(&cuts)?))?;
    } else {
        say::text(&text(&cuts))?;
    }
    let harmless = cuts.lost == 0 && cuts.damaged == 0 && cuts.unmountable == 0;
    Ok(if harmless { Exit::Done } else { Exit::Crossed })
}

fn text(cuts: &Cuts) -> String {
    let mut text = format!(
        "{} power cuts during {} saves on {}\n  {} lost acknowledged saves, {} of {} in all, {} at \
         most in one\n  {} left a damaged database, {} a filesystem that does not mount\n",
        cuts.cuts,
        cuts.saves,
        cuts.target,
        cuts.with_loss,
        cuts.lost,
        cuts.acknowledged,
        cuts.most_lost,
        cuts.damaged,
        cuts.unmountable,
    );
    for failure in &cuts.failures {
        text.push_str(&format!("  {}\n", printable_line(failure)));
    }
    text
}
