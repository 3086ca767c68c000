//! Use before the tests: days over months, then writes over all stored data; both are simulated
//! until they no longer change.

use flashlag_schema::{Phase, Run};
use flashlag_spec::scenario::{After, Scenario, Stretch};
use flashlag_units::Bytes;

use super::plan::ROUNDS_A_DAY;
use super::scenario::{LEAVE, is_of_a_day, is_settling, stretches};
use super::situation::Situation;
use crate::{Simulation, SimulationError, Simulator};

/// Days in a window, which is compared with the previous window: whole cycles of the plan's three
/// days.
pub const WINDOW: usize = 6;
/// Rounds of writes in a window.
pub(super) const ROUNDS: usize = 5;
/// A smaller relative change from one window to the next counts as none.
pub const STEADY: f64 = 0.02;
/// A larger change counts even if rounds scatter as much.
const UNSTEADY: f64 = 0.1;

/// The simulated days of use, and the extrapolated ones.
#[derive(Clone, Debug, PartialEq)]
pub struct DaysOfUse {
    pub simulated: u64,
    /// Number of requested days.
    pub asked: u64,
    /// The relative change, from the last window but one to the last, of the time of writes or of
    /// the bytes the flash programmed, whichever is larger; `None` for too few days.
    pub changing: Option<f64>,
    /// Program/erase cycles added to each block for the days that were not simulated; `None` if
    /// there were none, or if wear changes nothing or wears blocks out.
    pub cycles: Option<u32>,
    /// The share of the rated cycles used up at the end of all days.
    pub life_used: Option<f64>,
    /// The share of the rated cycles used up at the end of the simulated days.
    pub life_simulated: Option<f64>,
}

impl DaysOfUse {
    /// Whether days were left out.
    pub fn extrapolated(&self) -> bool {
        self.simulated < self.asked
    }

    /// By what share the wear of the days that were not simulated makes reads longer: retries grow
    /// with the square of the cycles, up to `retries` at the rated number.
    fn slower(&self, retries: f64) -> f64 {
        let at = |used: Option<f64>| used.unwrap_or_default().min(1.0).powi(2);
        retries * (at(self.life_used) - at(self.life_simulated))
    }
}

/// The writes over all stored data before the tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settling {
    pub written: Bytes,
    /// The relative change, from the last window but one to the last, of the time of writes or of
    /// the bytes the flash programmed, whichever is larger; `None` for too few rounds.
    pub changing: Option<f64>,
    /// Whether the last two windows agree.
    pub steady: bool,
}

/// The use of a device before its tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Use {
    pub days: Option<DaysOfUse>,
    pub settling: Option<Settling>,
    /// The tests without the wear of the days that were not simulated; `None` if there were none,
    /// if that wear changes nothing, or if it was not requested.
    pub unworn: Option<Unworn>,
}

/// The tests of a device without the wear of the days that were not simulated.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Unworn {
    /// The same as those of the worn device: its reads are longer by less than [`UNNOTICED`].
    Alike,
    /// The tests of a separate simulation.
    Run(Box<Run>),
}

/// Wear that makes reads longer by a smaller share is not simulated separately: a thousandth of one
/// part of a request is less than the scatter of seeds.
const UNNOTICED: f64 = 0.001;

/// Simulates a plan's use until it no longer changes, then the tests on blocks that have the wear
/// of the days that were not simulated. With `causes`, also simulates the tests without that wear.
pub(super) fn live(
    situation: &Situation,
    scenario: &Scenario,
    seed: u64,
    causes: bool,
    simulator: &dyn Simulator,
) -> Result<(Run, Use), SimulationError> {
    let profile = &situation.profile;
    let (days, rounds) = stretches(&situation.plan, scenario);
    let wear = profile.model()?.wear;
    let asked = days.as_ref().map(|days| days.begin.len());
    let mount = &situation.mount;
    let life = Life {
        simulation: Simulation { profile, mount, scenario, seed, leave: Some(LEAVE) },
        stretches: days.into_iter().chain(rounds).collect(),
        asked,
        rated: wear.endurance.filter(|_| wear.retries > 0.0),
        worn: (f64::from(wear.endurance.unwrap_or_default()) * situation.plan.worn) as u32,
    };
    let (run, mut used) = match life.simulate(simulator, None, true) {
        // The blocks would be worn out by then: the device is measured without the wear of those
        // days.
        Err(SimulationError::Refused { .. }) if life.rated.is_some() && asked.is_some() => {
            life.simulate(simulator, None, false)?
        }
        simulated => simulated?,
    };
    let worn = used.days.as_ref().filter(|lived| causes && lived.cycles.is_some());
    if let Some(lived) = worn {
        used.unworn = Some(if lived.slower(wear.retries) < UNNOTICED {
            Unworn::Alike
        } else {
            let days = Some(lived.simulated as usize);
            Unworn::Run(Box::new(life.simulate(simulator, days, false)?.0))
        });
    }
    Ok((run, used))
}

