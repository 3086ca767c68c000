use std::path::Path;

use anyhow::Result;
use flashlag_runner::android::clean_phones;
use flashlag_runner::{Cleanup, clean as clean_directory, clean_of_all_machines};
use flashlag_spec::target::TargetSpec;
use flashlag_views::format;

use crate::args::CleanArgs;
use crate::exit::Exit;
use crate::say;

/// Removes the files of killed runs; on a phone, those of a run under way too.
pub fn clean(args: &CleanArgs) -> Result<Exit> {
    let mut exit = Exit::Done;
    for target in &args.targets {
        // A directory may have any name.
        if let Ok(TargetSpec::Phone(phones)) = TargetSpec::parse(target) {
            clean_phones(&phones)?.iter().try_for_each(|said| say::line(said))?;
            continue;
        }
        let directory = Path::new(target);
        let cleaned = if args.force {
            clean_of_all_machines(directory)?
        } else {
            clean_directory(directory)?
        };
        if cleaned.is_empty() {
            say::line(&format!("{}: no files of killed runs here", directory.display()))?;
        }
        for one in cleaned {
            if !say_cleaned(&one)? {
                exit = Exit::CouldNotRun;
            }
        }
    }
    Ok(exit)
}

/// Prints what was removed. Returns whether that was everything.
fn say_cleaned(one: &Cleanup) -> Result<bool> {
    let files = format::plural(one.removed.files as usize, "file", "files");
    let bytes = one.removed.bytes;
    let path = one.directory.display();
    if one.is_complete() {
        say::line(&format!("{path}: removed, {files}, {bytes}"))?;
        return Ok(true);
    }
    let left = one.kept_count;
    say::line(&format!("{path}: removed {files}, {bytes}; left {left}:"))?;
    for kept in &one.kept {
        say::line(&format!("  {}: {}", kept.path.display(), kept.reason))?;
    }
    Ok(false)
}
