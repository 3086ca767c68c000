//! SQLite in a trace: which files are databases, journals and logs, and which writes and fsyncs
//! form one committed transaction.
//!
//! A **rollback transaction** is recognised by the order in which SQLite makes it durable
//! (`sqlite3PagerCommitPhaseOne`, `pager_end_transaction`): the journal is written; the journal is
//! synced, with its directory if the journal is new; the database is written; the database is
//! synced; the journal is deleted (DELETE), truncated (TRUNCATE), or its header is overwritten with
//! 28 zeros (PERSIST). Without a write to the database it is a rollback.
//!
//! A **commit to a write-ahead log** is recognised by its fsync after frames. If a write to the
//! database follows, that fsync is the beginning of a checkpoint. With `synchronous=NORMAL` commits
//! are not synced, so only their bytes are counted.

mod commit;
mod kinds;
mod names;
mod rollback;
mod transactions;
mod wal;

pub(crate) use commit::{Commit, Database};
pub use kinds::recognize;
pub(crate) use transactions::databases;
