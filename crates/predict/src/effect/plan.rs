//! Which change shows what a finding costs.

use flashlag_explain::{Plan, Subjects};
use flashlag_schema::Run;
use flashlag_schema::finding::{Counted, FindingId};
use flashlag_schema::internals::DeviceInternals;
use flashlag_schema::scenario::JournalMode;
use flashlag_schema::target::{Cipher, TargetOption};
use flashlag_units::ratio;

use super::Forecasting;
use crate::change::Change;

/// Share in use that a filled device is compared with.
const HALF_FULL: f64 = 0.5;
/// The fullest that is simulated.
const FULLEST: f64 = 0.97;

/// What is simulated for a finding; `None` for one that no change of the model stands for.
pub(super) fn plan_of(id: FindingId, run: &Run) -> Option<Forecasting> {
    let (mut before, per) = saves_of(run);
    let option = |option: TargetOption, on| Change::Option(option, on);
    let mut turned_off = |one: TargetOption| {
        before.push(option(one.clone(), true));
        option(one, false)
    };
    let change = match id {
        FindingId::RollbackJournal if per == Counted::Saves => Change::Journal(JournalMode::Wal),
        FindingId::NoBarrier | FindingId::SyncIsNoOp => turned_off(TargetOption::Barrier(false)),
        FindingId::FuseOnPath => turned_off(TargetOption::Fuse),
        FindingId::SoftwareEncryption => turned_off(TargetOption::Encrypt(Cipher::AesXts)),
        FindingId::DiscardOnDelete => {
            before.push(Change::Discard(true));
            Change::Discard(false)
        }
        FindingId::NearlyFull => {
            let filesystem = &run.environment.filesystem;
            let (total, free) = (filesystem.total_bytes.value()?, filesystem.free_bytes.value()?);
            let used = ratio(total.0.checked_sub(free.0)?, total.0)?;
            before.push(Change::Full(used.min(FULLEST)));
            Change::Full(HALF_FULL)
        }
        FindingId::DeviceCacheOff => {
            let internals = run.environment.internals.as_ref()?;
            let Some(DeviceInternals::Emmc { cache_bytes, .. }) = internals.device.value() else {
                return None;
            };
            before.push(Change::Buffer(None));
            Change::Buffer(Some(*cache_bytes.value()?))
        }
        _ => return None,
    };
    Some(Forecasting { before, change, per })
}

/// The saves that a run is about, else durable writes.
pub(super) fn saves_of(run: &Run) -> (Vec<Change>, Counted) {
    let main = Subjects::of(run).main;
    match main.and_then(|main| Plan::of(run).save(main)) {
        Some(kind) => (vec![Change::Journal(kind.journal)], Counted::Saves),
        None => (Vec::new(), Counted::Writes),
    }
}
