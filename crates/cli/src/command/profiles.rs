use anyhow::{Result, bail};
use flashlag_commands::{Simulations, scenario_of_check};
use flashlag_predict::check::{CheckOptions, check_each, runs};
use flashlag_runner::sim;
use flashlag_spec::PROFILE_KEYS;
use flashlag_spec::profile::Profile;
use flashlag_spec::published::checked;

use crate::args::{ProfilesAction, ProfilesArgs};
use crate::exit::Exit;
use crate::say;
use crate::signals::stop_flag;
use crate::simulator::simulations;
use crate::terminal::Terminal;

/// Lists, shows or checks device profiles.
pub fn profiles(args: &ProfilesArgs, terminal: &Terminal) -> Result<Exit> {
    if args.keys {
        say::text(&PROFILE_KEYS)?;
        return Ok(Exit::Done);
    }
    match &args.action {
        None => list(terminal),
        Some(ProfilesAction::Show { name }) => show(name),
        #[cfg(feature = "fit")]
        Some(ProfilesAction::Check { names, leave_one_out: true, family, .. }) => {
            let chosen = chosen(names)?;
            let simulations = counted(&named(&chosen), None, terminal)?;
            super::fit::leave_one_out(&chosen, *family, &simulations, terminal)
        }
        Some(ProfilesAction::Check { names, seeds, sensitivity, .. }) => {
            let seeds = (1..=*seeds).collect();
            check_all(names, &CheckOptions { seeds, sensitivity: *sensitivity }, terminal)
        }
    }
}

fn list(terminal: &Terminal) -> Result<Exit> {
    let all: Vec<Profile> = sim::profile_names().map(sim::profile).collect::<Result<_, _>>()?;
    say::view(&flashlag_term::profiles(&all, terminal.stdout))?;
    Ok(Exit::Done)
}

fn show(name: &str) -> Result<Exit> {
    // A user's file is parsed too, which reports its mistakes.
    let profile = sim::profile(name)?;
    let text = sim::builtin_profile(name).map_or_else(|| profile.to_toml(), ToOwned::to_owned);
    say::text(&text)?;
    Ok(Exit::Done)
}

/// The profiles of these names, by default all that have published rows.
fn chosen(names: &[String]) -> Result<Vec<Profile>> {
    let mut chosen = Vec::new();
    if names.is_empty() {
        for name in sim::profile_names() {
            let profile = sim::profile(name)?;
            chosen.extend((!profile.checks.is_empty()).then_some(profile));
        }
    }
    for name in names {
        let profile = sim::profile(name)?;
        if profile.checks.is_empty() {
            bail!("{name} has no [[check]]: no published row to compare it with");
        }
        chosen.push(profile);
    }
    Ok(chosen)
}

/// How progress calls these profiles.
fn named(profiles: &[Profile]) -> String {
    match profiles {
        [profile] => profile.name.clone(),
        all => format!("{} profiles", all.len()),
    }
}

fn check_all(names: &[String], options: &CheckOptions, terminal: &Terminal) -> Result<Exit> {
    let chosen = chosen(names)?;
    let count = chosen.iter().map(|profile| runs(profile, options)).sum();
    let simulations = counted(&named(&chosen), Some(count), terminal)?;
    let (mut passed, mut printed) = (true, 0);
    check_each(&chosen, checked(), &scenario_of_check, &simulations, options, |report| {
        passed &= report.passed();
        printed += 1;
        simulations.without_progress(|| {
            if printed > 1 {
                say::line("")?;
            }
            say::view(&flashlag_term::predict::check(&report, terminal.stdout))
        })
    })?;
    // The status of a crossed threshold: the check ran, and a row is out of its bounds.
    Ok(if passed { Exit::Done } else { Exit::Crossed })
}

/// Simulations whose progress is shown once they take longer than a second.
pub fn counted(what: &str, of: Option<usize>, terminal: &Terminal) -> Result<Simulations> {
    Ok(simulations(stop_flag()?, terminal.progress, what, of))
}
