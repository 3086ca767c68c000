//! For makers of profiles: seeks the values of a profile, within their ranges, that come nearest to
//! the published rows of its checks.
//!
//! `cargo run --release -p flashlag-predict --example tune -- PROFILE OUTPUT.toml [KEY...]`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use flashlag_predict::fit::{FitOptions, FitParameter, tune};
use flashlag_runner::{builtin, sim};
use flashlag_spec::published::checked;
use flashlag_units::percent;

mod simulated;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, output, only @ ..] = words.as_slice() else {
        return Err("say which: tune PROFILE OUTPUT.toml [KEY...]".into());
    };
    let profile = sim::profile(name)?;
    let scenario_text = |name: &str| {
        let text = builtin(name).map(|builtin| builtin.text());
        sim::builtin_protocol(name).or(text).map(ToOwned::to_owned)
    };
    let options = FitOptions { only: only.to_vec(), simulations: 300, ..FitOptions::default() };
    let threads = std::thread::available_parallelism()?.get();
    let simulator = simulated::Simulated { threads };
    let tuned = tune(&profile, checked(), &scenario_text, &[1], &simulator, &options)?;
    std::fs::write(output, tuned.profile.to_toml())?;
    println!(
        "Rows are off by {} typically, by {} before; {} runs.",
        percent(tuned.misfit),
        percent(tuned.misfit_before),
        tuned.simulations
    );
    let moved = |one: &&FitParameter| one.before != one.after;
    for one in tuned.parameters.iter().filter(moved) {
        println!("{}: {} to {}, by {}", one.key, one.before, one.after, one.rows.join(", "));
    }
    Ok(())
}
