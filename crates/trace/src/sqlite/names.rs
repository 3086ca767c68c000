//! Kinds of files by their names.

use flashlag_spec::TraceFileKind;

/// Suffixes that SQLite appends to a database's path.
const ADDED: [(&str, TraceFileKind); 3] = [
    ("-journal", TraceFileKind::Journal),
    ("-wal", TraceFileKind::Wal),
    ("-shm", TraceFileKind::WalIndex),
];

/// Endings of databases' names.
const DATABASES: [&str; 7] =
    [".db", ".db3", ".sqlite", ".sqlite3", ".sqlite-db", ".sqlitedb", ".s3db"];

/// Paths that are not storage, by prefix.
const NOT_STORAGE: [&str; 12] = [
    "/dev/",
    "/proc/",
    "/sys/",
    "/memfd:",
    "memfd:",
    "pipe:[",
    "socket:[",
    "anon_inode:",
    "UNIX:[",
    "UNIX-STREAM:[",
    "TCP:[",
    "UDP:[",
];

/// Block devices below `/dev`, by name prefix.
const BLOCK_DEVICES: [&str; 17] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "loop", "dm-", "md", "mapper/", "disk/", "block/",
    "nbd", "rbd", "pmem", "bcache", "ubi",
];

/// Whether the path is that of a block device.
fn is_block_device(path: &str) -> bool {
    let name = path.strip_prefix("/dev/");
    name.is_some_and(|name| BLOCK_DEVICES.iter().any(|start| name.starts_with(start)))
}

/// The kind that a path implies, if any.
pub(super) fn kind_of(path: &str) -> Option<TraceFileKind> {
    if let Some((_, kind)) = database_of(path) {
        return Some(kind);
    }
    if NOT_STORAGE.iter().any(|start| path.starts_with(start)) && !is_block_device(path) {
        return Some(TraceFileKind::NotStorage);
    }
    let lower = path.to_ascii_lowercase();
    DATABASES.iter().any(|end| lower.ends_with(end)).then_some(TraceFileKind::Database)
}

/// The database to which a journal, a log or its index belongs, with the kind of the file.
pub(super) fn database_of(path: &str) -> Option<(&str, TraceFileKind)> {
    ADDED.iter().find_map(|(suffix, kind)| {
        let database = path.strip_suffix(suffix).filter(|path| !path.is_empty());
        database.map(|database| (database, *kind))
    })
}
