//! Recomputes every figure of a run from its histograms.
//!  [`verify`] works on a parsed run; [`verify_text`] also parses it, and so also notices a changed
//! digit beyond the precision of a number (the seventeenth of a float).

mod figures;
mod mixed;
mod phase;
mod text;

use flashlag_spec::scenario::{Scenario, Test};

use crate::lag::Lag;
use crate::run::{Run, SCHEMA, TargetKind};
use crate::seal::RunFileError;
use crate::trust::Trust;

pub use figures::Discrepancy;
use figures::Figures;

/// Reads a run file and recomputes its figures; also finds a number that is spelled differently
/// from how this program writes its value.
pub fn verify_text(text: &str) -> Result<Vec<Discrepancy>, RunFileError> {
    Ok(verify_read(&Run::from_json(text)?, text))
}

/// As [`verify_text`], for a run that was read from this text already.
pub fn verify_read(run: &Run, text: &str) -> Vec<Discrepancy> {
    let mut found = verify(run);
    found.extend(text::first_changed_number(text, &run.to_json()));
    found
}

/// Recomputes every figure that follows from others: summaries, counts, rates and lag from
/// histograms, phases from intervals, the verdict from the checks, the scenario's hash from its
/// text, the checksum from everything. Empty if all are correct.
pub fn verify(run: &Run) -> Vec<Discrepancy> {
    let mut figures = Figures::default();
    figures.same("schema", &run.schema.as_str(), &SCHEMA);
    for (index, phase) in run.phases.iter().enumerate() {
        figures.within(format!("phases[{index}]"), |figures| {
            phase::verify(phase, run.target.kind, figures);
        });
    }
    mixed::verify(run, &mut figures);
    let lag = run.phases.iter().filter_map(|phase| phase.lag);
    figures.same("lag", &run.lag, &lag.fold(Lag::default(), Lag::plus));
    verify_verdict(run, &mut figures);
    verify_wear(run, &mut figures);
    verify_scenario(run, &mut figures);
    figures.same("integrity.sha256", &run.integrity.sha256, &run.checksum());
    figures.found()
}

fn verify_verdict(run: &Run, figures: &mut Figures) {
    let trust = Trust::of(run.trust.checks.clone(), run.phases.len());
    figures.same("trust.verdict", &run.trust.verdict, &trust.verdict);
}

/// A run writes at least as much to the filesystem as its phases of block writes.
fn verify_wear(run: &Run, figures: &mut Figures) {
    if run.target.kind == TargetKind::Imported {
        return;
    }
    let writes = run.phases.iter().filter(|phase| phase.operation.writes_blocks());
    let written = writes.fold(0u64, |sum, phase| sum.saturating_add(phase.bytes.0));
    figures
        .holds("wear.written_bytes", run.wear.written_bytes.0, "at least", written, |a, b| a >= b);
}

/// The hash is that of the text with the settings applied. An imported run has no scenario.
fn verify_scenario(run: &Run, figures: &mut Figures) {
    if run.target.kind == TargetKind::Imported {
        return;
    }
    let scenario = &run.scenario;
    let settings: Vec<(String, String)> = scenario.settings.clone().into_iter().collect();
    match Scenario::parse(&scenario.text, &settings) {
        Ok(mut parsed) => {
            // Private parts of a text or a setting were replaced; the hash is that of the original.
            let removed = run.shared.iter().flat_map(|shared| &shared.removed);
            let is_private = removed.into_iter().any(|field| field.starts_with("scenario."));
            if take_traces(&mut parsed, run) && !is_private {
                figures.same("scenario.hash", &scenario.hash, &parsed.hash());
            }
            figures.same("scenario.name", &scenario.name, &parsed.name);
        }
        Err(error) => figures.differs("scenario.text", "a text", format!("no scenario: {error}")),
    }
}

/// Puts the hashes of traces, which the phases have, into the tests that replay them. `false` if a
/// replay has no phase yet: then the scenario's hash can't be recomputed.
fn take_traces(scenario: &mut Scenario, run: &Run) -> bool {
    scenario.tests.values_mut().all(|test| {
        let Test::Replay(replay) = test else { return true };
        let names = replay.phase_names();
        let of_test = run.phases.iter().filter(|phase| names.contains(&phase.name));
        let mut hashes = of_test.filter_map(|phase| Some(&phase.replay.as_ref()?.trace_sha256));
        replay.sha256 = hashes.next().cloned();
        replay.sha256.is_some()
    })
}
