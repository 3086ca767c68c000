//! What each stage of a fit is worth: devices with hidden parameters run `lifecycle`, profiles are
//! fitted to those runs without one stage after another, and forecast storage that is 90 % full.
//!
//! `cargo run --release -p flashlag-predict --example ablation -- SETS SIMULATIONS [WITHOUT...]`
//!
//! SETS: `1-20`; WITHOUT: stages left out, `all` for none; by default `all` and every stage.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use flashlag_predict::Simulator;
use flashlag_predict::change::{self, PredictOptions, Situation};
use flashlag_predict::fit::{Fit, FitOptions, FitRequest, FitStage, fit};
use flashlag_runner::builtin;
use flashlag_spec::profile::{Parameter, Profile};
use flashlag_spec::scenario::Scenario;
use flashlag_spec::target::{Kind, MountSpec};
use flashlag_units::Bytes;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

mod simulated;

use simulated::Simulated;

type Failure = Box<dyn Error + Send + Sync>;

/// One simulation at a time: the fits are side by side.
const SIMULATED: Simulated = Simulated { threads: 1 };
/// What matters when storage is full, with the values that are drawn from.
const STRUCTURE: [(&str, &[&str]); 6] = [
    ("nand.pages_per_block", &["8", "16"]),
    ("gc.policy", &["greedy", "d_choices", "cost_benefit", "fifo"]),
    ("gc.hot_cold", &["true", "false"]),
    ("buffer.size", &["64KiB", "256KiB", "1MiB"]),
    ("map.unit", &["8KiB", "16KiB", "32KiB"]),
    ("map.program_unit", &["16KiB", "32KiB", "64KiB"]),
];
/// A forecast is near if both p50 and p99 are within this share.
const NEAR: f64 = 0.15;

/// The starting profile: that of the Nexus 7 with 64 MiB for its host, so that a lifetime takes some
/// milliseconds, a range for its spare area, and a write buffer.
fn base() -> Result<Profile, Failure> {
    let mut profile = Profile::find("nexus7-2012")?;
    profile.checks = Vec::new();
    let parameter = |value: &str, range: Option<[&str; 2]>| Parameter {
        value: toml::Value::String(value.to_owned()),
        source: "assumed".to_owned(),
        range: range.map(|range| range.map(|end| toml::Value::String(end.to_owned()))),
        fitted: Vec::new(),
    };
    let volatile = Parameter { value: toml::Value::Boolean(true), ..parameter("", None) };
    profile.parameters.extend([
        ("map.capacity".to_owned(), parameter("64MiB", None)),
        ("map.spare".to_owned(), parameter("6MiB", Some(["4MiB", "16MiB"]))),
        ("buffer.size".to_owned(), parameter("256KiB", Some(["64KiB", "2MiB"]))),
        ("buffer.volatile".to_owned(), volatile),
    ]);
    let block = Parameter {
        value: toml::Value::Integer(8),
        range: Some([toml::Value::Integer(8), toml::Value::Integer(32)]),
        ..parameter("", None)
    };
    profile.parameters.insert("nand.pages_per_block".to_owned(), block);
    profile.model()?;
    Ok(profile)
}

/// Another device: times by up to a third either way, the rest anywhere in its range.
fn hidden(base: &Profile, set: u64) -> Result<Profile, Failure> {
    let mut random = Pcg64Mcg::seed_from_u64(set);
    let mut profile = base.clone();
    for (key, parameter) in &base.parameters {
        let is_time = matches!(&parameter.value, toml::Value::String(text) if text.ends_with('s'));
        let (true, Some((low, high)), Some(value)) =
            (is_time, parameter.bounds(), parameter.number())
        else {
            continue;
        };
        let wanted = value * (random.random::<f64>() * 0.6 - 0.3).exp();
        profile = profile.with(key, &parameter.spell(wanted.clamp(low, high)))?;
    }
    let spare = 4.0 * (4.0_f64).powf(random.random());
    profile = profile.with("map.spare", &format!("{spare:.0}MiB"))?;
    for (key, options) in STRUCTURE {
        let start = match key {
            // A program takes whole units.
            "map.program_unit" => options.iter().position(|one| {
                let unit = profile.parameters["map.unit"].number();
                one.parse().ok().map(|size: Bytes| size.0 as f64) >= unit
            }),
            _ => Some(0),
        };
        let options = &options[start.unwrap_or_default()..];
        profile = profile.with(key, options[random.random_range(0..options.len())])?;
    }
    profile = profile.with("gc.low_water", &random.random_range(2..=8).to_string())?;
    Ok(profile.with("gc.choices", &random.random_range(2..=16).to_string())?)
}

