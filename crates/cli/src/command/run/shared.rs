//! Measures a phone's shared storage as well: `fill` fills it, and `quick --set both=true` measures
//! it beside the apps' own storage.

use anyhow::{Result, bail};
use flashlag_schema::RunStatus;
use flashlag_spec::target::{PhoneSpec, TargetSpec};
use flashlag_views::CompareOptions;

use super::once::once;
use super::repeats::{beside, worse};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::results::default_output;
use crate::say;
use crate::terminal::Terminal;
use flashlag_commands::run_from;

/// Where every Android has its shared storage, which apps reach through FUSE or sdcardfs.
const SHARED: &str = "/sdcard";
/// The scenario that fills another directory, and its setting.
const FILL: &str = "fill";
const FILL_DIRECTORY: &str = "fill_dir";
/// The scenario that measures both, and its setting.
const QUICK: &str = "quick";
const BOTH: &str = "both";

fn phone(on: &str) -> Option<PhoneSpec> {
    match TargetSpec::parse(on) {
        Ok(TargetSpec::Phone(spec)) => Some(spec),
        _ => None,
    }
}

/// The arguments of a `fill` on a phone, which fills the shared storage unless another directory is
/// named; `None` for any other run.
pub(super) fn filling(args: &RunArgs) -> Option<RunArgs> {
    let named = args.set.iter().any(|(key, _)| key == FILL_DIRECTORY);
    if args.scenario != FILL || named || phone(&args.on).is_none() {
        return None;
    }
    let mut args = args.clone();
    args.set.push((FILL_DIRECTORY.to_owned(), SHARED.to_owned()));
    Some(args)
}

/// The arguments of the two runs of `quick --set both=true`: on the phone's own storage and on the
/// shared storage.
pub(super) fn both(args: &RunArgs) -> Result<Option<[RunArgs; 2]>> {
    let asked = |(key, value): &(String, String)| key == BOTH && value == "true";
    if args.scenario != QUICK || !args.set.iter().any(asked) {
        return Ok(None);
    }
    let Some(spec) = phone(&args.on).filter(|spec| spec.path.is_none()) else {
        bail!(
            "--set {BOTH}=true measures a phone's own and its shared storage: add --on adb:[SERIAL], without \
             a path; elsewhere, run {QUICK} on each directory and compare the runs"
        );
    };
    let base = args.output.clone().unwrap_or_else(|| default_output(QUICK));
    let one = |on: String, name: &str| RunArgs {
        on,
        output: Some(beside(&base, name)),
        report: args.report.as_ref().map(|report| beside(report, name)),
        resume: args.resume && beside(&base, name).exists(),
        ..args.clone()
    };
    let shared = PhoneSpec { path: Some(SHARED.to_owned()), ..spec };
    Ok(Some([one(args.on.clone(), "own"), one(shared.to_string(), "shared")]))
}

/// Makes the two runs one after the other and compares them.
pub(super) fn pair(pair: &[RunArgs; 2], terminal: &Terminal) -> Result<Exit> {
    let each = Terminal { brief: true, ..*terminal };
    let mut exit = Exit::Done;
    let mut runs = Vec::new();
    for args in pair {
        let file = args.output.clone().unwrap_or_default();
        let done = || run_from(&file).ok().filter(|run| run.status == RunStatus::Complete);
        if args.resume
            && let Some(run) = done()
        {
            runs.push(run);
            continue;
        }
        exit = worse(exit, once(args, &each)?);
        runs.push(run_from(&file)?);
    }
    let labels = ["own storage", "shared storage"].map(str::to_owned).to_vec();
    let options = CompareOptions { labels, ..CompareOptions::default() };
    say::view(&terminal.comparison(&flashlag_views::compare(&runs, &options)?))?;
    Ok(exit)
}
