use std::path::Path;

use anyhow::{Result, bail};
use flashlag_predict::change;
use flashlag_predict::change::{
    Change, PredictOptions, Situation, parse, parse_levels, situation_of, sweep,
};
use flashlag_runner::sim;
use flashlag_schema::published::checked;
use flashlag_schema::target::Age;

use crate::args::PredictArgs;
use crate::command::profiles::counted;
use crate::exit::Exit;
use crate::load::run_from;
use crate::say;
use crate::terminal::Terminal;

/// Seeds of a forecast over days of use, whose figures scatter.
const SEEDS_OF_YEARS: u64 = 3;

/// Simulates a device before and after each change, or at each level of a sweep.
pub fn predict(args: &PredictArgs, terminal: &Terminal) -> Result<Exit> {
    let start = situation(args)?;
    let changes = args.change.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    let changes: Vec<_> = changes.into_iter().flatten().collect();
    let levels = args.sweep.as_deref().map(parse_levels).transpose()?;
    let ages = changes.iter().any(|change| matches!(change, Change::Age(_)));
    let seeds = args.seeds.unwrap_or(if ages { SEEDS_OF_YEARS } else { 1 });
    let (daily, causes) = (args.daily, !terminal.quiet);
    let options = PredictOptions { daily, seeds: (1..=seeds).collect(), causes };
    let simulations = counted(&start.profile.name, None, terminal)?;
    let mut situation = start.clone();
    if !changes.is_empty() {
        let forecast = change::predict(&start, &changes, checked(), &simulations, &options)?;
        simulations.clear();
        say::view(&flashlag_term::predict::forecast(&forecast, terminal.stdout))?;
        for change in &changes {
            situation = situation.with(change)?;
        }
    }
    if let Some(levels) = levels {
        let sweep = sweep(&situation, &levels, checked(), &simulations, &options)?;
        simulations.clear();
        if !changes.is_empty() {
            say::line("")?;
        }
        say::view(&flashlag_term::predict::sweep(&sweep, terminal.stdout))?;
    }
    Ok(Exit::Done)
}

/// The device of a run file, or the profile of that name.
fn situation(args: &PredictArgs) -> Result<Situation> {
    let subject = args.subject.strip_prefix("sim:").unwrap_or(&args.subject);
    let is_run = Path::new(subject).extension().is_some_and(|ending| ending == "json");
    let found = if is_run {
        situation_of(&run_from(Path::new(subject))?, subject, args.force)?
    } else {
        let target = sim::SimTarget::parse(subject)?;
        if target.age != Age::New {
            bail!("a forecast begins with a new device: leave state= out, and give --change age=12mo");
        }
        Situation::new(&target.profile, &target.mount.to_string())?
    };
    match &args.fs {
        Some(fs) => Ok(Situation::new(&found.profile, fs)?),
        None => Ok(found),
    }
}
