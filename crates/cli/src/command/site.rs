use std::path::Path;

use anyhow::{Context, Result, bail};
use flashlag_site::{Options, write_site};
use flashlag_store::{Entry, Standing, read_folder, refusals};
use flashlag_units::{Bytes, count};

use crate::args::SiteArgs;
use crate::exit::Exit;
use crate::say;

/// Maximum number of files that a note names.
const MOST_NAMED: usize = 5;

/// Makes a static site of a folder of run files.
pub fn site(args: &SiteArgs) -> Result<Exit> {
    let entries = read_folder(&args.runs)
        .with_context(|| format!("cannot list the folder {}", args.runs.display()))?;
    if entries.is_empty() {
        bail!("there is no run file (*.json) in {}", args.runs.display());
    }
    let Some(output) = args.output.as_deref().filter(|_| !args.check) else {
        return check(&args.runs, &entries);
    };
    let options = Options { title: args.title.clone() };
    let written = write_site(output, &entries, &options)?;
    notes(&args.runs, &entries);
    let good = entries.iter().filter(|entry| entry.is_good()).count();
    say::line(&format!(
        "{}: {} of {} files count, {} set apart; {} pages and tables, {}",
        output.join("index.html").display(),
        count(good as u64),
        count(entries.len() as u64),
        count((entries.len() - good) as u64),
        count(written.files as u64),
        Bytes(written.bytes)
    ))?;
    Ok(Exit::Done)
}

/// Says which files may not go into a collection, each with its reasons, and how many may.
fn check(folder: &Path, entries: &[Entry]) -> Result<Exit> {
    let refused = refusals(folder, entries);
    for refusal in &refused {
        refusal.reasons.iter().try_for_each(|why| say::line(&format!("{} {why}", refusal.file)))?;
    }
    say::line(&format!(
        "{} of {} files may go in",
        count((entries.len() - refused.len()) as u64),
        count(entries.len() as u64)
    ))?;
    Ok(if refused.is_empty() { Exit::Done } else { Exit::Crossed })
}

/// Prints to standard error what the reader must know about the files.
fn notes(folder: &Path, entries: &[Entry]) {
    for standing in Standing::ALL.into_iter().filter(|it| *it != Standing::Good).rev() {
        let those: Vec<&Entry> =
            entries.iter().filter(|entry| entry.run.standing == standing).collect();
        for entry in those.iter().take(MOST_NAMED) {
            let reason = entry.run.reason.as_deref().unwrap_or_default();
            say::note(&format!("{}: {}: {reason}", standing.name(), entry.run.file));
        }
        if those.len() > MOST_NAMED {
            let more = count((those.len() - MOST_NAMED) as u64);
            say::note(&format!("{}: {more} more, listed in apart.html", standing.name()));
        }
    }
    let private: Vec<&Entry> = entries.iter().filter(|entry| !entry.private.is_empty()).collect();
    if let [first, ..] = private.as_slice() {
        say::note(&format!(
            "{} of the run files in {} were not made by `flashlag share` and hold what is private: \
             {} in {}. The site has nothing of that; before you publish the files, share them.",
            count(private.len() as u64),
            folder.display(),
            first.private.join(", "),
            first.run.file
        ));
    }
}
