//! What years of use change, cause by cause, and by how much figures scatter.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use crate::common::daily::Daily;
use crate::common::{ClosedForm, profile};
use flashlag_predict::change::{
    Absence, Cause, Forecast, PredictOptions, Range, Situation, parse, predict,
};
use flashlag_predict::{Simulation, SimulationError, Simulator};
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::{After, Io, Scenario, Step, Stretch, Test};
use flashlag_term::{Style, predict as draw};

/// Keeps what it is asked to simulate, in order: one simulation at a time.
#[derive(Default)]
struct Listener {
    inner: ClosedForm,
    heard: Mutex<Vec<Scenario>>,
}

impl Simulator for Listener {
    fn threads(&self) -> usize {
        1
    }

    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        self.heard.lock().unwrap().push(simulation.scenario.clone());
        self.inner.simulate(simulation)
    }
}

fn forecast(profile: &Profile, changes: &str) -> (Forecast, Vec<Scenario>) {
    let listener = Listener::default();
    let start = Situation::new(profile, "ext4").unwrap();
    let options = PredictOptions::default();
    let changes = parse(changes).unwrap();
    let forecast = predict(&start, &changes, &[], &listener, &options).unwrap();
    (forecast, listener.heard.into_inner().unwrap())
}

/// Days that take a share of the rated cycles each, in percent; a device that gets the cycles of the days
/// left out takes twice as long.
fn lives(wear: f64) -> Daily {
    Daily { wear, worn: 2.0, ..Daily::default() }
}

fn wearing() -> Profile {
    let text = profile().to_toml();
    let wear = "retries = { value = 3.0, source = \"assumed\" }\n\
                endurance = { value = 3000, source = \"assumed\" }\n";
    let text = match text.find("[wear]\n") {
        Some(at) => text[..at + 7].to_owned() + wear + &text[at + 7..],
        None => text + "\n[wear]\n" + wear,
    };
    Profile::parse(&text).unwrap()
}

/// Days of use, and rounds of writes over what is stored.
fn days_and_rounds(scenario: &Scenario) -> (usize, usize) {
    let count =
        |wanted: &dyn Fn(&Step) -> bool| scenario.steps.iter().filter(|step| wanted(step)).count();
    let settles = |step: &Step| matches!(step, Step::Measure { tests, .. } if tests.contains(&"settle".to_owned()));
    (count(&|step| matches!(step, Step::Fill { .. })), count(&settles))
}

fn io<'a>(scenario: &'a Scenario, name: &str) -> Option<&'a Io> {
    match scenario.tests.get(name)? {
        Test::Io(io) => Some(io),
        Test::Save(_) | Test::FileSave(_) | Test::Replay(_) | Test::Card(_) => None,
    }
}

#[test]
fn each_cause_is_a_simulation_with_all_before_it_and_that_cause_besides() {
    let (forecast, heard) = forecast(&wearing(), "age=5d");
    let stored = |index: usize| io(&heard[index], "rand_write_4k").unwrap().span.unwrap().0;
    // As it is, aged; then filled, and written at random. New is as it is.
    let found: Vec<_> = heard.iter().map(days_and_rounds).collect();
    assert_eq!(found, [(0, 0), (5, 30), (0, 0), (0, 30)]);
    assert!(stored(1) > stored(0), "days of use need room");
    assert!([2, 3].map(stored).iter().all(|span| *span == stored(1)), "the same is stored");
    let years = forecast.steps[0].years.as_ref().unwrap();
    assert_eq!(years.new, forecast.before);
    let causes: Vec<Cause> = years.causes.iter().map(|cause| cause.cause).collect();
    let all = [Cause::Fill, Cause::Map, Cause::Deleted, Cause::Fragmentation, Cause::Wear];
    assert_eq!(causes, all);
    assert_eq!(years.causes[3].figures.as_ref(), Ok(forecast.after()));
    assert_eq!(years.causes[4].figures, Err(Absence::Included), "of five days none is left out");
    let text = draw::forecast(&forecast, Style::PLAIN);
    assert!(text.contains("blocks are worn: in the days above"), "{text}");
}

