//! SQLite in a trace: which files are databases, journals and logs, and which writes and fsyncs are one
//! committed transaction.
//!
//! A **rollback transaction** is recognized by the order in which SQLite makes it durable
//! (`sqlite3PagerCommitPhaseOne`, `pager_end_transaction`): the journal is written; the journal is
//! synced, with its directory where the journal is new; the database is written; the database is
//! synced; the journal is deleted (DELETE), truncated (TRUNCATE), or its head is overwritten with 28
//! zeros (PERSIST). One without a write to the database is a rollback.
//!
//! A **commit to a write-ahead log** is recognized by its fsync after frames; an fsync that a write to
//! the database follows is the beginning of a checkpoint. With `synchronous=NORMAL` commits are not
//! synced, and are not counted: their bytes are.

mod commit;
mod kinds;
mod names;
mod rollback;
mod transactions;
mod wal;

pub(crate) use commit::{Commit, Database};
pub use kinds::recognize;
pub(crate) use transactions::databases;
