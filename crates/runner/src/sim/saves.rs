//! Saves through real SQLite, on the simulated device's files.

use std::path::Path;

use flashlag_device::{Clock, DeviceError, NoWaitMeter};
use flashlag_flash::FlashDevice;
use flashlag_iostack::{FileId, Stack};
use flashlag_schema::scenario::{Save, Statement};
use flashlag_schema::{Operation, Reading, State};
use flashlag_sqlite::{Files, PreparedSaves, SaveJob, SaveWatch, Saved, remove_databases_on};
use flashlag_units::Bytes;

use super::Simulation;
use super::ledger::Counted;
use crate::changes::changes_of;
use crate::execute::Outcome;
use crate::measure::{INTERVAL, STALL_OVER, label};
use crate::phase::{PhaseHead, PhaseTail, phase};
use crate::request::{Event, Observer};
use crate::saves::save_head;

/// A stack as SQLite calls it.
#[derive(Debug)]
struct StackFiles(Stack<FlashDevice>);

/// Numbers of files are below 2^32: they come from the stack.
fn id(file: u64) -> FileId {
    FileId::from_number(file)
}

impl Files for StackFiles {
    fn find(&self, name: &str) -> Option<u64> {
        self.0.find(name).map(FileId::number)
    }

    fn create(&self, name: &str) -> Result<u64, DeviceError> {
        self.0.create(name).map(FileId::number)
    }

    fn read(&self, file: u64, offset: u64, into: &mut [u8]) -> Result<usize, DeviceError> {
        self.0.read(id(file), Bytes(offset), into)
    }

    fn write(&self, file: u64, offset: u64, from: &[u8]) -> Result<(), DeviceError> {
        self.0.write(id(file), Bytes(offset), from)
    }

    fn truncate(&self, file: u64, size: u64) -> Result<(), DeviceError> {
        self.0.truncate(id(file), Bytes(size))
    }

    fn sync(&self, file: u64) -> Result<(), DeviceError> {
        // fdatasync: what Android's SQLite was built with, and ours is.
        self.0.sync(id(file), true)
    }

    fn sync_directory(&self) -> Result<(), DeviceError> {
        self.0.sync_directory()
    }

    fn delete(&self, name: &str) -> Result<(), DeviceError> {
        self.0.delete(name)
    }

    fn size(&self, file: u64) -> Result<u64, DeviceError> {
        Ok(self.0.size(id(file)).0)
    }

    fn clock(&self) -> &dyn Clock {
        &self.0
    }
}

impl Simulation<'_> {
    pub(super) fn measure_save(
        &mut self,
        save: &Save,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Outcome {
        if let Err(error) = fits_memory(save) {
            return Outcome::Failed(None, error);
        }
        let head = save_head(save, state, run, self.now());
        let label = label(&head);
        let stack = self.stack.clone();
        let files = || Box::new(StackFiles(stack.clone()));
        let job = SaveJob {
            save,
            directory: Path::new("sim"),
            seed: self.seed_of(&label),
            interval: INTERVAL,
            stall_over: STALL_OVER,
        };
        observer.event(Event::Preparing("making the databases"));
        let cpu = self.save_cpu;
        let prepared = match PreparedSaves::prepare_on(files(), &job, cpu, &self.request.stop) {
            Ok(prepared) => prepared,
            Err(error) => return Outcome::Failed(None, error.to_string()),
        };
        if let Err(error) = self.start_background(save.background.as_deref()) {
            return Outcome::Failed(None, error);
        }
        let head = PhaseHead { began: self.now(), ..head };
        let live = self.fresh_live();
        observer.event(Event::Wrote(self.written));
        observer.event(Event::PhaseStarted {
            label: &label,
            expected: save.time.map(|time| time.0),
            limit: None,
            live: &live,
        });
        let before = Counted::now(&self.stack);
        let mut after = before;
        let stack = &self.stack;
        let saved = prepared.run(SaveWatch {
            stop: &self.request.stop,
            live: Some(live),
            on_interval: None,
            budget: None,
            on_end: Some(&mut || after = Counted::now(stack)),
            meter: None::<NoWaitMeter>,
        });
        let counted = after.since(&before);
        let beside = self.end_background();
        let saved = match saved {
            Ok(saved) => saved,
            Err(error) => return Outcome::Failed(None, error.to_string()),
        };
        if let Err(error) = remove_databases_on(files(), &job) {
            return Outcome::Failed(None, error.to_string());
        }
        let written = [saved.page_bytes.value(), saved.prepared_bytes.value()];
        let written = written.into_iter().flatten().fold(Bytes::ZERO, |sum, one| sum.plus(*one));
        self.wrote(written.plus(saved.top_ups.page_bytes));
        save_outcome(head, saved, beside, &counted)
    }
}

/// A simulated database is kept in memory: so much, for all databases of a test together.
const MEMORY: Bytes = Bytes::from_mib(1024);

/// Whether the first rows and, where their number is given, all saves' fit.
///
/// # Errors
/// Says which setting is too large, and what would fit.
fn fits_memory(save: &Save) -> Result<(), String> {
    // A row's own cost in a page of SQLite, beside its content.
    const BESIDE: u64 = 16;
    let inserted = save.saves.filter(|_| save.statement == Statement::Insert).unwrap_or(0);
    // Where time ends the test, how many saves there will be is not known.
    let inserted = if save.time.is_some() { 0 } else { inserted };
    let rows = save.rows.saturating_add(inserted);
    let each = save.row.0.0.saturating_add(BESIDE).saturating_mul(u64::from(save.databases));
    let whole = Bytes(rows.saturating_mul(each));
    if whole <= MEMORY {
        return Ok(());
    }
    Err(format!(
        "{}: {rows} rows of {} in {} databases are {whole}, and a simulated database is kept in \
         memory, {MEMORY} at most: take at most {} rows",
        save.name,
        save.row.0,
        save.databases,
        MEMORY.0 / each.max(1)
    ))
}

fn save_outcome(
    head: crate::phase::PhaseHead,
    saved: Saved,
    beside: Option<String>,
    counted: &Counted,
) -> Outcome {
    let mut ledger = counted.ledger(true, Bytes::ZERO);
    ledger.app_bytes = Reading::Value(saved.app_bytes);
    ledger.syscall_bytes = saved.page_bytes;
    let changes = changes_of(&saved.recorded, Operation::Save, false);
    let tail = PhaseTail {
        final_flush: None,
        stopped: None,
        time: None,
        ledger,
        growth: Some((saved.grew, saved.in_place)),
        cut_short: saved.cut_short,
        notes: saved.notes.into_iter().chain(beside).collect(),
    };
    let head = crate::phase::PhaseHead { span: saved.database_bytes, ..head };
    let mut measured = Box::new(phase(head, &saved.recorded, tail));
    measured.time = super::steps::no_split();
    measured.changes = changes;
    match saved.error {
        Some(error) => Outcome::Failed(Some(measured), error.to_string()),
        None => Outcome::Measured(measured),
    }
}
