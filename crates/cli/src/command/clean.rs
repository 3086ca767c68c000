use anyhow::Result;
use flashlag_runner::{clean as clean_directory, clean_of_all_machines};
use flashlag_views::format;

use crate::args::CleanArgs;
use crate::exit::Exit;
use crate::say;

/// Removes the files of killed runs.
pub fn clean(args: &CleanArgs) -> Result<Exit> {
    let mut exit = Exit::Done;
    for directory in &args.directories {
        let cleaned = match args.force {
            true => clean_of_all_machines(directory)?,
            false => clean_directory(directory)?,
        };
        if cleaned.is_empty() {
            say::line(&format!("{}: no files of killed runs here", directory.display()))?;
        }
        for one in cleaned {
            let files = format::plural(one.removed.files as usize, "file", "files");
            let bytes = one.removed.bytes;
            let path = one.directory.display();
            if one.is_complete() {
                say::line(&format!("{path}: removed, {files}, {bytes}"))?;
                continue;
            }
            exit = Exit::CouldNotRun;
            let left = one.kept_count;
            say::line(&format!("{path}: removed {files}, {bytes}; left {left}:"))?;
            for kept in &one.kept {
                say::line(&format!("  {}: {}", kept.path.display(), kept.reason))?;
            }
        }
    }
    Ok(exit)
}