/// p50 and p99 of durable writes at 90 % full, in nanoseconds: the mean of three seeds.
fn at_ninety(profile: &Profile) -> Result<[f64; 2], Failure> {
    let start = Situation::new(profile, "ext4")?;
    let start = start.with(&change::Change::Full(0.9))?;
    // A day's writes are what the device holds.
    let options = PredictOptions {
        seeds: (1..=3).collect(),
        daily: Bytes::from_mb(64),
        causes: false,
        ..PredictOptions::default()
    };
    let forecast = change::predict(&start, &[], &[], &SIMULATED, &options)?;
    let test = forecast.before.durable().ok_or("no durable writes")?;
    Ok([test.p50_ns, test.p99_ns].map(Option::unwrap_or_default))
}

/// A hidden device: its run, and its figures when full.
struct Device {
    run: flashlag_schema::Run,
    full: [f64; 2],
}

fn device(base: &Profile, set: u64) -> Result<Device, Failure> {
    let hidden = hidden(base, set)?;
    let text = builtin("lifecycle").ok_or("no lifecycle")?.text();
    let settings = [("sizes", "1"), ("span", "8MB"), ("limit", "4MB")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::parse(text, &settings)?;
    let run = SIMULATED.simulate(&flashlag_predict::Simulation {
        profile: &hidden,
        mount: &MountSpec::parse(Kind::Sim, "ext4")?,
        scenario: &scenario,
        seed: 1,
        leave: Some(Bytes::from_mb(6)),
    })?;
    Ok(Device { run, full: at_ninety(&hidden)? })
}

/// A fit without some stage.
struct Outcome {
    /// Forecast over true p50 and p99, less 1.
    off: [f64; 2],
    misfit: f64,
    simulations: usize,
    seconds: f64,
}

fn outcome(
    base: &Profile,
    device: &Device,
    simulations: usize,
    without: &[FitStage],
) -> Result<Outcome, Failure> {
    let request = FitRequest {
        run: &device.run,
        run_name: "RUN",
        start: base,
        name: "fitted",
        mount: None,
        force: true,
    };
    let options = FitOptions { simulations, without: without.to_vec(), ..FitOptions::default() };
    let began = Instant::now();
    let Fit { profile, misfit, simulations, .. } = fit(&request, &SIMULATED, &options)?;
    let seconds = began.elapsed().as_secs_f64();
    let found = at_ninety(&profile)?;
    let off = [0, 1].map(|index| found[index] / device.full[index] - 1.0);
    Ok(Outcome { off, misfit, simulations, seconds })
}

/// The results of `work` for all items, by as many threads as there are cores.
fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let index = items.iter().position(|one| std::ptr::eq(one, item));
                    let result = work(item);
                    if let Ok(mut done) = done.lock() {
                        done.push((index, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().map_err(|_| "a thread panicked")?;
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

fn print_row(name: &str, outcomes: &[&Outcome]) {
    let count = outcomes.len() as f64;
    let mean =
        |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(|one| of(one)).sum::<f64>() / count;
    let near = outcomes.iter().filter(|one| one.off.iter().all(|off| off.abs() <= NEAR)).count();
    let off = |index: usize| mean(&|one: &Outcome| (1.0 + one.off[index]).ln().abs()).exp_m1();
    println!(
        "| {name} | {near} of {} | {:.1} % | {:.1} % | {:.1} % | {:.0} | {:.1} |",
        outcomes.len(),
        100.0 * off(0),
        100.0 * off(1),
        100.0 * median(outcomes.iter().map(|one| one.misfit)),
        mean(&|one| one.simulations as f64),
        mean(&|one| one.seconds),
    );
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [sets, simulations, names @ ..] = words.as_slice() else {
        return Err("say which: ablation SETS SIMULATIONS [WITHOUT...], as in 1-20 600".into());
    };
    let (first, last) = sets.split_once('-').unwrap_or((sets, sets));
    let sets: Vec<u64> = (first.parse()?..=last.parse()?).collect();
    let simulations: usize = simulations.parse()?;
    let mut ways: Vec<(&str, Vec<FitStage>)> = vec![("all stages", Vec::new())];
    ways.extend(FitStage::ALL.iter().map(|stage| (stage.name(), vec![*stage])));
    if !names.is_empty() {
        ways.retain(|(name, _)| names.iter().any(|wanted| name.split(' ').next() == Some(wanted)));
    }
    let base = base()?;
    let devices = side_by_side(&sets, |set| device(&base, *set))?;
    eprintln!("{} devices", devices.len());
    let jobs: Vec<(&Vec<FitStage>, &Device)> =
        ways.iter().flat_map(|(_, way)| devices.iter().map(move |device| (way, device))).collect();
    let outcomes = side_by_side(&jobs, |(way, device)| {
        let outcome = outcome(&base, device, simulations, way)?;
        eprintln!(
            "{way:?} {:+.3?} {:.3} {} {:.1} s",
            outcome.off, outcome.misfit, outcome.simulations, outcome.seconds
        );
        Ok(outcome)
    })?;
    println!(
        "| left out | p50 and p99 within 15 % | p50 off | p99 off | misfit | simulations | s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for ((name, _), outcomes) in ways.iter().zip(outcomes.chunks(devices.len())) {
        print_row(name, &outcomes.iter().collect::<Vec<_>>());
    }
    Ok(())
}
