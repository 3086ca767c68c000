use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flashlag_runner::{Destination, OutputKind};
use flashlag_schema::Run;
use flashlag_share::Shared;
use flashlag_spec::Reading;

use super::compare::place_of;
use crate::args::ShareArgs;
use crate::exit::Exit;
use crate::say;
use flashlag_commands::{name_of, run_from};

/// Writes runs without their private data, after showing what is removed and what stays.
pub fn share(args: &ShareArgs) -> Result<Exit> {
    if args.output.is_some() && args.runs.len() > 1 {
        bail!("-o names one file, and there are {} runs: leave it out", args.runs.len());
    }
    let runs = args.runs.iter().map(|path| planned(path, args)).collect::<Result<Vec<_>>>()?;
    for (from, to, shared) in &runs {
        say::text(&account(from, &to.path(), shared))?;
    }
    if args.list {
        return Ok(Exit::Done);
    }
    if !args.yes && !agreed(runs.len())? {
        return Ok(Exit::CouldNotRun);
    }
    for (_, to, shared) in &runs {
        to.write(shared.to_json().as_bytes())?;
        say::line(&format!("Wrote {}", to.path().display()))?;
    }
    Ok(Exit::Done)
}

/// One run and its file, nothing written yet.
fn planned<'a>(path: &'a Path, args: &ShareArgs) -> Result<(&'a Path, Destination, Shared)> {
    let shared = shared_from(path)?;
    let to = args.output.clone().unwrap_or_else(|| beside(path));
    let place = place_of(&to, OutputKind::Export, args.force, &args.runs)?;
    Ok((path, place, shared))
}

/// The run in a file, without what is private.
pub(super) fn shared_from(path: &Path) -> Result<Shared> {
    let mut shared = flashlag_share::shared(&run_from(path)?)
        .with_context(|| format!("{} can't be shared", path.display()))?;
    // Findings repeat texts in which names were replaced, so they are computed again from the
    // shared run.
    let rules = shared.run.findings.as_ref().map(|findings| findings.rules);
    if rules == Some(flashlag_schema::finding::RULES) {
        flashlag_explain::attach(&mut shared.run);
        shared.run.seal();
    }
    Ok(shared)
}

/// `dir/run.json` as `dir/run-shared.json`.
fn beside(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-shared.json"))
}

/// What is removed and what stays, as text.
fn account(from: &Path, to: &Path, shared: &Shared) -> String {
    let mut text = format!("{} without private data, as {}\n", name_of(from), name_of(to));
    if shared.removed.is_empty() {
        text += "  removed  nothing: nothing private was found\n";
    }
    let widest = shared.removed.iter().map(|it| it.field.len()).max().unwrap_or(0);
    for (index, removed) in shared.removed.iter().enumerate() {
        let head = if index == 0 { "removed" } else { "" };
        let times =
            if removed.values > 1 { format!(", {} times", removed.values) } else { String::new() };
        text += &format!("  {head:<8} {:<widest$}  {}{times}\n", removed.field, removed.reason);
    }
    text += &format!(
        "  kept     {} tests with all their figures, checks and findings\n",
        shared.run.phases.len()
    );
    for (names, known) in descriptions(&shared.run) {
        text += &format!("           {names}: {known}\n");
    }
    let is_builtin = flashlag_runner::builtin(&shared.run.scenario.name)
        .is_some_and(|builtin| builtin.text() == shared.run.scenario.text);
    let scenario = ["scenario.text", "scenario.name"];
    let kept = shared.kept.iter();
    for kept in kept.filter(|kept| !is_builtin || !scenario.contains(&kept.field.as_str())) {
        text += &match kept.text.chars().count() {
            0..=60 => format!("           {}: {}\n", kept.field, kept.text),
            long => format!(
                "           {}: {long} characters, which somebody wrote: look through them\n",
                kept.field
            ),
        };
    }
    text
}

/// What stays that describes the machine and the device: each text once, with the names of all fields
/// that have it. A simulated device's machine and model are the same text.
pub(super) fn descriptions(run: &Run) -> Vec<(String, &str)> {
    let environment = &run.environment;
    let software = &environment.software;
    fn text(reading: &Reading<String>) -> Option<&str> {
        reading.value().map(String::as_str)
    }
    let fields = [
        ("machine", text(&software.machine)),
        ("system", text(&software.system)),
        ("kernel", text(&software.kernel)),
        ("CPU", text(&environment.cpu.model)),
        ("device", text(&environment.device.model)),
        ("filesystem", text(&environment.filesystem.kind)),
        ("began", run.started.as_deref()),
    ];
    let mut described: Vec<(String, &str)> = Vec::new();
    for (name, text) in fields.iter().filter_map(|(name, text)| Some((*name, (*text)?))) {
        match described.iter_mut().find(|(_, known)| *known == text) {
            Some((names, _)) => *names += &format!(", {name}"),
            None => described.push((name.to_owned(), text)),
        }
    }
    described
}

/// Whether the user agrees, at a terminal.
fn agreed(files: usize) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("nothing is written: add --yes to agree, or --list to see this list alone");
    }
    let these = if files == 1 { "the file" } else { "the files" };
    say::ask(&format!("flashlag sends nothing. Write {these}? [y/N]"));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use flashlag_testing::sample::SampleKind;

    use super::*;

    #[test]
    fn what_stays_is_named_and_said_once_and_the_first_line_has_its_spaces() {
        let mut run = SampleKind::Quick.run();
        let known = Reading::Value("Pixel (2016), 32 GB".to_owned());
        run.environment.software.machine = known.clone();
        run.environment.device.model = known;
        let shared = flashlag_share::shared(&run).expect("a run that can be shared");
        let text = account(Path::new("a/run.json"), Path::new("a/run-shared.json"), &shared);
        let head = "run.json without private data, as run-shared.json\n";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("          machine, device: Pixel (2016), 32 GB\n"), "{text}");
        let (_, stays) = text.split_once("  kept ").expect("what stays");
        assert!(stays.lines().skip(1).all(|line| line.contains(": ")), "{stays}");
        assert_eq!(stays.matches("Pixel (2016), 32 GB").count(), 1, "{stays}");
    }
}
