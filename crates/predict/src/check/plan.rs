//! The simulations of a check, which are independent of one another: each protocol of a profile with each
//! seed, and with each moved parameter.

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;

use super::protocol::{CheckOptions, Pair, Protocol, protocols, run_pair};
use super::report::CheckReport;
use super::sensitivity::{Moved, moved, moves};
use super::{cells, judge, order, parameters};
use crate::{PredictError, Simulator};

/// A check of one profile.
pub(super) struct Plan<'a> {
    profile: &'a Profile,
    protocols: Vec<Protocol<'a>>,
    seeds: &'a [u64],
    moved: Vec<Moved>,
}

/// The simulations of one protocol with one seed.
pub(super) struct Job<'a> {
    profile: &'a Profile,
    protocol: &'a Protocol<'a>,
    seed: u64,
}

impl Job<'_> {
    pub fn run(&self, simulator: &dyn Simulator) -> Result<Pair, PredictError> {
        run_pair(self.profile, self.protocol, self.seed, simulator)
    }
}

impl<'a> Plan<'a> {
    pub fn new(
        profile: &'a Profile,
        scenario_text: &dyn Fn(&str) -> Option<String>,
        options: &'a CheckOptions,
    ) -> Result<Plan<'a>, PredictError> {
        let protocols = protocols(profile, scenario_text)?;
        let moves = options.sensitivity && !options.seeds.is_empty();
        let moved = if moves { moved(profile) } else { Vec::new() };
        Ok(Plan { profile, protocols, seeds: &options.seeds, moved })
    }

    /// Number of jobs with the unchanged profile; they come first.
    pub fn unmoved(&self) -> usize {
        self.protocols.len() * self.seeds.len()
    }

    pub fn jobs(&self) -> Vec<Job<'_>> {
        let mut jobs = Vec::new();
        for protocol in &self.protocols {
            let seeds = self.seeds.iter();
            jobs.extend(seeds.map(|&seed| Job { profile: self.profile, protocol, seed }));
        }
        let seed = self.seeds.first().copied().unwrap_or_default();
        for profile in self.moved.iter().filter_map(|one| one.profile.as_ref().ok()) {
            let protocols = self.protocols.iter();
            jobs.extend(protocols.map(|protocol| Job { profile, protocol, seed }));
        }
        jobs
    }

    /// The report from the results of all jobs, in their order.
    pub fn report(
        &self,
        results: Vec<Result<Pair, PredictError>>,
        published: &[Published],
    ) -> Result<CheckReport, PredictError> {
        let mut results = results.into_iter();
        let unmoved = results.by_ref().take(self.unmoved());
        let pairs = unmoved.collect::<Result<Vec<Pair>, PredictError>>()?;
        let (mut cells, mut first) = (Vec::new(), Vec::new());
        for (index, protocol) in self.protocols.iter().enumerate() {
            let count = self.seeds.len();
            let pairs = pairs.get(index * count..(index + 1) * count).unwrap_or_default();
            cells.extend(cells::cells(self.profile, protocol, published, pairs));
            first.extend(pairs.first());
        }
        judge::judge(&mut cells);
        let fitted = parameters::fitted(self.profile);
        Ok(CheckReport {
            profile: self.profile.name.clone(),
            about: self.profile.about.clone(),
            seeds: self.seeds.to_vec(),
            inversions: order::inversions(&cells),
            overfitting: parameters::overfitting(&fitted, &cells),
            fitted,
            cells,
            sensitivity: moves(&self.moved, &self.protocols, &first, published, results),
            assumptions: self.assumptions(),
        })
    }

    fn assumptions(&self) -> Vec<String> {
        let mut assumptions = self.profile.assumptions.clone();
        for protocol in &self.protocols {
            for assumption in &protocol.scenario.assumptions {
                if !assumptions.contains(assumption) {
                    assumptions.push(assumption.clone());
                }
            }
        }
        assumptions
    }
}
