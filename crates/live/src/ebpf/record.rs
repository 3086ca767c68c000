//! The records that the programs in the kernel send, in the layout of `bpf/records.h`.

/// Identity of a file for as long as its inode lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The inode's number.
    pub inode: u64,
    /// The filesystem's number, in the kernel's own form: major in the upper 12 bits, minor below.
    pub device: u32,
    /// The inode's generation, which changes when its number is reused.
    pub generation: u32,
}

/// What a system call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A file was opened: open, openat, openat2, creat.
    Open,
    /// A file was closed.
    Close,
    /// read, readv, pread64, preadv; io_uring's as well.
    Read,
    /// write, writev, pwrite64, pwritev, pwritev2; io_uring's as well.
    Write,
    Fsync,
    Fdatasync,
    /// sync_file_range: pages are written, nothing is made durable.
    SyncRange,
    /// sync or syncfs.
    SyncAll,
    /// ftruncate, truncate.
    Truncate,
    /// unlink, unlinkat.
    Unlink,
    /// rename, renameat, renameat2.
    Rename,
    /// A file was mapped so that stores to memory change it.
    Map,
    /// msync.
    MapSync,
}

impl Call {
    /// By the numbers of `enum call`.
    fn of(number: u32) -> Option<Call> {
        Some(match number {
            1..=3 | 24 => Call::Open,
            4 => Call::Close,
            5 | 6 => Call::Read,
            7 | 8 | 22 | 23 => Call::Write,
            9 => Call::Fsync,
            10 => Call::Fdatasync,
            11 => Call::SyncRange,
            12 | 13 => Call::SyncAll,
            14 | 15 => Call::Truncate,
            16 | 17 => Call::Unlink,
            18 | 19 => Call::Rename,
            20 => Call::Map,
            21 => Call::MapSync,
            _ => return None,
        })
    }
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A system call on an open file, or a request of io_uring.
    Call(CallRecord),
    /// One component of a file's path.
    Name(NameRecord),
    /// A thread's names.
    Task {
        /// The thread.
        tid: u32,
        /// Its process.
        pid: u32,
        /// The thread's name.
        thread: String,
        /// The process's name.
        process: String,
    },
    /// A system call on paths.
    Path(PathRecord),
    /// A block request that has completed.
    Block(BlockRecord),
    /// A commit of a journal.
    Journal {
        /// The thread that commits.
        tid: u32,
        /// When the commit began.
        began: u64,
        /// How long the commit took.
        took: u64,
        /// The thread's name, which contains the device's: `jbd2/sda1-8`.
        thread: String,
    },
    /// A checkpoint or a segment cleaning of F2FS.
    Work(WorkRecord),
}

/// A system call on an open file. Times are in nanoseconds of the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// What was done.
    pub call: Call,
    pub began: u64,
    /// How long the call took.
    pub took: u64,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    pub file: FileId,
    /// Offset in the file; absent if not known.
    pub offset: Option<u64>,
    /// Flags of an open, size of a truncate.
    pub argument: u64,
    /// What the call returned: bytes of a read or write.
    pub result: u64,
    /// Type and permissions of the file.
    pub mode: u32,
    /// Whether io_uring did it.
    pub ring: bool,
}

/// One component of a file's path, from its name upwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameRecord {
    /// The file whose path this is part of.
    pub file: FileId,
    /// 0 for the file's own name, 1 for its directory's.
    pub depth: u32,
    /// Whether this is the root of the filesystem, whose name is `/`.
    pub last: bool,
    /// The component. Bytes that are no UTF-8 are replaced.
    pub text: String,
}

/// A system call on paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRecord {
    /// What was done.
    pub call: Call,
    /// When the call began.
    pub began: u64,
    /// How long the call took.
    pub took: u64,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// The path; absent where it could not be read.
    pub path: Option<String>,
    /// The directory that a relative path starts from.
    pub directory: FileId,
    /// The new path of a rename.
    pub to: Option<String>,
    /// The directory that a relative new path starts from.
    pub to_directory: FileId,
    /// The size of a truncate.
    pub argument: u64,
}

/// A block request that has completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// The number of the operation, as in `enum req_op`.
    pub operation: u32,
    /// When the request was issued to the device.
    pub issued: u64,
    /// From then to its completion.
    pub took: u64,
    /// How long the request was queued before that.
    pub queued: Option<u64>,
    /// Its first sector, of 512 bytes.
    pub sector: u64,
    pub bytes: u32,
    /// The whole disk, as in [`FileId::device`].
    pub device: u32,
    /// Bits of `enum block_flag`.
    pub flags: u32,
    /// The thread that issued the request.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// The thread's name.
    pub thread: String,
}

/// What F2FS does as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A checkpoint was written.
    Checkpoint,
    /// Segments were cleaned.
    Cleaning,
}

/// A checkpoint or a segment cleaning of F2FS that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkRecord {
    pub work: Work,
    pub began: u64,
    /// How long the work took.
    pub took: u64,
    /// The filesystem, as in [`FileId::device`].
    pub device: u32,
    /// The thread that did the work.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// The thread's name.
    pub thread: String,
}

/// Fields of a record, one after another.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (field, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(field)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes(4)?.try_into().ok().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes(8)?.try_into().ok().map(u64::from_ne_bytes)
    }

    fn known(&mut self) -> Option<Option<u64>> {
        self.u64().map(|value| (value != u64::MAX).then_some(value))
    }

    fn file(&mut self) -> Option<FileId> {
        Some(FileId { inode: self.u64()?, device: self.u32()?, generation: self.u32()? })
    }

    /// Text that ends at the first zero byte, or with the field.
    fn text(&mut self, size: usize) -> Option<String> {
        let field = self.bytes(size)?;
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(size);
        Some(String::from_utf8_lossy(&field[..end]).into_owned())
    }
}

