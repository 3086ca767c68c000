//! Never hurt the user: everything that flashlag writes is in directories of its own, which can be
//! recognised, and removed after any crash.
//!
//! ```text
//! DIR/flashlag-work-0123456789abcdef/        the name carries a random id
//!     flashlag-manifest.json                 its owner; durable before anything else is created
//!     flashlag-manifest.json.tmp             only while the manifest changes
//!     test/span.dat                          a listed subdirectory, a name of flashlag's scheme
//! ```
//!
//! Creation goes in this order: directory, lock, manifest (written, synced, renamed, directory
//! synced), subdirectories, data. Removal goes in reverse: data, subdirectories, manifest,
//! directory. So whenever the process dies there is either a valid manifest, or a directory with a
//! name of the scheme that is empty or holds only the temporary manifest. Both can be distinguished
//! from a user's files, and nothing else is ever removed:
//!
//! - a directory is flashlag's if its name fits the scheme **and** its manifest carries the same
//!   id;
//! - inside it, only regular files are removed whose names [`is_ours`] knows, in subdirectories
//!   that the manifest lists; anything else stays, and is reported;
//! - outside it, only a result that was being written: a file whose name has an id, its check
//!   digits and [`TEMPORARY_ENDING`], in a directory that a manifest names or that is being
//!   cleaned;
//! - everything goes through directory descriptors opened with `O_NOFOLLOW`: no symbolic link is
//!   followed, no mount point is entered;
//! - a live run is left alone: it holds a lock (`flock`) on its directory, which the kernel
//!   releases when it dies. Its process id, start time and boot id are checked as well, for
//!   filesystems without such locks. A run of another machine, or one from an earlier boot on
//!   shared storage, may be alive, and is left alone.

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
