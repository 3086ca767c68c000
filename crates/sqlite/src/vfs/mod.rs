//! A VFS that gives SQLite the files of a simulated phone, in virtual time.
//!
//! It answers SQLite as SQLite's own `unix` VFS does, because SQLite's further calls depend on the
//! answers: sectors of 4096 bytes, power-safe overwriting and no other guarantee, and a journal's
//! directory that is synced with the journal's first sync. Locks and the shared memory of a
//! write-ahead log are kept in memory. On a phone that memory is a file as well (`-shm`), which is
//! never synced; its occasional writeback by the kernel is not modelled.
//!
//! # Soundness
//! The callbacks are those of `rsqlite_vfs` and our four for shared memory ([`callbacks`]). An open
//! file holds only numbers; everything else is in a registry of the thread ([`mount`]), under
//! numbers that are unique in the process. So a connection that moved to another thread would find
//! nothing there and fail, rather than share what must not be shared. Shared memory lives until the
//! last connection has unmapped it, or for ever if one never does ([`shared`]).

#[allow(unsafe_code)]
mod callbacks;
#[cfg(test)]
pub(crate) mod fake;
mod file;
mod files;
mod locks;
mod mount;
mod shared;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use callbacks::{NAME, register};
pub use files::Files;
pub(crate) use mount::MountGuard;