impl Record {
    /// Parses one record; `None` if its form is not known.
    pub fn read(bytes: &[u8]) -> Option<Record> {
        let mut fields = Fields { rest: bytes };
        match fields.u32()? {
            1 => call(&mut fields).map(Record::Call),
            2 => name(&mut fields).map(Record::Name),
            3 => task(&mut fields),
            4 => path(&mut fields).map(Record::Path),
            5 => block(&mut fields).map(Record::Block),
            6 => Some(Record::Journal {
                tid: fields.u32()?,
                began: fields.u64()?,
                took: fields.u64()?,
                thread: fields.text(16)?,
            }),
            7 => work(&mut fields).map(Record::Work),
            _ => None,
        }
    }
}

fn work(fields: &mut Fields<'_>) -> Option<WorkRecord> {
    let work = match fields.u32()? {
        1 => Work::Checkpoint,
        2 => Work::Cleaning,
        _ => return None,
    };
    let (began, took, device) = (fields.u64()?, fields.u64()?, fields.u32()?);
    let (tid, pid) = (fields.u32()?, fields.u32()?);
    let _pad = fields.u32()?;
    Some(WorkRecord { work, began, took, device, tid, pid, thread: fields.text(16)? })
}

fn call(fields: &mut Fields<'_>) -> Option<CallRecord> {
    Some(CallRecord {
        call: Call::of(fields.u32()?)?,
        began: fields.u64()?,
        took: fields.u64()?,
        tid: fields.u32()?,
        pid: fields.u32()?,
        file: fields.file()?,
        offset: fields.known()?,
        argument: fields.u64()?,
        result: fields.u64()?,
        mode: fields.u32()?,
        ring: fields.u32()? != 0,
    })
}

fn name(fields: &mut Fields<'_>) -> Option<NameRecord> {
    let depth = fields.u32()?;
    let file = fields.file()?;
    let last = fields.u32()? != 0;
    let _length = fields.u32()?;
    Some(NameRecord { file, depth, last, text: fields.text(256)? })
}

fn task(fields: &mut Fields<'_>) -> Option<Record> {
    let (tid, pid) = (fields.u32()?, fields.u32()?);
    let _pad = fields.u32()?;
    Some(Record::Task { tid, pid, thread: fields.text(16)?, process: fields.text(16)? })
}

fn path(fields: &mut Fields<'_>) -> Option<PathRecord> {
    let call = Call::of(fields.u32()?)?;
    let (began, took) = (fields.u64()?, fields.u64()?);
    let (tid, pid) = (fields.u32()?, fields.u32()?);
    let (directory, to_directory) = (fields.file()?, fields.file()?);
    let argument = fields.u64()?;
    let (length, to_length) = (fields.u32()?.cast_signed(), fields.u32()?.cast_signed());
    let (path, to) = (fields.text(512)?, fields.text(512)?);
    // The length includes the final zero byte; a path that fills its field may have been truncated.
    let whole = |length: i32, text: String| (length > 1 && length < 512).then_some(text);
    Some(PathRecord {
        call,
        began,
        took,
        tid,
        pid,
        path: whole(length, path),
        directory,
        to: whole(to_length, to),
        to_directory,
        argument,
    })
}

fn block(fields: &mut Fields<'_>) -> Option<BlockRecord> {
    let operation = fields.u32()?;
    let (issued, took, queued) = (fields.u64()?, fields.u64()?, fields.known()?);
    let sector = fields.u64()?;
    let (bytes, device, flags) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (tid, pid) = (fields.u32()?, fields.u32()?);
    let _pad = fields.u32()?;
    let thread = fields.text(16)?;
    Some(BlockRecord {
        operation,
        issued,
        took,
        queued,
        sector,
        bytes,
        device,
        flags,
        tid,
        pid,
        thread,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_record_or_none(kind in 0u32..9, bytes in proptest::collection::vec(any::<u8>(), 0..1400)) {
            let mut record = kind.to_ne_bytes().to_vec();
            record.extend(bytes);
            let _ = Record::read(&record);
        }
    }

    #[test]
    fn a_checkpoint_of_f2fs_is_read_field_by_field() {
        let mut whole = [7u32, 1].map(u32::to_ne_bytes).concat();
        whole.extend([100u64, 50].map(u64::to_ne_bytes).concat());
        whole.extend([8 << 20 | 3, 9, 7, 0].map(u32::to_ne_bytes).concat());
        whole.extend(*b"f2fs_ckpt-8:3\0\0\0");
        let record = WorkRecord {
            work: Work::Checkpoint,
            began: 100,
            took: 50,
            device: 8 << 20 | 3,
            tid: 9,
            pid: 7,
            thread: "f2fs_ckpt-8:3".to_owned(),
        };
        assert_eq!(Record::read(&whole), Some(Record::Work(record)));
        for cut in 0..whole.len() {
            assert_eq!(Record::read(&whole[..cut]), None, "{cut} bytes");
        }
    }

    #[test]
    fn a_record_that_is_cut_is_none() {
        let mut whole = 6u32.to_ne_bytes().to_vec();
        whole.extend(9u32.to_ne_bytes());
        whole.extend(100u64.to_ne_bytes());
        whole.extend(50u64.to_ne_bytes());
        whole.extend(*b"jbd2/sda1-8\0\0\0\0\0");
        let read = Record::read(&whole);
        let thread = "jbd2/sda1-8".to_owned();
        assert_eq!(read, Some(Record::Journal { tid: 9, began: 100, took: 50, thread }));
        for cut in 0..whole.len() {
            assert_eq!(Record::read(&whole[..cut]), None, "{cut} bytes");
        }
    }
}
