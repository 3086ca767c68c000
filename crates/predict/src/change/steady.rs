//! Months of use: days are simulated until they no longer change, and the rest is extrapolated.

use flashlag_schema::scenario::Scenario;
use flashlag_schema::{Phase, Run};

use super::scenario::{LEAVE, days_of, is_of_a_day};
use super::situation::Situation;
use crate::{Simulation, SimulationError, Simulator};

/// Days of a window, which is compared with the window before: whole rounds of the plan's three days.
pub const WINDOW: usize = 6;
/// A smaller relative change from one window to the next counts as none.
pub const STEADY: f64 = 0.02;

/// The simulated days of use, and the extrapolated ones.
#[derive(Clone, Debug, PartialEq)]
pub struct DaysOfUse {
    /// Number of simulated days.
    pub simulated: u64,
    /// Number of requested days.
    pub asked: u64,
    /// The relative change of the time of writes, or of the bytes the flash programmed, from the last
    /// window but one to the last, whichever changed more; `None` for fewer days.
    pub changing: Option<f64>,
    /// Program/erase cycles added to each block for the days that were left out; `None` if the device
    /// can't begin worn, or wear changes nothing.
    pub cycles: Option<u32>,
    /// The share of the rated cycles used up at the end of all days.
    pub life_used: Option<f64>,
}

impl DaysOfUse {
    /// Whether days were left out.
    pub fn extrapolated(&self) -> bool {
        self.simulated < self.asked
    }
}

/// Simulates a plan's days until they no longer change, then the tests. If wear changes the device, it
/// is simulated again with the wear of the days that were left out.
///
/// # Errors
/// As the simulator's.
pub(super) fn live(
    situation: &Situation,
    scenario: &Scenario,
    seed: u64,
    simulator: &mut dyn Simulator,
) -> Result<(Run, DaysOfUse), SimulationError> {
    let mut days = days_of(scenario);
    let mut seen = DayLog::default();
    let profile = &situation.profile;
    let mount = &situation.mount;
    let simulation = Simulation { profile, mount, scenario, seed, leave: Some(LEAVE) };
    let (run, simulated) =
        simulator.simulate_days(&simulation, &days, &mut |run, _| seen.enough(run))?;
    let asked = situation.plan.days();
    let left_out = asked.saturating_sub(simulated as u64);
    let used = run.wear.life_percent.value().map(|percent| percent / 100.0);
    let life_used = used.map(|used| used * asked as f64 / simulated.max(1) as f64);
    let mut lived = DaysOfUse {
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
    let mut again = DayLog::default();
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
        // A map that can't begin worn: the first simulation stands, and `cycles` is `None`.
        Err(_) => Ok((run, lived)),
    }
}

/// The writes of a day.
#[derive(Clone, Copy, Debug, Default)]
struct Day {
    seconds: f64,
    sent: f64,
    programmed: f64,
}

/// The days so far.
#[derive(Debug, Default)]
pub(super) struct DayLog {
    days: Vec<Day>,
    phases: usize,
}

impl DayLog {
    /// Adds the last day of a run. Returns whether the days no longer change.
    pub fn enough(&mut self, run: &Run) -> bool {
        let mut day = Day::default();
        for phase in run.phases.iter().skip(self.phases).filter(|phase| is_of_a_day(phase)) {
            day.add(phase);
        }
        self.phases = run.phases.len();
        self.days.push(day);
        self.changing().is_some_and(|change| change.abs() < STEADY)
    }

    /// The larger relative change between the last two windows: of the time of writes, or of the bytes the
    /// flash programmed.
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
            // Not every map counts programmed bytes.
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
