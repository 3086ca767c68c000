//! What reviewers measured on the device that a run simulates, for each cell; only if the run
//! repeats their protocol.

use flashlag_schema::{Phase, Run};
use flashlag_spec::profile::{Profile, ProfileCheck, builtin_protocol};
use flashlag_spec::published::{Published, checked};
use flashlag_units::Bytes;

/// The published throughputs of the device of a simulated run.
pub(crate) struct PublishedBeside {
    profile: Option<Profile>,
    /// The check whose protocol the run repeats, if it repeats one.
    check: Option<ProfileCheck>,
}

impl PublishedBeside {
    pub fn of(run: &Run) -> PublishedBeside {
        let text = run.target.profile.as_ref().map(|profile| profile.text.as_str());
        let profile = text.and_then(|text| Profile::parse(text).ok());
        let checks = profile.iter().flat_map(|profile| &profile.checks);
        let repeats = |check: &&ProfileCheck| repeats(run, profile.as_ref(), check);
        let check = checks.into_iter().find(repeats).cloned();
        PublishedBeside { profile, check }
    }

    /// The figure for this phase's state, run and test; `None` if the run did not follow the
    /// protocol of that figure.
    pub fn row(&self, phase: &Phase) -> Option<&'static Published> {
        let check = self.check.as_ref()?;
        rows_of(check).find(|row| {
            let test = check.workloads.get(&row.workload).unwrap_or(&row.workload);
            *test == phase.name && check.place_of(&row.condition) == Some((phase.state, phase.run))
        })
    }

    /// Who published the figures; or, if the run repeats no protocol although there is one, how to
    /// repeat it.
    pub fn note(&self, run: &Run) -> Option<String> {
        if let Some(check) = &self.check {
            let mut sources: Vec<&str> = Vec::new();
            for row in rows_of(check) {
                if !sources.contains(&row.source.as_str()) {
                    sources.push(&row.source);
                }
            }
            return (!sources.is_empty()).then(|| {
                format!("Published: {}. The run repeats that protocol.", sources.join("; "))
            });
        }
        let profile = self.profile.as_ref()?;
        let published = profile
            .checks
            .iter()
            .any(|check| rows_of(check).any(|row| !row.is_of(flashlag_spec::State::New)));
        let built_in = flashlag_spec::profile::builtin_profile(&profile.name).is_some();
        (published && built_in && run.scenario.name == "lifecycle").then(|| {
            format!(
                "What reviewers measured on this device stands beside runs of their own protocol \
                 only: `flashlag run lifecycle --on sim:{} --set protocol=published`.",
                profile.name
            )
        })
    }
}

/// The published throughputs of a check's device.
fn rows_of(check: &ProfileCheck) -> impl Iterator<Item = &'static Published> {
    let device = check.device.clone();
    checked().iter().filter(move |row| row.device == device && row.metric == "throughput")
}

/// Whether a run did what the check's protocol does: the same steps with the same settings, on the
/// same filesystem, with as much left free.
fn repeats(run: &Run, profile: Option<&Profile>, check: &ProfileCheck) -> bool {
    let scenario = builtin_protocol(&check.scenario).and_then(|text| check.scenario_of(text).ok());
    let same_steps = scenario.is_some_and(|scenario| scenario.hash() == run.scenario.hash);
    let filesystem = check.filesystem.as_deref().or(profile.map(|it| it.filesystem.as_str()));
    let on = run.target.profile.as_ref().map(|record| record.filesystem.as_str());
    let leave: Option<Bytes> = check.leave.as_ref().and_then(|leave| leave.parse().ok());
    let same_leave = leave.is_none_or(|leave| leave == run.options.leave_bytes);
    same_steps && filesystem == on && same_leave && check.model.is_empty()
}
