use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_spec::scenario::{FIRST_ROWS, JournalMode, Save, Statement, Synchronous};
use flashlag_spec::{Downgrade, Reading};
use flashlag_units::{Bytes, Nanos};
use rustix::io::Errno;

use crate::batch::is_atomic;
use crate::content::Content;
use crate::database::{CHUNK, Database, file_name, remove_files};
use crate::directory::Directory;
use crate::error::SqliteError;
use crate::growth::Sizes;
use crate::job::SaveJob;
use crate::rows::Rows;
use crate::simulated::Simulated;
use crate::storage::{Storage, written_since};
use crate::vfs::Files;
use crate::writes::bytes_of;

/// Separates the random choice of rows from contents and arrivals.
const ROWS_STREAM: u64 = 0x726f_7773_206f_6620;

/// Databases with their first rows: everything before the first save.
#[derive(Debug)]
pub struct PreparedSaves<'a> {
    pub(crate) job: SaveJob<'a>,
    pub(crate) storage: Rc<dyn Storage>,
    pub(crate) databases: Vec<Database>,
    pub(crate) rows: Rows,
    pub(crate) content: Content,
    pub(crate) sizes: Sizes,
    pub(crate) written: Reading<Bytes>,
    pub(crate) downgrades: Vec<Downgrade>,
    pub(crate) notes: Vec<String>,
    lacks: Option<&'static str>,
}

impl<'a> PreparedSaves<'a> {
    /// Makes the databases of `job` with their first rows and sets their modes. The first rows are
    /// written durably (`DELETE`, `FULL`), so that none of them is written back while saves are
    /// measured. Ends early if `stop` is set.
    pub fn prepare(job: &SaveJob<'a>, stop: &AtomicBool) -> Result<Self, SqliteError> {
        let storage = Directory::open(job.directory)?.syncing(job.save.sync_call)?;
        let storage = storage.committing(job.save.atomic);
        PreparedSaves::prepare_in(Rc::new(storage), job, stop)
    }

    /// As [`PreparedSaves::prepare`], in a directory that is open: all files of SQLite are created
    /// and removed there, wherever the directory's path leads meanwhile.
    pub fn prepare_opened(
        job: &SaveJob<'a>,
        opened: &Arc<OwnedFd>,
        stop: &AtomicBool,
    ) -> Result<Self, SqliteError> {
        let storage = Directory::opened(job.directory, opened)?;
        let storage = storage.syncing(job.save.sync_call)?.committing(job.save.atomic);
        PreparedSaves::prepare_in(Rc::new(storage), job, stop)
    }

    /// As [`PreparedSaves::prepare`], with files of a simulated phone, in virtual time. The job's
    /// directory is ignored. Every statement takes `cpu` of virtual time, for what SQLite computes.
    pub fn prepare_on(
        files: Box<dyn Files>,
        job: &SaveJob<'a>,
        cpu: Nanos,
        stop: &AtomicBool,
    ) -> Result<Self, SqliteError> {
        let storage = Simulated::mount(files, cpu, job)?;
        PreparedSaves::prepare_in(Rc::new(storage), job, stop)
    }

    fn prepare_in(
        storage: Rc<dyn Storage>,
        job: &SaveJob<'a>,
        stop: &AtomicBool,
    ) -> Result<Self, SqliteError> {
        let before = storage.written();
        let save = job.save;
        let mut notes = notes_on(save);
        let full = first_rows(save, &mut notes);
        let created = (0..save.databases.max(1))
            .map(|index| Database::create(&storage, index, save.databases));
        let databases = created.collect::<Result<Vec<_>, _>>()?;
        let mut rows = Rows::new(save.statement, full, job.seed ^ ROWS_STREAM);
        let mut content = Content::new(save.row.0, job.seed);
        let most = (CHUNK.0 / content.row_bytes().0.max(16)).max(1);
        let lacks = lacks_atomic_writes(save, &databases);
        while lacks.is_none() && !stop.load(Ordering::Relaxed) {
            let added = rows.add(most);
            if added.is_empty() {
                break;
            }
            for database in &databases {
                database.insert_rows(added.clone(), &mut content)?;
            }
        }
        let mut downgrades = Vec::new();
        for database in &databases {
            for downgrade in database.set_modes(save)? {
                if !downgrades.contains(&downgrade) {
                    downgrades.push(downgrade);
                }
            }
        }
        let sizes = Sizes::new(Rc::clone(&storage), save.databases.max(1), save.journal);
        let written = bytes_of(&written_since(storage.as_ref(), &before));
        let job = *job;
        Ok(PreparedSaves {
            job,
            storage,
            databases,
            rows,
            content,
            sizes,
            written,
            downgrades,
            notes,
            lacks,
        })
    }

    /// Why these saves can't be made as their test requests, if so; then no rows were made.
    pub fn lacks(&self) -> Option<&'static str> {
        self.lacks
    }

    /// Bytes written to prepare.
    pub fn written(&self) -> &Reading<Bytes> {
        &self.written
    }
}

/// Removes the databases of a job that is not running.
pub fn remove_databases(job: &SaveJob<'_>) -> Result<(), SqliteError> {
    match Directory::open(job.directory) {
        Ok(directory) => remove_in(&directory, job.save),
        // Without the directory there is nothing to remove.
        Err(error) if error.errno == Some(Errno::NOENT.raw_os_error()) => Ok(()),
        Err(error) => Err(error),
    }
}

/// As [`remove_databases`], among files of a simulated phone.
pub fn remove_databases_on(files: Box<dyn Files>, job: &SaveJob<'_>) -> Result<(), SqliteError> {
    remove_in(&Simulated::mount(files, Nanos::ZERO, job)?, job.save)
}

fn remove_in(storage: &dyn Storage, save: &Save) -> Result<(), SqliteError> {
    let mut indices = 0..save.databases.max(1);
    indices.try_for_each(|index| remove_files(storage, &file_name(index)))
}

/// Why the databases can't commit by atomic writes, if the test requests that.
fn lacks_atomic_writes(save: &Save, databases: &[Database]) -> Option<&'static str> {
    if save.atomic != Some(true) || databases.iter().all(|one| is_atomic(&one.connection)) {
        return None;
    }
    Some(if has_atomic_writes() {
        "no batch atomic writes here: only F2FS has them, by the feature atomic_write"
    } else {
        "this build's SQLite has no atomic writes: build flashlag in its own folder, whose \
         .cargo/config.toml asks for them"
    })
}

fn first_rows(save: &Save, notes: &mut Vec<String>) -> u64 {
    if save.rows > 0 || save.statement == Statement::Insert {
        return save.rows;
    }
    notes.push(format!("the scenario names no rows to change: {FIRST_ROWS} were made"));
    FIRST_ROWS
}

/// Notes on what the modes mean for the durability of a save.
fn notes_on(save: &Save) -> Vec<String> {
    let note = match (save.journal, save.synchronous) {
        (JournalMode::Wal, Synchronous::Normal) => {
            "WAL with synchronous=NORMAL: a save is durable only after the next checkpoint"
        }
        (JournalMode::Memory | JournalMode::Off, _) => {
            "no journal on storage: a crash during a save can corrupt the database"
        }
        _ => return Vec::new(),
    };
    vec![note.to_owned()]
}

/// Whether this build of SQLite can commit by F2FS's atomic writes (`.cargo/config.toml` asks for it).
pub fn has_atomic_writes() -> bool {
    option_env!("LIBSQLITE3_FLAGS").unwrap_or_default().contains("ENABLE_BATCH_ATOMIC_WRITE")
}
