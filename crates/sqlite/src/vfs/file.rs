use flashlag_device::DeviceError;
use rsqlite_vfs::{
    DeviceCharacteristics, LockLevel, SectorSize, SyncOptions, VfsError, VfsErrorCode, VfsFile,
    VfsResult,
};

use super::mount::{DatabaseState, Mount, with};

/// A file that SQLite has open.
#[derive(Debug)]
pub(super) struct StackFile {
    pub(super) mount: u64,
    /// Its number in the filesystem.
    pub(super) file: u64,
    /// Its handle in the lock table.
    pub(super) handle: u64,
    pub(super) name: String,
    pub(super) is_database: bool,
    pub(super) held: LockLevel,
    /// Whether the next sync must make its name durable.
    pub(super) name_is_new: bool,
    /// Whether the file supports atomic writes.
    pub(super) is_atomic: bool,
    /// Writes of the atomic write in progress: offset and bytes of each.
    pub(super) begun: Option<Vec<(u64, Vec<u8>)>>,
}

impl StackFile {
    /// Makes a call to the filesystem.
    fn call<T>(
        &self,
        code: VfsErrorCode,
        work: impl FnOnce(&Mount) -> Result<T, DeviceError>,
    ) -> VfsResult<T> {
        with(self.mount, code, |mount| work(mount).map_err(|error| mount.refuse(code, error)))
    }

    /// Begins an atomic write: writes are kept in memory until it is committed.
    pub(super) fn begin_atomic(&mut self) {
        self.begun = Some(Vec::new());
    }

    /// Gives an atomic write up.
    pub(super) fn abort_atomic(&mut self) {
        self.begun = None;
    }

    /// Commits the atomic write, all or nothing of it.
    pub(super) fn commit_atomic(&mut self) -> VfsResult<()> {
        let writes = self.begun.take().unwrap_or_default();
        let writes: Vec<(u64, &[u8])> =
            writes.iter().map(|(offset, bytes)| (*offset, bytes.as_slice())).collect();
        self.call(VfsErrorCode::IoWrite, |mount| {
            mount.files.write_atomically(self.file, &writes)?;
            writes.iter().for_each(|(_, bytes)| mount.count(bytes.len()));
            Ok(())
        })
    }

    /// Uses the in-memory state of this database.
    pub(super) fn in_memory<T>(
        &self,
        code: VfsErrorCode,
        work: impl FnOnce(&mut DatabaseState) -> T,
    ) -> VfsResult<T> {
        if !self.is_database {
            return Err(VfsError::new(code, "only a database has locks".into()));
        }
        with(self.mount, code, |mount| Ok(mount.database(&self.name, work)))
    }
}

impl VfsFile for StackFile {
    fn sector_size(&self) -> SectorSize {
        SectorSize::DEFAULT
    }

    fn device_characteristics(&self) -> DeviceCharacteristics {
        let all = DeviceCharacteristics::POWERSAFE_OVERWRITE | DeviceCharacteristics::SUBPAGE_READ;
        if self.is_atomic { all | DeviceCharacteristics::BATCH_ATOMIC } else { all }
    }

    fn read(&mut self, buf: &mut [u8], offset: u64) -> VfsResult<usize> {
        self.call(VfsErrorCode::IoRead, |mount| mount.files.read(self.file, offset, buf))
    }

    fn write(&mut self, buf: &[u8], offset: u64) -> VfsResult<()> {
        if let Some(begun) = &mut self.begun {
            begun.push((offset, buf.to_vec()));
            return Ok(());
        }
        self.call(VfsErrorCode::IoWrite, |mount| {
            mount.files.write(self.file, offset, buf)?;
            mount.count(buf.len());
            Ok(())
        })
    }

    fn truncate(&mut self, size: u64) -> VfsResult<()> {
        self.call(VfsErrorCode::IoTruncate, |mount| mount.files.truncate(self.file, size))
    }

    /// Syncs as the `unix` VFS does: always by the same call, whatever the options; then, once for
    /// a new journal or log, the directory, ignoring errors.
    fn sync(&mut self, _options: SyncOptions) -> VfsResult<()> {
        self.call(VfsErrorCode::IoSync, |mount| mount.files.sync(self.file, mount.sync.get()))?;
        if std::mem::take(&mut self.name_is_new) {
            let _ = self.call(VfsErrorCode::IoDirectorySync, |mount| mount.files.sync_directory());
        }
        Ok(())
    }

    fn size(&self) -> VfsResult<u64> {
        self.call(VfsErrorCode::IoStat, |mount| mount.files.size(self.file))
    }

    fn lock(&mut self, level: LockLevel) -> VfsResult<()> {
        let (handle, held) = (self.handle, self.held);
        self.held = self.in_memory(VfsErrorCode::IoLock, |database| {
            database.locks.raise(handle, held, level)
        })?;
        if self.held < level {
            return Err(VfsError::new(VfsErrorCode::Busy, "another connection has it".into()));
        }
        Ok(())
    }

    fn unlock(&mut self, level: LockLevel) -> VfsResult<()> {
        let (handle, held) = (self.handle, self.held);
        self.held = self.in_memory(VfsErrorCode::IoUnlock, |database| {
            database.locks.lower(handle, held, level)
        })?;
        Ok(())
    }

    fn check_reserved_lock(&self) -> VfsResult<bool> {
        self.in_memory(VfsErrorCode::IoCheckReservedLock, |database| database.locks.is_reserved())
    }
}
