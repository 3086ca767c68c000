use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use flashlag_device::DeviceError;
use flashlag_spec::scenario::SyncCall;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use rsqlite_vfs::{SystemErrorCode, VfsError, VfsErrorCode, VfsResult};

use super::files::Files;
use super::locks::Locks;
use super::shared::SharedIndex;
use crate::writes::Writes;

/// Numbers of mounts and open files, unique in the process and never reused.
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static MOUNTS: RefCell<BTreeMap<u64, Rc<Mount>>> = const { RefCell::new(BTreeMap::new()) };
    /// The most recently used mount, whose clock SQLite gets.
    static LAST: Cell<u64> = const { Cell::new(0) };
}

pub(super) fn next_number() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A mount: the files of a simulated phone, and what SQLite keeps in memory beside them.
#[derive(Debug)]
pub(super) struct Mount {
    pub(super) files: Box<dyn Files>,
    pub(super) random: RefCell<Pcg64Mcg>,
    pub(super) writes: Cell<Writes>,
    /// The call by which files are made durable.
    pub(super) sync: Cell<SyncCall>,
    /// Whether databases commit by atomic writes; `None`: as the files say.
    atomic: Cell<Option<bool>>,
    databases: RefCell<BTreeMap<String, DatabaseState>>,
    failure: RefCell<Option<DeviceError>>,
}

/// In-memory state of an open database.
#[derive(Debug, Default)]
pub(super) struct DatabaseState {
    pub(super) handles: u32,
    pub(super) locks: Locks,
    pub(super) shared: SharedIndex,
}

impl Mount {
    /// In-memory state of a database, created on first use.
    pub(super) fn database<T>(&self, name: &str, work: impl FnOnce(&mut DatabaseState) -> T) -> T {
        let mut databases = self.databases.borrow_mut();
        match databases.get_mut(name) {
            Some(found) => work(found),
            None => work(databases.entry(name.to_owned()).or_default()),
        }
    }

    /// Whether a database that is opened now commits by atomic writes.
    pub(super) fn is_atomic(&self) -> bool {
        match self.atomic.get() {
            None => self.files.is_atomic(),
            Some(asked) => asked && self.files.can_be_atomic(),
        }
    }

    /// Counts a write of SQLite.
    pub(super) fn count(&self, bytes: usize) {
        let mut writes = self.writes.get();
        writes.bytes += bytes as u64;
        writes.calls += 1;
        self.writes.set(writes);
    }

    /// Drops the in-memory state of a database that no connection has open.
    pub(super) fn forget(&self, name: &str) {
        let mut databases = self.databases.borrow_mut();
        if databases.get(name).is_some_and(|database| database.handles == 0) {
            databases.remove(name);
        }
    }

    /// SQLite's result code for a failed call: ENOSPC is the same for all calls.
    pub(super) fn refuse(&self, code: VfsErrorCode, error: DeviceError) -> VfsError {
        let code = if error.is_no_space() { VfsErrorCode::Full } else { code };
        let refusal = VfsError::new(code, error.to_string().into());
        let errno = error.errno.and_then(SystemErrorCode::from_raw);
        self.failure.replace(Some(error));
        match errno {
            Some(errno) => refusal.with_system_error(errno),
            None => refusal,
        }
    }
}

/// Calls a function with a mount of this thread.
pub(super) fn with<T>(
    mount: u64,
    code: VfsErrorCode,
    work: impl FnOnce(&Mount) -> VfsResult<T>,
) -> VfsResult<T> {
    let found =
        find(mount).ok_or_else(|| VfsError::new(code, "no such mount on this thread".into()))?;
    LAST.set(mount);
    work(&found)
}

/// Calls a function with the mount that was used last; `None` if it no longer exists.
pub(super) fn with_last<T>(work: impl FnOnce(&Mount) -> T) -> Option<T> {
    find(LAST.get()).map(|mount| work(&mount))
}

/// A mount of this thread, with a reference of its own, since the caller may mount and unmount;
/// `None` at the end of the thread, when the registry is gone.
fn find(mount: u64) -> Option<Rc<Mount>> {
    MOUNTS.try_with(|mounts| mounts.borrow().get(&mount).cloned()).ok().flatten()
}

/// A mount that lasts until it is dropped, on the thread that made it.
#[derive(Debug)]
pub(crate) struct MountGuard {
    number: u64,
    mount: Rc<Mount>,
}

impl MountGuard {
    pub(crate) fn new(files: Box<dyn Files>, seed: u64) -> MountGuard {
        let mount = Rc::new(Mount {
            files,
            random: RefCell::new(Pcg64Mcg::seed_from_u64(seed)),
            writes: Cell::default(),
            sync: Cell::default(),
            atomic: Cell::default(),
            databases: RefCell::default(),
            failure: RefCell::default(),
        });
        let number = next_number();
        MOUNTS.with_borrow_mut(|mounts| mounts.insert(number, Rc::clone(&mount)));
        MountGuard { number, mount }
    }

    /// The same mount; files are made durable by this call.
    pub(crate) fn syncing(self, call: SyncCall) -> MountGuard {
        self.mount.sync.set(call);
        self
    }

    /// The same mount; whether databases commit by atomic writes. `None`: as the files say.
    pub(crate) fn committing(self, atomic: Option<bool>) -> MountGuard {
        self.mount.atomic.set(atomic);
        self
    }

    /// Path by which SQLite finds a file here.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("/{}/{name}", self.number)
    }

    /// The files.
    pub(crate) fn files(&self) -> &dyn Files {
        self.mount.files.as_ref()
    }

    /// Writes by SQLite so far.
    pub(crate) fn writes(&self) -> Writes {
        self.mount.writes.get()
    }

    /// Takes the reason why the last failed call failed.
    pub(crate) fn take_failure(&self) -> Option<DeviceError> {
        self.mount.failure.take()
    }
}

impl Drop for MountGuard {
    fn drop(&mut self) {
        // The registry may be gone at the end of a thread.
        let _ = MOUNTS.try_with(|mounts| mounts.borrow_mut().remove(&self.number));
    }
}

/// Mount and file name of a path made by [`MountGuard::path`].
pub(super) fn parse(path: &str) -> Option<(u64, &str)> {
    let (mount, name) = path.strip_prefix('/')?.split_once('/')?;
    Some((mount.parse().ok()?, name))
}
