use anyhow::Result;
use flashlag_commands::{FitWords, Simulations, name_of, run_from, scenario_of_check};
use flashlag_predict::fit::{LeftOut, left_out};
use flashlag_runner::{Destination, OutputKind};
use flashlag_spec::profile::Profile;
use flashlag_spec::published::checked;

use crate::args::FitArgs;
use crate::exit::Exit;
use crate::say;
use crate::signals::stop_flag;
use crate::simulator::simulations;
use crate::terminal::Terminal;

/// Makes a profile from a measured run.
pub fn fit(args: &FitArgs, terminal: &Terminal) -> Result<Exit> {
    let place = Destination::check(&args.output, OutputKind::Profile, args.force)?;
    let run = run_from(&args.run)?;
    let run_name = name_of(&args.run);
    let name = args.output.file_stem().map_or("fitted".into(), |stem| stem.to_string_lossy());
    let words = FitWords {
        name: name.into_owned(),
        from: args.from.clone(),
        fs: args.fs.clone(),
        only: args.only.clone(),
        simulations: args.simulations,
        starts: args.starts,
        force: args.force,
    };
    let stop = stop_flag()?;
    let counted = |what: &str, of| Ok(simulations(stop.clone(), terminal.progress, what, of));
    let mut begins_with = |name: &str| {
        say::note(&format!(
            "Begins with {name}, whose figures are nearest (--from chooses another)."
        ));
    };
    let fitted = flashlag_commands::fit(&run, &run_name, &words, &counted, &mut begins_with)?;
    place.write(fitted.profile.to_toml().as_bytes())?;
    say::view(&flashlag_term::predict::fit(&fitted, terminal.stdout))?;
    say::note(&format!("Profile {}", args.output.display()));
    Ok(Exit::Done)
}

/// Forecasts each row that a profile was fitted to from its other rows, and from its family's.
pub fn leave_one_out(
    chosen: &[Profile],
    is_family: bool,
    simulations: &Simulations,
    terminal: &Terminal,
) -> Result<Exit> {
    let mut all: Vec<LeftOut> = Vec::new();
    for family in chosen.chunks(if is_family { chosen.len().max(1) } else { 1 }) {
        all.extend(left_out(family, checked(), &scenario_of_check, simulations)?);
    }
    simulations.without_progress(|| {
        say::view(&flashlag_term::predict::left_out(&all, is_family, terminal.stdout))
    })?;
    Ok(Exit::Done)
}