#[test]
fn wear_is_what_takes_longer_than_a_second_simulation_without_the_cycles_of_the_days_left_out() {
    let simulator = lives(0.1);
    let changes = parse("full=50%,age=60d").unwrap();
    let start = Situation::new(&wearing(), "ext4").unwrap();
    let forecast = predict(&start, &changes, &[], &simulator, &PredictOptions::default()).unwrap();
    let years = forecast.steps[1].years.as_ref().unwrap();
    let rate =
        |index: usize| years.causes[index].figures.as_ref().unwrap().durable().unwrap().per_second;
    assert_eq!(years.causes[4].figures.as_ref(), Ok(forecast.after()));
    assert!((rate(3) / rate(4) - 2.0).abs() < 1e-9, "{} and {}", rate(3), rate(4));
    assert_eq!(rate(2), rate(3), "the same device");
    let lived = forecast.after().lived.as_ref().unwrap();
    // 3 of 3000 cycles on each day that was left out.
    assert_eq!(lived.cycles, Some(3 * (60 - lived.simulated as u32)), "{lived:?}");
    assert_eq!(
        simulator.simulations.load(Ordering::Relaxed),
        5,
        "full, aged, and that without wear; two plausible ones that are full"
    );
}

#[test]
fn wear_that_nobody_would_notice_is_not_simulated_apart() {
    // 60 days take 0.6 % of the life: three retries at its end make reads 0.05 % longer by then.
    let simulator = lives(0.01);
    let changes = parse("full=50%,age=60d").unwrap();
    let start = Situation::new(&wearing(), "ext4").unwrap();
    let forecast = predict(&start, &changes, &[], &simulator, &PredictOptions::default()).unwrap();
    assert_eq!(simulator.simulations.load(Ordering::Relaxed), 4, "full, two like it, and aged");
    let years = forecast.steps[1].years.as_ref().unwrap();
    let tests = |index: usize| years.causes[index].figures.as_ref().unwrap().tests.clone();
    assert_eq!(tests(4), forecast.after().tests);
    assert_eq!(tests(3), tests(4));
    assert_eq!(forecast.after().lived.as_ref().unwrap().cycles, Some(14), "of 47 days");
}

/// A device that is worn out by the days that were left out.
struct WornOut(Daily);

impl Simulator for WornOut {
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        self.0.simulate(simulation)
    }

    fn simulate_repeats(
        &self,
        simulation: &Simulation<'_>,
        stretches: &[Stretch],
        follow: &mut dyn FnMut(&Run, usize, usize) -> After,
    ) -> Result<(Run, Vec<usize>), SimulationError> {
        let mut worn = 0;
        let lived = self.0.simulate_repeats(simulation, stretches, &mut |run, which, count| {
            let after = follow(run, which, count);
            if let After::End { cycles } = after {
                worn += cycles;
            }
            after
        });
        if worn > 0 { Err(SimulationError::refused("no good blocks are left")) } else { lived }
    }
}

#[test]
fn a_device_that_those_days_wear_out_is_forecast_without_their_wear() {
    let simulator = WornOut(lives(3.0));
    let start = Situation::new(&wearing(), "ext4").unwrap();
    let changes = parse("full=50%,age=60d").unwrap();
    let forecast = predict(&start, &changes, &[], &simulator, &PredictOptions::default()).unwrap();
    let lived = forecast.after().lived.clone().unwrap();
    assert!(lived.cycles.is_none() && lived.life_used.unwrap() > 1.0, "{lived:?}");
}

