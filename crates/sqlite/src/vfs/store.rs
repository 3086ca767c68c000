use std::time::Duration;

use flashlag_device::DeviceError;
use flashlag_units::Nanos;
use rand_pcg::rand_core::Rng;
use rsqlite_vfs::{
    AccessMode, FileKind, LockLevel, OpenOptions, OpenRequest, OpenedFile, OsCallback, VfsError,
    VfsErrorCode, VfsFile, VfsResult, VfsStore,
};
use rustix::io::Errno;

use super::file::StackFile;
use super::mount::{Mount, next_number, parse, with, with_last};

/// Names of files, by mount.
#[derive(Debug)]
pub(super) struct Store;

impl VfsStore for Store {
    type File = StackFile;
    /// Empty: all state belongs to threads.
    type AppData = ();

    fn open_file((): &(), request: OpenRequest<'_>) -> VfsResult<OpenedFile<StackFile>> {
        let options = request.options;
        let nowhere = || VfsError::new(VfsErrorCode::CantOpen, "no file of a mount".into());
        // Files without a name are SQLite's scratch space, which phones keep in memory
        // (SQLITE_TEMP_STORE=3): no save uses them.
        let path = request.filename.ok_or_else(nowhere)?.path();
        let (mount, name) = parse(path).ok_or_else(nowhere)?;
        with(mount, VfsErrorCode::CantOpen, |found| {
            let file = find_or_create(found, name, options)?;
            let kind = options.kind();
            let is_database = kind == Some(FileKind::MainDb);
            if is_database {
                found.database(name, |database| database.handles += 1);
            }
            let journals = [FileKind::MainJournal, FileKind::SuperJournal, FileKind::Wal];
            // Only these files: one that SQLite does not find after a power cut must really be
            // gone. The `unix` VFS checks only whether the file may be created, not whether it was.
            // So a journal that remains (PERSIST, TRUNCATE) is closed after each commit, and its
            // name is synced again.
            let may_be_new = options.create();
            let name_is_new = may_be_new && kind.is_some_and(|kind| journals.contains(&kind));
            let file = StackFile {
                mount,
                file,
                handle: next_number(),
                name: name.to_owned(),
                is_database,
                held: LockLevel::None,
                name_is_new,
                is_atomic: is_database && found.is_atomic(),
                begun: None,
            };
            Ok(OpenedFile { file, access: options.access() })
        })
    }

    fn close_file(
        (): &(),
        _name: Option<&str>,
        mut file: StackFile,
        options: OpenOptions,
    ) -> VfsResult<()> {
        if file.is_database {
            file.unlock(LockLevel::None)?;
            let handle = file.handle;
            file.in_memory(VfsErrorCode::IoClose, |database| {
                database.shared.unmap(handle);
                database.handles = database.handles.saturating_sub(1);
            })?;
        }
        with(file.mount, VfsErrorCode::IoClose, |mount| {
            mount.forget(&file.name);
            if options.delete_on_close() {
                delete(mount, &file.name)?;
            }
            Ok(())
        })
    }

    fn access((): &(), name: &str, mode: AccessMode) -> VfsResult<bool> {
        let Some((mount, name)) = parse(name) else { return Ok(false) };
        with(mount, VfsErrorCode::IoAccess, |mount| {
            let Some(file) = mount.files.find(name) else { return Ok(false) };
            let size = mount.files.size(file);
            let size = size.map_err(|error| mount.refuse(VfsErrorCode::IoAccess, error))?;
            // SQLite's `unix` VFS treats an empty file as absent.
            Ok(mode != AccessMode::Exists || size > 0)
        })
    }

    fn full_pathname((): &(), name: &str) -> VfsResult<String> {
        Ok(name.to_owned())
    }

    fn delete_file((): &(), name: &str, sync_dir: bool) -> VfsResult<()> {
        let gone = || VfsError::new(VfsErrorCode::IoDeleteNoEntry, "no such file".into());
        let (mount, name) = parse(name).ok_or_else(gone)?;
        with(mount, VfsErrorCode::IoDelete, |mount| {
            if mount.files.find(name).is_none() {
                return Err(gone());
            }
            delete(mount, name)?;
            if sync_dir {
                let synced = mount.files.sync_directory();
                synced.map_err(|error| mount.refuse(VfsErrorCode::IoDirectorySync, error))?;
            }
            Ok(())
        })
    }
}

/// Opens or creates the file; returns it and whether it was created.
fn find_or_create(mount: &Mount, name: &str, options: OpenOptions) -> VfsResult<u64> {
    let refuse = |errno| {
        let error = DeviceError::os("open", name, None, errno);
        mount.refuse(VfsErrorCode::CantOpen, error)
    };
    match mount.files.find(name) {
        Some(_) if options.exclusive() => Err(refuse(Errno::EXIST)),
        Some(file) => Ok(file),
        None if options.create() => {
            let created = mount.files.create(name);
            created.map_err(|error| mount.refuse(VfsErrorCode::CantOpen, error))
        }
        None => Err(refuse(Errno::NOENT)),
    }
}

fn delete(mount: &Mount, name: &str) -> VfsResult<()> {
    let deleted = mount.files.delete(name);
    deleted.map_err(|error| mount.refuse(VfsErrorCode::IoDelete, error))
}

/// Time and randomness of the mount that was used last.
#[derive(Debug)]
pub(super) struct Os;

/// 2013-01-01, the zero of the virtual clock for SQL's date functions.
const ZERO_MILLIS: i64 = 1_356_998_400_000;

impl OsCallback for Os {
    fn sleep(&self, dur: Duration) {
        let _ = with_last(|mount| {
            let clock = mount.files.clock();
            clock.pass_until(clock.now().plus(Nanos::from(dur)));
        });
    }

    /// SQLite calls this only on its default VFS, which is another one. So salts and nonces in
    /// files are truly random; no call depends on them.
    fn random(&self, buf: &mut [u8]) -> usize {
        let filled = with_last(|mount| mount.random.borrow_mut().fill_bytes(buf));
        filled.map_or(0, |()| buf.len())
    }

    fn epoch_timestamp_in_ms(&self) -> VfsResult<i64> {
        let now = with_last(|mount| mount.files.clock().now()).unwrap_or_default();
        // A `u64` of nanoseconds is 2^44 milliseconds at most.
        Ok(ZERO_MILLIS + (now.0 / 1_000_000) as i64)
    }
}
