//! The guest's part in power cuts: makes saves and reports each, and checks a crash image.

use std::ops::ControlFlow;
use std::path::Path;

use flashlag_engine::ThreadWaitMeter;
use flashlag_lab::LabError;
use flashlag_lab::guest::{self, Link, Orders};
use flashlag_lab::protocol::{CrashCheck, Mount, Report, SaveOrder};
use flashlag_spec::scenario::{Arrivals, Save, Statement, SyncCall};
use flashlag_sqlite::{PreparedSaves, SaveJob, SaveWatch, SqliteError, examine};
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
    let saved = prepared.run(watch).map_err(failed)?;
    match saved.error {
        Some(error) => Err(LabError::Save(error.into())),
        None => Ok(()),
    }
}

/// Mounts a crash image, checks its database and unmounts it.
pub(super) fn check(mount: &Mount, directory: &str) -> Result<CrashCheck, LabError> {
    if let Err(error) = guest::mount_one(mount) {
        return Ok(CrashCheck { unmountable: Some(error.to_string()), ..CrashCheck::default() });
    }
    let checked = match examine(Path::new(directory)) {
        Ok(examined) => {
            CrashCheck { rows: Some(examined.rows), damage: examined.damage, unmountable: None }
        }
        Err(error) => CrashCheck { damage: Some(error.to_string()), ..CrashCheck::default() },
    };
    guest::unmount_one(mount)?;
    Ok(checked)
}
