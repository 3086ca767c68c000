//! Saves as apps make them, each one timed: transactions of real SQLite, and files written anew ([`PreparedFile`]).
//!
//! A *save* is one row inserted, updated or deleted by one transaction on each database of the job:
//! an autocommit statement, prepared and bound beforehand. Its latency is the time from the first
//! statement's step to the end of the last one's; making and binding content, reading sizes and
//! reading waits are outside of it. With several statements a save is one transaction of all of
//! them on each database, from `BEGIN IMMEDIATE` to the end of `COMMIT`; content is then made and
//! bound within it.
//!
//! # Durability
//!
//! The scenario's `sync_call` makes every file of SQLite durable. SQLite itself calls only the one
//! that it was built with; a variant of its `unix` VFS makes the other (`sync_vfs`). `PRAGMA
//! fullfsync` has an effect only on macOS.
//!
//! These stay as SQLite ships them, on purpose: `page_size` 4096, `locking_mode` NORMAL,
//! `fullfsync` off, no memory map; and unless the scenario says otherwise, `wal_autocheckpoint`
//! 1000 pages (the save that reaches it does the checkpoint, whose stall is real) and no
//! `journal_size_limit`. `cache_size` is smaller than SQLite's 2 MiB (1 MiB, less if a job has more
//! than four databases), so that measuring needs little memory.
//!
//! # Growth
//!
//! A save *grew* a file if the database, its write-ahead log or its PERSIST journal is larger after
//! it than ever before: the filesystem had to allocate blocks and commit a new size. A log that
//! starts over, an overwritten page and a persistent journal stay *in place*. Journals in DELETE
//! and TRUNCATE mode are created and removed by every save, whether it grew or not.
//!
//! # Virtual time
//!
//! The same saves run on the [`Files`] of a simulated phone ([`PreparedSaves::prepare_on`]): SQLite
//! and its calls are real, their times are the simulation's. The time that SQLite itself computes
//! is a parameter there.
//!
//! # Open loop
//!
//! With a schedule, every save has an intended start, and its *response* time counts from there. A
//! slot is *missed* if its save began more than one mean period late, or was due but had not begun
//! at the end, as in block I/O.
// Allowed only in modules that SQLite calls, or that call SQLite by its C interface.
#![deny(unsafe_code)]

mod batch;
mod bound;
mod clock;
mod content;
mod database;
mod directory;
mod error;
mod examine;
mod files;
mod growth;
mod job;
mod phase;
mod prepare;
mod redirect;
mod rows;
mod run;
mod saver;
mod simulated;
mod storage;
mod sync_vfs;
mod thread_io;
mod transactions;
mod vfs;
mod writes;

use flashlag_device::WaitMeter;

pub use bound::{most_of_a_save, most_to_prepare};
pub use error::SqliteError;
pub use examine::{Examination, examine};
pub use files::{
    FileCall, Found, Named, PreparedFile, calls_of, examine_file, examine_salvage, remove_file_on,
};
pub use job::{OnInterval, SaveJob, SaveWatch, SavesOutcome, TopUps};
pub use prepare::{PreparedSaves, has_atomic_writes, remove_databases, remove_databases_on};
pub use redirect::be_an_app;
pub use vfs::Files;

/// Makes the databases of `job` and saves until a limit, an error or a callback ends the job:
/// [`PreparedSaves::prepare`], then [`PreparedSaves::run`].
///
/// # Errors
/// If the databases can't be made. The error of a save that fails later is in [`SavesOutcome::error`].
pub fn run<M: WaitMeter>(
    job: &SaveJob<'_>,
    watch: SaveWatch<'_, M>,
) -> Result<SavesOutcome, SqliteError> {
    PreparedSaves::prepare(job, watch.stop)?.run(watch)
}
