use std::io::Write;

use anyhow::Result;
use flashlag_explain::format;
use flashlag_runner::clean as clean_directory;

use crate::args::CleanArgs;
use crate::exit::Exit;

/// Removes what killed runs left.
pub fn clean(args: &CleanArgs) -> Result<Exit> {
    let mut out = std::io::stdout().lock();
    let mut exit = Exit::Done;
    for directory in &args.directories {
        let cleaned = clean_directory(directory)?;
        if cleaned.is_empty() {
            writeln!(out, "{}: nothing of flashlag's is left here", directory.display())?;
        }
        for one in cleaned {
            let files = format::plural(one.removed.files as usize, "file", "files");
            let bytes = one.removed.bytes;
            let path = one.directory.display();
            if one.is_complete() {
                writeln!(out, "{path}: removed, {files}, {bytes}")?;
                continue;
            }
            exit = Exit::CouldNotRun;
            writeln!(out, "{path}: removed {files}, {bytes}; left {}:", one.kept_count)?;
            for kept in &one.kept {
                writeln!(out, "  {}: {}", kept.path.display(), kept.reason)?;
            }
        }
    }
    Ok(exit)
}
