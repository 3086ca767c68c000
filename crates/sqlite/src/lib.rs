//! Saves through real SQLite, each transaction timed.
//!
//! A *save* is one row inserted, updated or deleted by one transaction on each database of the job:
//! an autocommit statement, prepared before, its parameters bound before. Its latency is the time
//! from the first statement's step to the last one's end, and nothing else: content is made and
//! bound, sizes are looked at and waits are read outside of it.
//!
//! What is as SQLite ships it, on purpose: `page_size` 4096, `wal_autocheckpoint` 1000 pages (the
//! save that reaches it does the checkpoint, and its stall is part of the truth), `locking_mode`
//! NORMAL, `fullfsync` off, no memory map. `cache_size` is smaller than SQLite's 2 MiB (1 MiB, less
//! where a job has more than four databases), so that measuring needs little memory.
//!
//! # Growth
//! A save *grew* a file where the database, its write-ahead log or its PERSIST journal is larger
//! after it than ever before: the filesystem had to allocate blocks and commit a new size. A
//! log that starts over, a page that is overwritten and a persistent journal stay *in place*.
//! Journals of DELETE and TRUNCATE mode are made and unmade by every save, grown or not.
//!
//! # Virtual time
//! The same saves run on the [`Files`] of a simulated phone ([`PreparedSaves::prepare_on`]): SQLite
//! is real, and so are the calls that it makes; the time they take is the simulation's. What SQLite
//! itself computes is a parameter there.
//!
//! # Open loop
//! With a schedule, every save has an intended start; *response* counts from it. A slot is *missed*
//! where its save began more than one mean period late, or had not begun at the end although its
//! time had come: as in block I/O.
// Allowed only where SQLite calls a VFS: in the module that says so.
#![deny(unsafe_code)]

mod bound;
mod clock;
mod content;
mod database;
mod directory;
mod error;
mod examine;
mod growth;
mod held;
mod job;
mod phase;
mod place;
mod prepare;
mod rows;
mod run;
mod simulated;
mod thread_io;
mod vfs;
mod writes;

use flashlag_device::WaitMeter;
use flashlag_schema::scenario::Durability;

pub use bound::{most_of_a_save, most_to_prepare};
pub use error::SqliteError;
pub use examine::{Examined, examine};
pub use job::{OnInterval, SaveJob, SaveWatch, Saved, TopUps};
pub use prepare::{PreparedSaves, remove_databases, remove_databases_on};
pub use vfs::Files;

/// How this build of SQLite makes a commit durable: with `fdatasync` where it was compiled with
/// `HAVE_FDATASYNC` (`.cargo/config.toml` asks for it), else with `fsync`.
pub fn sync_call() -> Durability {
    let flags = option_env!("LIBSQLITE3_FLAGS").unwrap_or_default();
    if flags.contains("HAVE_FDATASYNC") { Durability::Fdatasync } else { Durability::Fsync }
}

/// Makes the databases of `job` and saves until a limit, an error or a word from `watch`:
/// [`PreparedSaves::prepare`], then [`PreparedSaves::run`].
///
/// # Errors
/// Where the databases can't be made. A save that fails later is in [`Saved::error`].
pub fn run<M: WaitMeter>(job: &SaveJob<'_>, watch: SaveWatch<'_, M>) -> Result<Saved, SqliteError> {
    PreparedSaves::prepare(job, watch.stop)?.run(watch)
}
