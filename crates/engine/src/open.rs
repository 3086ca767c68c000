//! Opens a device as a scenario requests, or as closely as possible, and records each difference.

use flashlag_device::{DeviceError, Geometry, NullDevice, SyncCall};
use flashlag_spec::Downgrade;
use flashlag_spec::scenario::{Durability, EngineKind, Io};
use flashlag_units::Bytes;
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::any::AnyDevice;
use crate::direct::{Alignment, alignment};
use crate::files::FileSet;
use crate::psync::{PsyncDevice, write_dsync};
use crate::table::{DurableWrite, FileTable};
use crate::uring;

/// The options of a device over files.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenOptions {
    /// Whether to bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// The system calls that do the I/O.
    pub engine: EngineKind,
    /// Operations in flight.
    pub queue_depth: u32,
    /// How writes are made durable.
    pub durable: Durability,
    /// The unit of offsets.
    pub block: Bytes,
    /// The largest request; at least a block.
    pub buffer: Bytes,
    /// Whether the files are written.
    pub write: bool,
    /// Whether missing files are created.
    pub create: bool,
}

impl OpenOptions {
    /// The options of a scenario's `[[io]]`, on files that exist.
    pub fn of(io: &Io) -> OpenOptions {
        OpenOptions {
            direct: io.direct,
            engine: io.engine,
            queue_depth: io.queue_depth.max(1),
            durable: io.durable,
            block: io.block.0,
            buffer: io.block.0,
            write: io.operation.writes(),
            create: false,
        }
    }
}

/// An open device, and the options in force.
#[derive(Debug)]
pub struct OpenDevice {
    pub device: AnyDevice,
    /// The engine that does the I/O: psync, io_uring or null.
    pub engine: EngineKind,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// How writes are made durable.
    pub durable: Durability,
    /// Operations in flight, at most.
    pub queue_depth: u32,
    /// Options that the device could not give as requested.
    pub downgrades: Vec<Downgrade>,
}

/// Opens `files` as `options` request, or as closely as possible. Fails if a file can't be opened
/// or created, or the engine is one of another crate.
pub fn open(files: &FileSet, options: &OpenOptions) -> Result<OpenDevice, DeviceError> {
    let buffer = options.buffer.max(options.block);
    match options.engine {
        EngineKind::Null => return Ok(open_null(files.span(), options, buffer)),
        EngineKind::Auto | EngineKind::Psync | EngineKind::IoUring => {}
        EngineKind::Sqlite | EngineKind::Fio => return Err(not_ours(files, options.engine)),
    }
    let mut downgrades = Vec::new();
    let mut opening = Opening { files, options, downgrades: &mut downgrades };
    let durable = opening.durability()?;
    let (descriptors, alignment, direct) = opening.descriptors(durable)?;
    let sync = if durable == Durability::Fsync { SyncCall::All } else { SyncCall::Data };
    let table = FileTable::new(files.clone(), descriptors, sync);
    let wants_ring = match options.engine {
        EngineKind::Auto => options.queue_depth > 1,
        engine => engine == EngineKind::IoUring,
    };
    let geometry = Geometry {
        size: files.span(),
        alignment: Bytes(alignment.offset),
        slots: if wants_ring { options.queue_depth.clamp(1, uring::MAX_DEPTH) } else { 1 },
        buffer,
        keeps_data: true,
    };
    let write = match durable {
        Durability::Dsync => DurableWrite::Dsync,
        Durability::RwfDsync => DurableWrite::RwfDsync,
        Durability::None | Durability::Fdatasync | Durability::Fsync => DurableWrite::Sync,
    };
    let (device, engine) = choose(table, geometry, &alignment, write, wants_ring, &mut downgrades);
    let queue_depth = flashlag_device::Device::geometry(&device).slots;
    if queue_depth < options.queue_depth {
        downgrades.push(Downgrade {
            requested: format!("queue depth {}", options.queue_depth),
            effective: format!("queue depth {queue_depth}"),
            reason: depth_reason(engine).to_owned(),
        });
    }
    Ok(OpenDevice { device, engine, direct, durable, queue_depth, downgrades })
}

fn depth_reason(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::IoUring => "this engine keeps at most 4096 operations in flight",
        _ => "pread and pwrite do one operation at a time",
    }
}

fn open_null(size: Bytes, options: &OpenOptions, buffer: Bytes) -> OpenDevice {
    let queue_depth = options.queue_depth.clamp(1, uring::MAX_DEPTH);
    OpenDevice {
        device: AnyDevice::Null(NullDevice::new(size, queue_depth, buffer)),
        engine: EngineKind::Null,
        direct: options.direct,
        durable: options.durable,
        queue_depth,
        downgrades: Vec::new(),
    }
}

fn not_ours(files: &FileSet, engine: EngineKind) -> DeviceError {
    DeviceError {
        operation: "open",
        subject: files.directory().display().to_string(),
        offset: None,
        errno: None,
        reason: format!("the engine {engine:?} does no block I/O here"),
        advice: "use engine = \"auto\", \"psync\", \"io_uring\" or \"null\"".to_owned(),
    }
}

