//! A file's content under a name that no app looks for.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flashlag_spec::scenario::{FileKind, FileSave};
use flashlag_workload::Payload;

use super::examine::version;

/// Folders at the top of a filesystem into which a repair puts what no name led to.
const FOLDERS: [&str; 2] = ["lost+found", "LOST+FOUND"];
/// Maximum number of files that are read.
const MOST: usize = 1000;

/// The newest save that is whole in a file made by a repair at the top of a filesystem: `FSCK0000.REC`
/// of FAT, or one in `lost+found`. Such a file ends with its last cluster, so the bytes beyond the size
/// of the save do not count. `None` for a log, of which a part is no save.
pub fn examine_salvage(root: &Path, save: &FileSave, seed: u64) -> Option<u64> {
    if save.kind == FileKind::AppendLog {
        return None;
    }
    let payload = Payload::new(seed);
    let within = FOLDERS.iter().flat_map(|folder| files(&root.join(folder)));
    let made = files(root).filter(|path| is_fat_chain(path)).chain(within).take(MOST);
    made.filter_map(|path| version(&payload, &beginning(&path, save.size.0.0)?).ok()).max()
}

/// Whether a file has the name that fsck.vfat gives to a chain of clusters.
fn is_fat_chain(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    name.starts_with("FSCK") && name.ends_with(".REC")
}

/// Files of a folder; none if it can't be read, as nothing in it can.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The first `size` bytes, if the file has as many.
fn beginning(path: &Path, size: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(size).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == size).then_some(bytes)
}
