use flashlag_schema::trace::TraceFileKind;

/// The kind of a file by its name: SQLite's own endings, and endings that databases usually have.
pub fn kind_of(path: &str) -> TraceFileKind {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = |ending: &str| name.len() > ending.len() && name.ends_with(ending);
    if ends("-journal") {
        TraceFileKind::Journal
    } else if ends("-wal") {
        TraceFileKind::Wal
    } else if ends("-shm") {
        TraceFileKind::WalIndex
    } else if [".db", ".sqlite", ".sqlite3", ".db3"].into_iter().any(ends) {
        TraceFileKind::Database
    } else {
        TraceFileKind::Other
    }
}