/// io_uring if requested and possible, otherwise psync.
fn choose(
    table: FileTable,
    mut geometry: Geometry,
    alignment: &Alignment,
    write: DurableWrite,
    wants_ring: bool,
    downgrades: &mut Vec<Downgrade>,
) -> (AnyDevice, EngineKind) {
    if !wants_ring {
        let device = PsyncDevice::new(table, geometry, alignment.memory, write);
        return (AnyDevice::Psync(Box::new(device)), EngineKind::Psync);
    }
    match uring::UringDevice::new(table, geometry, alignment.memory, write) {
        Ok(device) => (AnyDevice::Uring(Box::new(device)), EngineKind::IoUring),
        Err((table, reason)) => {
            downgrades.push(Downgrade {
                requested: "io_uring".to_owned(),
                effective: "pread and pwrite".to_owned(),
                reason,
            });
            geometry.slots = 1;
            let device = PsyncDevice::new(table, geometry, alignment.memory, write);
            (AnyDevice::Psync(Box::new(device)), EngineKind::Psync)
        }
    }
}

struct Opening<'a> {
    files: &'a FileSet,
    options: &'a OpenOptions,
    downgrades: &'a mut Vec<Downgrade>,
}

impl Opening<'_> {
    fn flags(&self) -> OFlags {
        let mut flags = if self.options.write { OFlags::RDWR } else { OFlags::RDONLY };
        if self.options.create {
            flags |= OFlags::CREATE;
        }
        flags
    }

    /// The durability that is possible: if the kernel or the filesystem does not know `RWF_DSYNC`,
    /// it becomes `O_DSYNC`, which means the same.
    fn durability(&mut self) -> Result<Durability, DeviceError> {
        let asked = self.options.durable;
        if asked != Durability::RwfDsync || !self.options.write {
            return Ok(asked);
        }
        let files = self.files.open_files(self.flags())?;
        let Err(errno) = probe_rwf_dsync(&files[0]) else { return Ok(asked) };
        self.downgrades.push(Downgrade {
            requested: "RWF_DSYNC".to_owned(),
            effective: "O_DSYNC".to_owned(),
            reason: format!("pwritev2 with RWF_DSYNC is refused: {errno}"),
        });
        Ok(Durability::Dsync)
    }

    /// The open files, their alignment, and whether they bypass the page cache.
    fn descriptors(
        &mut self,
        durable: Durability,
    ) -> Result<(Vec<OwnedFd>, Alignment, bool), DeviceError> {
        let mut flags = self.flags();
        if durable == Durability::Dsync {
            flags |= OFlags::DSYNC;
        }
        if self.options.direct {
            match self.direct(flags)? {
                Ok((files, alignment)) => return Ok((files, alignment, true)),
                Err(reason) => self.downgrades.push(Downgrade {
                    requested: "O_DIRECT".to_owned(),
                    effective: "buffered".to_owned(),
                    reason,
                }),
            }
        }
        let files = self.files.open_files(flags)?;
        if !self.options.write {
            forget_cached(&files);
        }
        Ok((files, Alignment::NONE, false))
    }

    /// The files, opened with `O_DIRECT`, or why that is not possible. Errors that buffered files
    /// would have too are returned as errors.
    fn direct(
        &self,
        flags: OFlags,
    ) -> Result<Result<(Vec<OwnedFd>, Alignment), String>, DeviceError> {
        let refused = [Errno::INVAL, Errno::OPNOTSUPP].map(|errno| errno.raw_os_error());
        let files = match self.files.open_files(flags | OFlags::DIRECT) {
            Ok(files) => files,
            Err(error) if error.errno.is_some_and(|errno| refused.contains(&errno)) => {
                return Ok(Err("the filesystem refuses O_DIRECT".to_owned()));
            }
            Err(error) => return Err(error),
        };
        let alignment = match alignment(&files[0]) {
            Ok(alignment) => alignment,
            Err(reason) => return Ok(Err(reason.to_owned())),
        };
        if !self.options.block.0.is_multiple_of(alignment.offset) {
            let block = self.options.block.0;
            let reason =
                format!("a block of {block} bytes is no multiple of {} bytes", alignment.offset);
            return Ok(Err(reason));
        }
        Ok(Ok((files, alignment)))
    }
}

/// Rewrites the first bytes of the file unchanged: the kernel does not check the flag for a write
/// of zero bytes. An empty file has nothing to rewrite: then the first real write shows an error.
fn probe_rwf_dsync(file: &OwnedFd) -> Result<(), Errno> {
    let mut bytes = [0u8; 512];
    let length = rustix::io::pread(file, &mut bytes, 0)?;
    if length == 0 {
        return Ok(());
    }
    write_dsync(file, &bytes[..length], 0).map(|_| ())
}

/// Writes dirty pages back and drops the files from the page cache, so that reads reach the
/// storage.
fn forget_cached(files: &[OwnedFd]) {
    for file in files {
        // Both are best effort: the trust check of cache bypass sees the effect.
        let _ = rustix::fs::fdatasync(file);
        let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    }
}
