//! Never hurt the user: everything that flashlag writes lives in directories of its own, which can
//! be told from everything else and removed after any death.
//!
//! ```text
//! DIR/flashlag-work-0123456789abcdef/        the name carries a random id
//!     flashlag-manifest.json                 its owner; durable before anything else is made
//!     flashlag-manifest.json.tmp             only between two moments of a change
//!     test/span.dat                          a listed subdirectory, a name of our scheme
//! ```
//!
//! The order of making is: directory, lock, manifest (written, synced, renamed, directory synced),
//! subdirectories, data. The order of removing is the reverse: data, subdirectories, manifest,
//! directory. So at every moment at which a process can die there is either a valid manifest, or a
//! directory with a name of our scheme that is empty or holds nothing but the temporary manifest. Both
//! can be told from a user's files, and nothing else is ever removed:
//!
//! - a directory is ours by its name **and** a manifest in it that carries the same id;
//! - inside it, only regular files whose names [`is_ours`] knows, in subdirectories that the
//!   manifest lists, are removed; whatever else is found stays, and is reported;
//! - outside it, only a result that was being written: a file whose name has an id, its check
//!   digits and [`TEMPORARY_ENDING`], in a directory that a manifest names or that is cleaned;
//! - all of it goes through directory descriptors opened with `O_NOFOLLOW`: no symbolic link is
//!   followed, no mount point is entered;
//! - a live run is left alone: it holds a lock (`flock`) on its directory, which the kernel
//!   drops at its death however it dies. Where the filesystem has no such locks, and besides, its
//!   process id, start time and boot id say so. A run of another machine, or on storage that is
//!   shared with others of an earlier start, is not known to be dead, and is left alone.

mod clean;
mod directory;
mod error;
mod hold;
mod manifest;
mod name;
mod owner;
mod sweep;
mod temporary;
mod workspace;

pub use clean::{Leftover, clean, clean_of_all_machines, find_leftovers};
pub use error::GuardError;
pub(crate) use error::reason;
pub use manifest::Manifest;
pub use name::{TEMPORARY_ENDING, WORKSPACE_PREFIX, is_ours};
pub use owner::Owner;
pub use sweep::{Cleanup, Remainder};
pub use temporary::{PublishError, Publisher, Replaces};
pub use workspace::Workspace;