/// A plan's use and its tests.
struct Life<'a> {
    simulation: Simulation<'a>,
    stretches: Vec<Stretch>,
    /// Number of requested days; `None` for a device that is not aged.
    asked: Option<usize>,
    /// Rated cycles, if wear changes the device.
    rated: Option<u32>,
    /// Cycles that all blocks have at the start of the plan.
    worn: u32,
}

impl Life<'_> {
    /// Simulates `days` days, by default until they no longer change. With `wears`, blocks then get
    /// the cycles of the days that were not simulated.
    fn simulate(
        &self,
        simulator: &dyn Simulator,
        days: Option<usize>,
        wears: bool,
    ) -> Result<(Run, Use), SimulationError> {
        let mut watch = Watch::of(&self.stretches, self.asked.is_some());
        let rated = self.rated.filter(|_| wears);
        let (run, counts) = simulator.simulate_repeats(
            &self.simulation,
            &self.stretches,
            &mut |run, which, count| {
                let enough = watch.enough(run, which);
                if which == watch.settles {
                    let all = self.stretches.last().is_some_and(|all| count >= all.begin.len());
                    let ends = enough || all;
                    return if ends { After::End { cycles: self.worn } } else { After::Next };
                }
                if !days.map_or(enough, |days| count >= days) {
                    return After::Next;
                }
                let lived = self.lived(&watch, count, rated);
                After::End { cycles: lived.and_then(|lived| lived.cycles).unwrap_or_default() }
            },
        )?;
        let simulated = counts.first().copied().unwrap_or_default();
        let (settling, days) = (watch.settling(&run), self.lived(&watch, simulated, rated));
        Ok((run, Use { days, settling, unworn: None }))
    }

    /// The days of use after `simulated` of them; `None` for a device that is not aged.
    fn lived(&self, watch: &Watch, simulated: usize, rated: Option<u32>) -> Option<DaysOfUse> {
        let asked = self.asked?;
        let left_out = asked.saturating_sub(simulated);
        let wear = watch.days.wear();
        let worn = rated.zip(wear).filter(|_| left_out > 0);
        Some(DaysOfUse {
            simulated: simulated as u64,
            asked: asked as u64,
            changing: watch.days.changing(),
            cycles: worn.map(|(rated, wear)| wear.cycles(rated, left_out)),
            life_used: wear.map(|wear| wear.used + wear.daily * left_out as f64),
            life_simulated: wear.map(|wear| wear.used),
        })
    }
}

/// The days and the rounds so far.
struct Watch {
    days: Log,
    rounds: Log,
    /// Index of the stretch of rounds.
    settles: usize,
}

impl Watch {
    fn of(stretches: &[Stretch], aged: bool) -> Watch {
        let settles = stretches.len().min(usize::from(aged));
        Watch {
            days: Log::new(WINDOW, is_of_a_day),
            rounds: Log::new(ROUNDS, is_settling),
            settles,
        }
    }

    fn enough(&mut self, run: &Run, which: usize) -> bool {
        if which != self.settles {
            self.days.add(run);
            return self.days.changing().is_some_and(|change| change.abs() < STEADY);
        }
        self.rounds.add(run);
        self.rounds.parts.len() >= ROUNDS_A_DAY as usize && self.rounds.is_steady()
    }

    fn settling(&mut self, run: &Run) -> Option<Settling> {
        // The simulator does not call this if it simulates every part.
        if self.rounds.parts.is_empty() {
            for phase in run.phases.iter().filter(|phase| is_settling(phase)) {
                self.rounds.parts.push(Part::of(std::iter::once(phase)));
            }
        }
        let rounds = run.phases.iter().filter(|phase| is_settling(phase));
        let written = rounds.fold(Bytes::ZERO, |sum, phase| sum.plus(phase.bytes));
        (written > Bytes::ZERO).then(|| Settling {
            written,
            changing: self.rounds.changing(),
            steady: self.rounds.is_steady(),
        })
    }
}

/// The writes of a day, or of a round.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    seconds: f64,
    sent: f64,
    programmed: f64,
}

