//! Saves without SQLite in a trace: small files that a program writes anew and makes durable, and logs
//! that it appends to.
//!
//! A save is what a program wrote to a file since the file's last save, with the sync that made it
//! durable and the calls on names that belong to it: a file that is renamed over another one
//! ([`TraceSaveKind::Rename`], `AtomicFile` since Android 11, `DataStore`), or a new file whose
//! predecessor is kept under another name until the sync is over (`SharedPreferences`, `AtomicFile`
//! before Android 11, vim). Files of SQLite are not among them.
//!
//! [`TraceSaveKind::Rename`]: flashlag_schema::trace::TraceSaveKind::Rename

mod following;
mod kinds;
mod save;

pub(crate) use following::saves;
pub(crate) use save::Save;
