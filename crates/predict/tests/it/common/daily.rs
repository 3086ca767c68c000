//! A simulator of days of use in closed form.

use std::sync::atomic::{AtomicUsize, Ordering};

use flashlag_predict::{Simulation, SimulationError, Simulator};
use flashlag_schema::{Phase, Run};
use flashlag_spec::Reading;
use flashlag_spec::scenario::{After, Stretch};

use super::ClosedForm;

/// Simulates as many days, and rounds of writes, as are asked for, all alike but in their times: each takes
/// longer than the one before, by less and less.
pub struct Daily {
    pub inner: ClosedForm,
    /// By how much the first day is quicker than those far off.
    pub quicker: f64,
    /// What is left of that from part to part.
    pub nearer: f64,
    /// The share of the rated cycles that a day takes, in percent.
    pub wear: f64,
    /// How many times as slow the tests are after blocks were given cycles.
    pub worn: f64,
    /// Number of simulations with days or rounds.
    pub simulations: AtomicUsize,
}

impl Default for Daily {
    fn default() -> Daily {
        let simulations = AtomicUsize::new(0);
        let inner = ClosedForm::default();
        Daily { inner, quicker: 0.0, nearer: 0.8, wear: 0.1, worn: 1.0, simulations }
    }
}

impl Simulator for Daily {
    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        self.inner.simulate(simulation)
    }

    fn simulate_repeats(
        &self,
        simulation: &Simulation<'_>,
        stretches: &[Stretch],
        follow: &mut dyn FnMut(&Run, usize, usize) -> After,
    ) -> Result<(Run, Vec<usize>), SimulationError> {
        self.simulations.fetch_add(1, Ordering::Relaxed);
        let whole = self.simulate(simulation)?;
        let mut so_far = Run { phases: Vec::new(), ..whole.clone() };
        let (mut counts, mut added) = (Vec::new(), 0);
        for (which, stretch) in stretches.iter().enumerate() {
            let last = which + 1 == stretches.len();
            let name = if last { "settle" } else { "day_" };
            let phases: Vec<_> =
                whole.phases.iter().filter(|phase| phase.name.starts_with(name)).collect();
            let phases = &phases[..phases.len() / stretch.begin.len()];
            counts.push(0);
            for part in 0..stretch.begin.len() {
                let factor = 1.0 - self.quicker * self.nearer.powi(part as i32);
                so_far.phases.extend(phases.iter().map(|phase| {
                    let mut phase = Phase::clone(phase);
                    phase.elapsed_ns.0 = (phase.elapsed_ns.0 as f64 * factor) as u64;
                    phase
                }));
                counts[which] = part + 1;
                // Filling took 2 % of the rated cycles, a round of writes takes 1 %.
                let days = counts[0] as f64;
                let rounds = if last && which > 0 { counts[which] as f64 } else { 0.0 };
                so_far.wear.life_percent = Reading::Value(2.0 + self.wear * days + rounds);
                if let After::End { cycles } = follow(&so_far, which, part + 1) {
                    added += cycles;
                    break;
                }
            }
        }
        let prepares = ["settle", "day_", "lay_out"];
        let measured = |phase: &&Phase| !prepares.iter().any(|name| phase.name.starts_with(name));
        let slower = if added > 0 { self.worn } else { 1.0 };
        so_far.phases.extend(whole.phases.iter().filter(measured).cloned().map(|mut phase| {
            phase.ops_per_sec /= slower;
            phase
        }));
        Ok((so_far, counts))
    }
}
