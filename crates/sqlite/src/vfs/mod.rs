//! A VFS that gives SQLite the files of a simulated phone, in virtual time.
//!
//! What SQLite asks of a file system is answered as its own `unix` VFS answers it, because the calls
//! that it then makes depend on the answers: sectors of 4096 bytes, overwriting that is safe against
//! power loss and nothing else, a journal's directory that is synced with its first sync. Locks and
//! the shared memory of a write-ahead log are kept in memory. On a phone that memory is a file as
//! well (`-shm`), which is never synced; that the kernel writes it back now and then is left out.
//!
//! # Soundness
//! The callbacks are of `rsqlite_vfs`; ours are the four of shared memory ([`callbacks`]). An open
//! file holds numbers only, and everything else is in a registry of the thread ([`mount`]), under
//! numbers that are unique in the process: a connection that came to another thread would find
//! nothing there and fail, not share what is not to be shared. Shared memory lives until the last
//! connection has let go of it, or for ever where that was never said ([`shared`]).

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
pub(crate) use mount::Mounted;
