//! The guest's part in power cuts: makes saves and reports each, and checks a crash image.

use std::ops::ControlFlow;
use std::path::Path;

use flashlag_engine::ThreadWaitMeter;
use flashlag_lab::LabError;
use flashlag_lab::guest::{self, Link, Orders};
use flashlag_lab::protocol::{CrashCheck, FileOrder, Mount, Report, SaveOrder};
use flashlag_spec::scenario::{Arrivals, FileKind, FileSave, PrefsCall, Save, Statement, SyncCall};
use flashlag_sqlite::{
    Found, PreparedFile, PreparedSaves, SaveJob, SaveWatch, SavesOutcome, SqliteError, examine,
    examine_file, examine_salvage,
};
use flashlag_stats::Recorder;
use flashlag_units::{Bytes, Nanos, Text};

/// Interval below the duration of any save, so that each save is reported.
const EVERY: Nanos = Nanos::from_micros(1);
/// Threshold of stalls: above any wait, so that none is listed.
const NEVER: Nanos = Nanos::from_secs(3600);

/// Makes the saves of an order and reports each acknowledged save.
pub(super) fn save(order: &SaveOrder, link: &Link, orders: &Orders) -> Result<(), LabError> {
    let failed = |error: SqliteError| LabError::Save(error.into());
    let directory = Path::new(&order.directory);
    std::fs::create_dir_all(directory).map_err(|source| LabError::File {
        action: "create",
        path: directory.to_owned(),
        source,
    })?;
    if let Some(file) = &order.file {
        let save = file_save(file, Some(order.saves));
        let job =
            SaveJob { save: &save, directory, seed: file.seed, interval: EVERY, stall_over: NEVER };
        let prepared = PreparedFile::prepare(&job).map_err(failed)?;
        return reported(link, orders, |watch| prepared.run(watch));
    }
    let save = Save {
        name: "save".to_owned(),
        statement: Statement::Insert,
        journal: order.journal,
        synchronous: order.synchronous,
        sync_call: SyncCall::default(),
        atomic: None,
        wal_autocheckpoint: None,
        journal_size_limit: None,
        statements: 1,
        row: Text(Bytes(100)),
        rows: 0,
        databases: 1,
        saves: Some(order.saves),
        time: None,
        min_saves: None,
        arrivals: Arrivals::default(),
        think: None,
        background: None,
    };
    let job =
        SaveJob { save: &save, directory, seed: order.seed, interval: EVERY, stall_over: NEVER };
    let stop = orders.stop();
    let prepared = PreparedSaves::prepare(&job, &stop).map_err(failed)?;
    reported(link, orders, |watch| prepared.run(watch))
}

/// A file of 10 kB, of which each save changes 100 bytes; a log grows by as much per save.
fn file_save(order: &FileOrder, saves: Option<u64>) -> FileSave {
    let size = if order.kind == FileKind::AppendLog { Bytes::from_mib(4) } else { Bytes(10_000) };
    FileSave {
        name: "save".to_owned(),
        kind: order.kind,
        android: order.android,
        call: PrefsCall::Commit,
        size: Text(size),
        change: Text(Bytes(100)),
        changes: 1,
        sync_directory: order.sync_directory,
        saves,
        time: None,
        min_saves: None,
        arrivals: Arrivals::default(),
        think: None,
        background: None,
    }
}

/// Runs saves, each of which is reported when it is acknowledged.
fn reported(
    link: &Link,
    orders: &Orders,
    run: impl FnOnce(SaveWatch<'_, ThreadWaitMeter>) -> Result<SavesOutcome, SqliteError>,
) -> Result<(), LabError> {
    let stop = orders.stop();
    let mut saves = 0;
    let mut tell = |_: &mut Recorder| {
        saves += 1;
        link.tell(&Report::Acknowledged { saves });
        ControlFlow::Continue(())
    };
    let watch = SaveWatch {
        on_interval: Some(&mut tell),
        ..SaveWatch::<ThreadWaitMeter>::new(&stop, None)
    };
    let saved = run(watch).map_err(|error| LabError::Save(error.into()))?;
    match saved.error {
        Some(error) => Err(LabError::Save(error.into())),
        None => Ok(()),
    }
}

/// Mounts a crash image, checks its database or its file and unmounts it.
pub(super) fn check(
    mount: &Mount,
    directory: &str,
    file: Option<FileOrder>,
) -> Result<CrashCheck, LabError> {
    if let Err(error) = guest::mount_one(mount) {
        return Ok(CrashCheck { unmountable: Some(error.to_string()), ..CrashCheck::default() });
    }
    let directory = Path::new(directory);
    let found = match file {
        Some(file) => of_file(directory, &file),
        None => examine(directory).map(|examined| CrashCheck {
            rows: Some(examined.rows),
            damage: examined.damage,
            ..CrashCheck::default()
        }),
    };
    let mut checked = found.unwrap_or_else(|error| CrashCheck {
        damage: Some(error.to_string()),
        ..CrashCheck::default()
    });
    let root = Path::new(&mount.at);
    checked.salvaged =
        file.and_then(|file| examine_salvage(root, &file_save(&file, None), file.seed));
    guest::unmount_one(mount)?;
    Ok(checked)
}

/// The state in which an app finds its file.
fn of_file(directory: &Path, file: &FileOrder) -> Result<CrashCheck, SqliteError> {
    let none = CrashCheck::default();
    Ok(match examine_file(directory, &file_save(file, None), file.seed)? {
        Found::Saves(saves) => CrashCheck { rows: Some(saves), ..none },
        Found::Empty => CrashCheck { rows: Some(0), empty: true, ..none },
        Found::Damaged(damage) => CrashCheck { damage: Some(damage), ..none },
    })
}
