use anyhow::{Context, Result};
use flashlag_predict::fit::{FitOptions, FitRequest, allowed, fit as fit_run, nearest};
use flashlag_runner::{Destination, OutputKind, sim};
use flashlag_schema::Run;
use flashlag_schema::profile::Profile;
use flashlag_schema::target::{Kind, MountSpec};

use crate::args::FitArgs;
use crate::command::profiles::counted;
use crate::exit::Exit;
use crate::load::{name_of, run_from};
use crate::say;
use crate::terminal::Terminal;

/// Makes a profile from a measured run.
pub fn fit(args: &FitArgs, terminal: &Terminal) -> Result<Exit> {
    let place = Destination::check(&args.output, OutputKind::Profile, args.force)?;
    let run = run_from(&args.run)?;
    let run_name = name_of(&args.run);
    allowed(&run, &run_name, args.force)?;
    let start = match &args.from {
        Some(name) => sim::profile(name)?,
        None => nearest_profile(&run, &run_name, terminal)?,
    };
    let name = args.output.file_stem().map_or("fitted".into(), |stem| stem.to_string_lossy());
    let mount = args.fs.as_deref().map(|text| MountSpec::parse(Kind::Sim, text)).transpose();
    let mount = mount.context("--fs")?;
    let request = FitRequest {
        run: &run,
        run_name: &run_name,
        start: &start,
        name: &name,
        mount: mount.as_ref(),
        force: args.force,
    };
    let options = FitOptions {
        only: args.only.clone(),
        simulations: args.simulations,
        starts: args.starts,
        ..FitOptions::default()
    };
    let simulations = counted(&start.name, None, terminal)?;
    let fitted = fit_run(&request, &simulations, &options)?;
    simulations.clear();
    place.write(fitted.profile.to_toml().as_bytes())?;
    say::view(&flashlag_term::predict::fit(&fitted, terminal.stdout))?;
    say::note(&format!("Profile {}", args.output.display()));
    Ok(Exit::Done)
}

/// The built-in profile with the figures of new storage nearest to the run's.
fn nearest_profile(run: &Run, run_name: &str, terminal: &Terminal) -> Result<Profile> {
    let all: Vec<Profile> = sim::profile_names().map(sim::profile).collect::<Result<_, _>>()?;
    let simulations = counted("nearest profile", Some(all.len()), terminal)?;
    let ranked = nearest(run, run_name, &all, &simulations)?;
    let first = ranked.first().context("no built-in profile can be simulated for this run")?;
    let name = &first.name;
    say::note(&format!("Begins with {name}, whose figures are nearest (--from chooses another)."));
    Ok(all[first.index].clone())
}
