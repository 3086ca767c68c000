use anyhow::Result;
use flashlag_runner::lab::{CutsRequest, LabTarget, cut_in_lab};
use flashlag_spec::scenario::{JournalMode, Synchronous};
use flashlag_term::Progress;

use crate::args::{CutsArgs, JournalArg, SynchronousArg};
use crate::exit::Exit;
use crate::observer::ProgressObserver;
use crate::say;
use crate::signals::stop_flag;
use crate::terminal::Terminal;

/// Cuts the power of a virtual device during saves and reports the losses. Exit status 1 if anything
/// was lost.
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
    let cuts = cut_in_lab(&request, &mut ProgressObserver(&progress))?;
    progress.finished();
    if args.json {
        say::json(&format!("{}\n", serde_json::to_string(&cuts)?))?;
    } else {
        say::view(&flashlag_term::power_cuts(&cuts, terminal.stdout))?;
    }
    let harmless = cuts.lost == 0 && cuts.damaged == 0 && cuts.unmountable == 0;
    Ok(if harmless { Exit::Done } else { Exit::Crossed })
}
