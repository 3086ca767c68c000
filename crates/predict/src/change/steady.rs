//! Months of use: days are simulated until they are alike, and the rest is extrapolated.

use flashlag_schema::scenario::Scenario;
use flashlag_schema::{Phase, Run};

use super::scenario::{LEAVE, days_of, is_of_a_day};
use super::situation::Situation;
use crate::{Simulation, SimulationError, Simulator};

/// So many days are held against as many before them: whole rounds of the plan's three days.
pub const WINDOW: usize = 6;
/// A smaller change from one such window to the next is none.
pub const STEADY: f64 = 0.02;

/// How many days of use were simulated, and what that leaves out.
#[derive(Clone, Debug, PartialEq)]
pub struct Lived {
    /// One after the other.
    pub simulated: u64,
    /// The days that were asked for.
    pub asked: u64,
    /// By how much writing took longer, or the flash programmed more, in the last days than in as
    /// many before them, whichever changed more; absent where there were too few.
    pub changing: Option<f64>,
    /// Cycles that each block was given for the days that were not simulated; absent where the
    /// device can't be given any, or they would change nothing.
    pub cycles: Option<u32>,
    /// The share of its rated cycles that the device has used up at the end of all days.
    pub life_used: Option<f64>,
}

impl Lived {
    /// Whether days were left out.
    pub fn extrapolated(&self) -> bool {
        self.simulated < self.asked
    }
}

/// Simulates a plan's days until they are alike, and what is measured after them. Where wear
/// changes what a device does, it is simulated again, with the days that were left out behind it.
///
/// # Errors
/// As the simulator's.
pub(super) fn live(
    situation: &Situation,
    scenario: &Scenario,
    seed: u64,
    simulator: &mut dyn Simulator,
) -> Result<(Run, Lived), SimulationError> {
    let mut days = days_of(scenario);
    let mut seen = Seen::default();
    let profile = &situation.profile;
    let filesystem = situation.mount.to_string();
    let simulation =
        Simulation { profile, filesystem: &filesystem, scenario, seed, leave: Some(LEAVE) };
    let (run, simulated) =
        simulator.simulate_days(&simulation, &days, &mut |run, _| seen.enough(run))?;
    let asked = situation.plan.days();
    let left_out = asked.saturating_sub(simulated as u64);
    let used = run.wear.life_percent.value().map(|percent| percent / 100.0);
    let life_used = used.map(|used| used * asked as f64 / simulated.max(1) as f64);
    let mut lived = Lived {
        simulated: simulated as u64,
        asked,
        changing: seen.changing(),
        cycles: None,
        life_used,
    };
    let wear = profile.model()?.wear;
    let rated = wear.endurance.filter(|_| left_out > 0 && wear.retries > 0.0);
    let Some((rated, used)) = rated.zip(used) else { return Ok((run, lived)) };
    let daily = used * f64::from(rated) / simulated.max(1) as f64;
    days.cycles = (daily * left_out as f64).round() as u32;
    if days.cycles == 0 {
        return Ok((run, lived));
    }
    let mut again = Seen::default();
    let mut as_many = |run: &Run, count: usize| {
        again.enough(run);
        count >= simulated
    };
    match simulator.simulate_days(&simulation, &days, &mut as_many) {
        Ok((worn, _)) => {
            lived.cycles = Some(days.cycles);
            lived.changing = again.changing();
            Ok((worn, lived))
        }
        // A map that can't be given a past: what was simulated stands, and says so.
        Err(_) => Ok((run, lived)),
    }
}

/// What writing on a day came to.
#[derive(Clone, Copy, Debug, Default)]
struct Day {
    seconds: f64,
    sent: f64,
    programmed: f64,
}

/// The days that were seen so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    days: Vec<Day>,
    phases: usize,
}

impl Seen {
    /// Takes the day that has ended; whether those that follow can be taken to be like it.
    pub fn enough(&mut self, run: &Run) -> bool {
        let mut day = Day::default();
        for phase in run.phases.iter().skip(self.phases).filter(|phase| is_of_a_day(phase)) {
            day.add(phase);
        }
        self.phases = run.phases.len();
        self.days.push(day);
        self.changing().is_some_and(|change| change.abs() < STEADY)
    }

    /// The change from one window to the next that is the larger one: in what writing took, or in
    /// what the flash programmed.
    pub fn changing(&self) -> Option<f64> {
        let before = self.days.len().checked_sub(2 * WINDOW)?;
        let sum = |days: &[Day]| {
            days.iter().fold(Day::default(), |sum, day| Day {
                seconds: sum.seconds + day.seconds,
                sent: sum.sent + day.sent,
                programmed: sum.programmed + day.programmed,
            })
        };
        let (was, is) = (sum(&self.days[before..][..WINDOW]), sum(&self.days[before + WINDOW..]));
        let ratio =
            |of: &dyn Fn(&Day) -> f64| Some(of(&is) / of(&was) - 1.0).filter(|one| one.is_finite());
        let changes = [
            ratio(&|day| day.seconds / day.sent),
            // Not every map counts what it programs.
            ratio(&|day| day.programmed / day.sent),
        ];
        changes.into_iter().flatten().max_by(|one, other| one.abs().total_cmp(&other.abs()))
    }
}

impl Day {
    fn add(&mut self, phase: &Phase) {
        let bytes = |reading: &flashlag_schema::Reading<flashlag_units::Bytes>| {
            reading.value().map_or(0.0, |bytes| bytes.0 as f64)
        };
        self.seconds += phase.elapsed_ns.as_secs_f64();
        self.sent += bytes(&phase.ledger.block_bytes);
        self.programmed += bytes(&phase.ledger.device_bytes);
    }
}
