//! The run files below a folder.

use std::io;
use std::path::{Path, PathBuf};

use flashlag_units::InOrder;

/// Maximum depth of folders within folders.
const DEEPEST: usize = 32;

/// All files below `folder` that end in `.json`, sorted by path. Skips hidden files and folders,
/// and does not follow links.
pub fn run_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    walk(folder, 0, &mut found)?;
    found.order();
    Ok(found)
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if kind.is_dir() && depth < DEEPEST {
            walk(&path, depth + 1, found)?;
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "json") {
            found.push(path);
        }
    }
    Ok(())
}
