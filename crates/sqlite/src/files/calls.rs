//! The calls by which each kind makes a file durable, from the source that makes them.

use flashlag_spec::scenario::{FileKind, FileSave};

/// A name that a save uses, beside that of the file itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The file that the app reads.
    Base,
    /// The name under which it is written, or to which it is renamed, before it is complete:
    /// `.bak`, `.tmp`, `.new`. For a log, the next one.
    Beside,
    /// The `.bak` that `AtomicFile` looks for since it makes none itself.
    Former,
}

/// One call of a save. All are made by the thread that saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCall {
    /// `stat`: whether the file is there, and how large it is.
    Stat(Named),
    /// `open` for writing, with `O_CREAT` and `O_TRUNC`.
    Open(Named),
    /// `write` of this many bytes to the open file.
    Write(usize),
    /// `fsync` of the open file.
    Fsync,
    /// `fdatasync` of the open file.
    Fdatasync,
    /// `close` of the open file.
    Close,
    /// `chmod` to 0660.
    Chmod(Named),
    /// `rename`.
    Rename(Named, Named),
    /// `unlink`.
    Unlink(Named),
    /// The directory is opened, synced by `fsync` and closed.
    SyncDirectory,
}

use FileCall::{Chmod, Close, Fdatasync, Fsync, Open, Rename, Stat, SyncDirectory, Unlink, Write};
use Named::{Base, Beside, Former};

/// `FastXmlSerializer.DEFAULT_BUFFER_LEN` (frameworks/base, com/android/internal/util): the most of a
/// `SharedPreferences` file, or of a file of a system service, that is written at once.
const XML_BUFFER: usize = 32 * 1024;
/// `CodedOutputStream.DEFAULT_BUFFER_SIZE` of protobuf: the same of a file of `DataStore`.
const PROTO_BUFFER: usize = 4096;

impl Named {
    /// The name in the directory of a test.
    pub(super) fn of(self, save: &FileSave) -> &'static str {
        let names = save.kind.names();
        match self {
            Base => names[0],
            Beside if save.kind == FileKind::AtomicFile && save.is_new() => names[2],
            Beside | Former => names[1],
        }
    }
}

/// The calls of one save, where the file is there already. Of a log they are those of a save that begins no new
/// log; the log is open. What a library asks about the directory itself (`mkdirs`, `canonicalFile`) is left out.
pub fn calls_of(save: &FileSave) -> Vec<FileCall> {
    let once = calls_of_a_write(save);
    let writes = save.writes() as usize;
    let mut calls: Vec<FileCall> = once.iter().copied().cycle().take(once.len() * writes).collect();
    // Each call that `apply` queued, except the last, finds a newer state in memory and only checks
    // whether the file exists.
    let skipped = save.changes.saturating_sub(save.writes());
    calls.splice(0..0, (0..skipped).map(|_| Stat(Base)));
    calls
}

fn calls_of_a_write(save: &FileSave) -> Vec<FileCall> {
    let size = usize::try_from(save.written_at_once().0).unwrap_or_default();
    let (before, after): (&[FileCall], &[FileCall]) = match save.kind {
        // `SharedPreferencesImpl.writeToFile` (frameworks/base, core/java/android/app), the same in Android 4 to
        // 16. `File.exists` is a stat here; `setFilePermissionsFromMode` is a chmod.
        FileKind::SharedPreferences => (
            &[Stat(Base), Stat(Beside), Rename(Base, Beside), Open(Base)],
            &[Fsync, Close, Chmod(Base), Stat(Base), Unlink(Beside)],
        ),
        // `FileStorageConnection.writeScope` (androidx, datastore-core, FileStorage.kt, commit 7ac60a3d), with
        // its author's note that the directory is not synced (b/151635324). `Files.move` with `REPLACE_EXISTING` and without
        // `ATOMIC_MOVE` removes the file before it renames (OpenJDK, sun/nio/fs/UnixCopyFile.java).
        FileKind::Datastore if save.is_new() => (
            &[Open(Beside)],
            &[
                Fsync,
                Close,
                Stat(Beside),
                Stat(Beside),
                Stat(Base),
                Unlink(Base),
                Rename(Beside, Base),
            ],
        ),
        // `File.renameTo`, which Android before 8 makes (FileMoves.android.kt, commit 900d284d).
        FileKind::Datastore => {
            (&[Open(Beside)], &[Fsync, Close, Stat(Beside), Rename(Beside, Base)])
        }
        // `AtomicFile.startWrite` and `finishWrite` (frameworks/base, core/java/android/util): since Android 11.
        // The first stat is of the `.bak` of older versions, the second asks whether the file is a directory.
        FileKind::AtomicFile if save.is_new() => {
            (&[Stat(Former), Open(Beside)], &[Fsync, Close, Stat(Base), Rename(Beside, Base)])
        }
        // The same up to Android 10.
        FileKind::AtomicFile => (
            &[Stat(Base), Stat(Beside), Rename(Base, Beside), Open(Base)],
            &[Fsync, Close, Unlink(Beside)],
        ),
        FileKind::Rename if save.sync_directory => {
            (&[Open(Beside)], &[Fsync, Close, Rename(Beside, Base), SyncDirectory])
        }
        FileKind::Rename => (&[Open(Beside)], &[Fsync, Close, Rename(Beside, Base)]),
        // `PosixWritableFile::Sync` of LevelDB (util/env_posix.cc): what is buffered, then fdatasync. etcd's
        // `WAL.sync` ends the same way (`fileutil.Fdatasync`).
        FileKind::AppendLog => (&[], &[Fdatasync]),
    };
    let piece = match save.kind {
        FileKind::SharedPreferences | FileKind::AtomicFile => XML_BUFFER,
        FileKind::Datastore => PROTO_BUFFER,
        FileKind::Rename | FileKind::AppendLog => usize::MAX,
    };
    let mut calls = before.to_vec();
    let mut left = size;
    while left > 0 {
        calls.push(Write(left.min(piece)));
        left -= left.min(piece);
    }
    calls.extend(after);
    calls
}