#[test]
fn a_stage_that_is_full_already_is_no_simulation_of_its_own() {
    let (forecast, heard) = forecast(&profile(), "full=90%,age=5d");
    // As it is, full, aged; and filled without a write at random. The profile does not wear. For the full
    // device also only filled, and the slowest and the quickest plausible one.
    assert_eq!(heard.len(), 4 + 3);
    let years = forecast.steps[1].years.as_ref().unwrap();
    let figures =
        |cause: Cause| years.causes.iter().find(|one| one.cause == cause).unwrap().figures.clone();
    assert_eq!(figures(Cause::Map).as_ref(), Ok(&forecast.steps[0].after));
    assert_eq!(figures(Cause::Deleted).as_ref(), Ok(forecast.after()));
    assert_eq!(figures(Cause::Fragmentation), figures(Cause::Deleted));
    assert_eq!(figures(Cause::Wear), Err(Absence::NotModelled), "this profile has no retries");
    assert!(forecast.steps[0].years.is_none(), "a full device is no older");
    let text = draw::forecast(&forecast, Style::PLAIN);
    assert!(text.contains("not in the model: blocks are worn"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_file_that_grew_is_overwritten_like_what_is_stored_and_read_by_itself_where_it_has_room() {
    let (forecast, heard) = forecast(&profile(), "full=90%,age=5d");
    let aged = &heard[2];
    let (write, read) = (io(aged, "write_grown").unwrap(), io(aged, "read_grown").unwrap());
    assert!(write.grown && read.grown && write.span == read.span);
    let span = read.span.unwrap().0.0;
    assert_eq!(write.bytes.unwrap().0.0, 2 * span);
    let room = profile().model().unwrap().map.capacity.0.0;
    assert!(4 * span <= room / 10, "{span} beside 90 % of {room}");
    // A file that lies in one piece has the same size and the same past.
    let (over, whole) = (io(aged, "write_file").unwrap(), io(aged, "read_file").unwrap());
    assert_eq!((over.span, over.bytes, over.durable), (write.span, write.bytes, write.durable));
    assert_eq!((whole.span, whole.bytes, whole.block), (read.span, read.bytes, read.block));
    assert!(!over.grown && !whole.grown);
    let new = &heard[0];
    assert!(io(new, "read_file").is_some() && io(new, "write_file").is_none(), "as it was written");
    assert!(io(new, "read_grown").is_none() && io(&heard[1], "read_grown").is_none());
    let years = forecast.steps[1].years.as_ref().unwrap();
    let reads = |index: usize| years.causes[index].reads_of_file().unwrap().name.clone();
    assert_eq!([0, 1, 2, 3].map(reads), ["read_file", "read_file", "read_file", "read_grown"]);
    // So full that no room is left for it.
    let small = profile().with("map.capacity", "128MiB").unwrap();
    let small = small.with("map.spare", "8MiB").unwrap();
    let (full, heard) = self::forecast(&small, "full=97%,age=5d");
    assert!(io(&heard[2], "read_grown").is_none());
    assert!(full.after().reads_of_grown().is_none());
}

#[test]
fn figures_of_several_seeds_are_means_with_the_lowest_and_the_highest() {
    let one = |seeds: Vec<u64>| {
        let simulator = ClosedForm { scatter: 0.1, ..ClosedForm::default() };
        let start = Situation::new(&profile(), "ext4").unwrap();
        let options = PredictOptions { seeds, ..PredictOptions::default() };
        predict(&start, &parse("full=50%").unwrap(), &[], &simulator, &options).unwrap()
    };
    let each: Vec<f64> =
        (1..=3).map(|seed| one(vec![seed]).after().durable().unwrap().per_second).collect();
    let all = one(vec![1, 2, 3]);
    let durable = all.after().durable().unwrap();
    assert!((durable.per_second - each.iter().sum::<f64>() / 3.0).abs() < 1e-6);
    let (low, high) =
        each.iter().fold((f64::MAX, 0.0f64), |(low, high), one| (low.min(*one), high.max(*one)));
    let spread = durable.seeds.unwrap();
    assert_eq!((spread.seeds, spread.per_second), (3, Range { low, high }));
    assert!(high > 1.02 * low, "seeds scatter: {each:?}");
    let farthest = (high - durable.per_second).max(durable.per_second - low) / durable.per_second;
    let text = draw::forecast(&all, Style::PLAIN);
    assert!(text.contains(&format!("±{:.0}%", 100.0 * farthest)), "{text}");
    assert!(text.contains("means of 3 seeds"), "{text}");
    assert!(one(vec![1]).after().durable().unwrap().seeds.is_none());
}

/// Storage that has no room for one more block.
struct TooFull(ClosedForm);

impl Simulator for TooFull {
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        let full =
            flashlag_device::DeviceError::os("write", "test", None, rustix::io::Errno::NOSPC);
        let status = RunStatus::Failed { next_step: 0, error: full.to_string() };
        Ok(Run { status, ..self.0.simulate(simulation)? })
    }
}

#[test]
fn a_filesystem_without_room_for_what_a_forecast_writes_is_an_error_that_says_what_to_change() {
    let start = Situation::new(&profile(), "ext4").unwrap();
    let options = PredictOptions::default();
    let full = TooFull(ClosedForm::default());
    let refused =
        |start: &Situation| predict(start, &[], &[], &full, &options).unwrap_err().to_string();
    let filled = start.with(&parse("full=90%").unwrap()[0]).unwrap();
    assert!(refused(&filled).contains("take a lower full="), "{}", refused(&filled));
    assert!(refused(&start).contains("No space left"), "{}", refused(&start));
}

#[test]
fn causes_are_left_out_with_their_simulations_where_nobody_asks_for_them() {
    let listener = Listener::default();
    let start = Situation::new(&profile(), "ext4").unwrap();
    let options = PredictOptions { causes: false, ..PredictOptions::default() };
    let changes = parse("full=90%,age=5d").unwrap();
    let forecast = predict(&start, &changes, &[], &listener, &options).unwrap();
    assert_eq!(listener.heard.into_inner().unwrap().len(), 3, "as it is, full, aged");
    assert!(forecast.steps.iter().all(|step| step.years.is_none()));
}
