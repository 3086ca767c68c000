//! A report of a fault: version, set-up and a run in one file, without what is private.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use flashlag_runner::{OutputKind, program};
use flashlag_schema::{Run, RunStatus, ScenarioRecord, Target, TargetKind, Trust};
use flashlag_share::Shared;
use flashlag_units::{Bytes, sanitize};

use super::compare::place_of;
use super::share::{descriptions, shared_from};
use crate::args::BugArgs;
use crate::exit::Exit;
use crate::say;

/// The features that a program may lack, and whether this one has them.
const FEATURES: [(&str, bool); 8] = [
    ("ebpf", cfg!(feature = "ebpf")),
    ("fanotify", cfg!(feature = "fanotify")),
    ("fit", cfg!(feature = "fit")),
    ("lab", cfg!(feature = "lab")),
    ("parquet", cfg!(feature = "parquet")),
    ("postgres", cfg!(feature = "postgres")),
    ("site", cfg!(feature = "site")),
    ("sweep", cfg!(feature = "sweep")),
];

/// Writes what a report of a fault needs into a file.
pub fn bug(args: &BugArgs) -> Result<Exit> {
    let place = place_of(&args.output, OutputKind::Export, args.force, args.run.as_slice())?;
    let shared = match &args.run {
        Some(path) => shared_from(path)?,
        None => of_this_directory()?,
    };
    let (what, json) = match &args.run {
        Some(_) => ("the run", shared.run.to_json()),
        None => ("the set-up", flashlag_schema::to_json_pretty(&shared.run.environment)? + "\n"),
    };
    let text = report(&shared, what, &json);
    place.write(text.as_bytes())?;
    say::line(&format!(
        "Wrote {}, {}: version and {what}, without {} fields that may be private. flashlag sends \
         nothing: say at its top what happened, look through it, and attach it to your report.",
        place.path().display(),
        Bytes(text.len() as u64),
        shared.removed.len()
    ))?;
    Ok(Exit::Done)
}

/// What this directory lies on, as a run in which nothing was measured: a run is what has rules for what is private.
fn of_this_directory() -> Result<Shared> {
    let here = std::env::current_dir().context("cannot find the current directory")?;
    let environment = flashlag_inspect::environment(&flashlag_inspect::Root::system(), &here);
    let scenario = ScenarioRecord {
        name: String::new(),
        hash: String::new(),
        text: String::new(),
        settings: BTreeMap::new(),
        seed: 0,
        assumptions: Vec::new(),
    };
    let target = Target {
        kind: TargetKind::Path,
        name: here.display().to_string(),
        directory: Some(here.display().to_string()),
        profile: None,
    };
    let begun = Run::begun(program(), scenario, target, environment);
    let run = Run { status: RunStatus::Complete, trust: Trust::of(Vec::new(), 0), ..begun };
    flashlag_share::shared(&run).context("the set-up of this directory can't be shared")
}

/// The report as Markdown, with the program that writes it, which need not be the one that measured.
fn report(shared: &Shared, what: &str, json: &str) -> String {
    let program = program();
    let commit = program.commit.value().map_or("not known", String::as_str);
    let with: Vec<&str> =
        FEATURES.iter().filter(|(_, is_in)| *is_in).map(|(name, _)| *name).collect();
    let mut lines = vec![
        "What I did, what I expected, and what flashlag printed:".to_owned(),
        String::new(),
        String::new(),
        format!(
            "- flashlag: {}, commit {commit}, for {}, with {}",
            program.version,
            std::env::consts::ARCH,
            with.join(", ")
        ),
    ];
    let described = descriptions(&shared.run);
    lines.extend(described.iter().map(|(names, text)| format!("- {names}: {}", sanitize(text))));
    let mut gone: Vec<&str> = shared.removed.iter().map(|it| it.field.as_str()).collect();
    if gone.is_empty() {
        gone.push("nothing");
    }
    lines.push(format!("- left out: {}", gone.join(", ")));
    // JSON has no line that begins with a backquote, so nothing in it ends the block.
    lines.extend([String::new(), format!("This is {what}:"), String::new()]);
    format!("{}\n```json\n{json}```\n", lines.join("\n"))
}
