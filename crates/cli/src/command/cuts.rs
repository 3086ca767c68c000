use anyhow::Result;
use flashlag_runner::lab::{CutsRequest, FileOrder, LabTarget, cut_in_lab};
use flashlag_spec::scenario::{FileKind, JournalMode, Synchronous};
use flashlag_term::Progress;

use crate::args::{CutsArgs, JournalArg, KindArg, SynchronousArg};
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
        file: file_of(args),
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
    let harmless = cuts.lost == 0 && cuts.empty == 0 && cuts.damaged == 0 && cuts.unmountable == 0;
    Ok(if harmless { Exit::Done } else { Exit::Crossed })
}

/// The file that is saved instead of a database.
fn file_of(args: &CutsArgs) -> Option<FileOrder> {
    let kind = match args.kind {
        KindArg::Sqlite => return None,
        KindArg::SharedPreferences => FileKind::SharedPreferences,
        KindArg::Datastore => FileKind::Datastore,
        KindArg::AtomicFile => FileKind::AtomicFile,
        KindArg::Rename | KindArg::RenameSynced => FileKind::Rename,
        KindArg::AppendLog => FileKind::AppendLog,
    };
    let sync_directory = args.kind == KindArg::RenameSynced;
    Some(FileOrder { kind, android: args.android, sync_directory, seed: args.seed })
}
