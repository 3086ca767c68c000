//! How far a forecast that leaves out the days of use that change nothing is from one that simulates
//! each of them, and what each takes.
//!
//! `cargo run --release -p flashlag-predict --example long_way -- PROFILE FILESYSTEM CHANGES DAILY`,
//! as in `ufs31-phone f2fs full=80%,age=12mo 20GB`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::time::Instant;

use flashlag_predict::change::{self, Figures, PredictOptions, Situation};
use flashlag_predict::{Simulation, SimulationError, Simulator};
use flashlag_schema::Run;
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::{After, Stretch};
use flashlag_spec::target::MountSpec;
use flashlag_units::Bytes;

mod simulated;

use simulated::Simulated;

const SIMULATED: Simulated = Simulated { threads: 1 };

/// A simulator that leaves out no day of use; writes over what is stored still end once steady.
struct EveryDay;

impl Simulator for EveryDay {
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        SIMULATED.simulate(simulation)
    }

    fn room(&self, profile: &Profile, mount: &MountSpec) -> Result<Bytes, SimulationError> {
        SIMULATED.room(profile, mount)
    }

    fn simulate_repeats(
        &self,
        simulation: &Simulation<'_>,
        stretches: &[Stretch],
        follow: &mut dyn FnMut(&Run, usize, usize) -> After,
    ) -> Result<(Run, Vec<usize>), SimulationError> {
        let mut all_days = |run: &Run, stretch: usize, count: usize| {
            let after = follow(run, stretch, count);
            if stretch == 0 { After::Next } else { after }
        };
        SIMULATED.simulate_repeats(simulation, stretches, &mut all_days)
    }
}

/// The names and values of what is compared.
fn compared(figures: &Figures) -> Vec<(String, f64)> {
    let mut all = vec![(
        "share of rated cycles".to_owned(),
        figures.lived.as_ref().and_then(|lived| lived.life_used).unwrap_or(f64::NAN),
    )];
    let sustained = figures.sustained.iter().map(|test| (test, "sustained"));
    for (test, name) in figures.tests.iter().map(|test| (test, test.name.as_str())).chain(sustained)
    {
        all.push((format!("{name}: ops/s"), test.per_second));
        let others = [("p50, ns", test.p50_ns), ("p99, ns", test.p99_ns)];
        for (what, value) in others {
            all.extend(value.map(|value| (format!("{name}: {what}"), value)));
        }
        all.extend(test.amplification.map(|value| (format!("{name}: amplification"), value)));
    }
    all
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [profile, filesystem, changes, daily] = words.as_slice() else {
        return Err("say what: long_way PROFILE FILESYSTEM CHANGES DAILY".into());
    };
    let mut situation = Situation::new(&Profile::find(profile)?, filesystem)?;
    for change in change::parse(changes)? {
        situation = situation.with(&change)?;
    }
    let options =
        PredictOptions { daily: daily.parse()?, causes: false, ..PredictOptions::default() };
    let simulators: [(&str, &dyn Simulator); 2] =
        [("until steady", &SIMULATED), ("every day", &EveryDay)];
    let mut both = Vec::new();
    for (name, simulator) in simulators {
        let began = Instant::now();
        let figures = change::predict(&situation, &[], &[], simulator, &options)?.before;
        let lived = figures.lived.as_ref();
        println!(
            "{name}: {} of {} days, {:.1} s",
            lived.map_or(0, |lived| lived.simulated),
            lived.map_or(0, |lived| lived.asked),
            began.elapsed().as_secs_f64()
        );
        both.push(compared(&figures));
    }
    println!("| | until steady | every day | off |\n|---|---:|---:|---:|");
    for ((name, quick), (_, long)) in both[0].iter().zip(&both[1]) {
        println!("| {name} | {quick:.6} | {long:.6} | {:+.2} % |", 100.0 * (quick / long - 1.0));
    }
    Ok(())
}
