use std::io::Write;

use anyhow::{Context, Result};
use flashlag_predict::fit::{FitOptions, FitRequest, fit as fit_run, nearest};
use flashlag_predict::text;
use flashlag_runner::sim;
use flashlag_schema::Run;
use flashlag_schema::profile::Profile;

use crate::args::FitArgs;
use crate::command::profiles::counted;
use crate::exit::Exit;
use crate::load::{name_of, run_from};
use crate::terminal::Terminal;

/// Makes a profile from a measured run.
pub fn fit(args: &FitArgs, terminal: &Terminal) -> Result<Exit> {
    let run = run_from(&args.run)?;
    let run_name = name_of(&args.run);
    let start = match &args.from {
        Some(name) => sim::profile(name)?,
        None => nearest_profile(&run, &run_name, terminal)?,
    };
    let name = args.output.file_stem().map_or("fitted".into(), |stem| stem.to_string_lossy());
    let request = FitRequest {
        run: &run,
        run_name: &run_name,
        start: &start,
        name: &name,
        filesystem: args.fs.as_deref(),
    };
    let options = FitOptions {
        only: args.only.clone(),
        simulations: args.simulations,
        starts: args.starts,
        ..FitOptions::default()
    };
    let mut simulations = counted(&start.name, None, terminal)?;
    let fitted = fit_run(&request, &mut simulations, &options)?;
    simulations.clear();
    std::fs::write(&args.output, fitted.profile.to_toml())
        .with_context(|| format!("cannot write the profile {}", args.output.display()))?;
    write!(std::io::stdout().lock(), "{}", text::fit(&fitted))?;
    eprintln!("Profile {}", args.output.display());
    Ok(Exit::Done)
}

/// The built-in profile whose figures of new storage are nearest to the run's.
fn nearest_profile(run: &Run, run_name: &str, terminal: &Terminal) -> Result<Profile> {
    let all: Vec<Profile> = sim::profile_names().map(sim::profile).collect::<Result<_, _>>()?;
    let mut simulations = counted("nearest profile", Some(all.len()), terminal)?;
    let ranked = nearest(run, run_name, &all, &mut simulations)?;
    let first = ranked.first().context("no built-in profile can be simulated for this run")?;
    eprintln!("Begins with {}, whose figures are nearest (--from chooses another).", first.name);
    Ok(all[first.index].clone())
}
