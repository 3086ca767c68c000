use anyhow::Result;
use flashlag_runner::lab::{Cuts, CutsRequest, LabTarget, cut_in_lab};
use flashlag_schema::scenario::{JournalMode, Synchronous};
use flashlag_term::Progress;
use flashlag_units::printable_line;

use crate::args::{CutsArgs, JournalArg, SynchronousArg};
use crate::exit::Exit;
use crate::observer::ProgressObserver;
use crate::say;
use crate::signals::stop_flag;
use crate::terminal::Terminal;

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
    let cuts = cut_in_lab(&request, &mut ProgressObserver(&progress))?;
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