impl Part {
    fn of<'a>(phases: impl Iterator<Item = &'a Phase>) -> Part {
        let bytes = |reading: &flashlag_spec::Reading<Bytes>| {
            reading.value().map_or(0.0, |bytes| bytes.0 as f64)
        };
        phases.fold(Part::default(), |part, phase| Part {
            seconds: part.seconds + phase.elapsed_ns.as_secs_f64(),
            sent: part.sent + bytes(&phase.ledger.block_bytes),
            programmed: part.programmed + bytes(&phase.ledger.device_bytes),
        })
    }

    /// Seconds, and bytes programmed, for each byte sent. Not every map counts programmed bytes.
    fn costs(self) -> [f64; 2] {
        [self.seconds / self.sent, self.programmed / self.sent]
    }
}

/// Equal parts of a run, and whether they still change.
#[derive(Debug)]
struct Log {
    window: usize,
    is_of: fn(&Phase) -> bool,
    parts: Vec<Part>,
    /// The share of the rated cycles used up at the end of each part, if the device has a rating.
    used: Vec<Option<f64>>,
    /// Phases of the run that were already added.
    phases: usize,
}

/// The wear of a device after some parts of its use.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wear {
    /// The share of the rated cycles used up so far.
    used: f64,
    /// The share that one part uses up: the mean of the last window, or of all parts if there are
    /// fewer.
    daily: f64,
}

impl Wear {
    /// The cycles of each block after that many further parts.
    fn cycles(self, rated: u32, parts: usize) -> u32 {
        (self.daily * f64::from(rated) * parts as f64).round() as u32
    }
}

impl Log {
    fn new(window: usize, is_of: fn(&Phase) -> bool) -> Log {
        Log { window, is_of, parts: Vec::new(), used: Vec::new(), phases: 0 }
    }

    /// Adds the last part of a run.
    fn add(&mut self, run: &Run) {
        let new = run.phases.iter().skip(self.phases);
        self.parts.push(Part::of(new.filter(|phase| (self.is_of)(phase))));
        self.used.push(run.wear.life_percent.value().map(|percent| percent / 100.0));
        self.phases = run.phases.len();
    }

    /// The wear so far. Data that filled the device before the first part counts as used, but not
    /// as daily.
    fn wear(&self) -> Option<Wear> {
        let used = (*self.used.last()?)?;
        let parts = self.window.min(self.used.len() - 1);
        let before = self.used[self.used.len() - 1 - parts]?;
        Some(Wear { used, daily: (used - before) / parts.max(1) as f64 })
    }

    /// The last window but one, and the last.
    fn windows(&self) -> Option<(&[Part], &[Part])> {
        let before = self.parts.len().checked_sub(2 * self.window)?;
        Some(self.parts[before..].split_at(self.window))
    }

    /// The larger relative change between the last two windows: of the time of writes, or of the bytes the
    /// flash programmed.
    fn changing(&self) -> Option<f64> {
        let (was, is) = self.windows()?;
        let sum = |parts: &[Part]| {
            parts.iter().fold(Part::default(), |sum, part| Part {
                seconds: sum.seconds + part.seconds,
                sent: sum.sent + part.sent,
                programmed: sum.programmed + part.programmed,
            })
        };
        let (was, is) = (sum(was).costs(), sum(is).costs());
        let changes = was.iter().zip(is).map(|(was, is)| is / was - 1.0);
        changes
            .filter(|change| change.is_finite())
            .max_by(|one, other| one.abs().total_cmp(&other.abs()))
    }

    /// Whether the last two windows agree: their means differ by less than 2 %, or by less than two
    /// standard errors of that difference (as in Geweke, "Evaluating the accuracy of sampling-based
    /// approaches", 1992) and less than 10 %.
    fn is_steady(&self) -> bool {
        let (Some(change), Some((was, is))) = (self.changing(), self.windows()) else {
            return false;
        };
        let noise = (0..2).map(|cost| relative_error(was, is, cost)).fold(0.0, f64::max);
        change.abs() < STEADY.max(2.0 * noise).min(UNSTEADY)
    }
}

/// The standard error of the difference of two windows' means, as a share of the first.
fn relative_error(was: &[Part], is: &[Part], cost: usize) -> f64 {
    let moments = |parts: &[Part]| {
        let count = parts.len() as f64;
        let mean = parts.iter().map(|part| part.costs()[cost]).sum::<f64>() / count;
        let off = parts.iter().map(|part| (part.costs()[cost] - mean).powi(2)).sum::<f64>();
        (mean, off / (count - 1.0) / count)
    };
    let ((mean, one), (_, other)) = (moments(was), moments(is));
    let error = (one + other).sqrt() / mean;
    if error.is_finite() { error } else { 0.0 }
}
