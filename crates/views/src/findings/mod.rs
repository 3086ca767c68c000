//! The sentences of typed findings: causes of lag and their fixes.

mod words;

use flashlag_explain::{Figures, SaveKind, findings_of, restored};
use flashlag_schema::Run;
use flashlag_schema::finding::{self, CauseId, SavePart};

use crate::format;
use crate::naming::{file_save, file_save_label, save_label, stage_of, test_title};
use words::phase_of;

/// The section on causes, costliest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// `Three fixes, costliest first: trimming saves the most`.
    pub heading: String,
    /// The findings.
    pub causes: Vec<Finding>,
    /// Suspicions that were ruled out.
    pub ruled_out: Vec<RuledOut>,
    /// `Costs overlap: …`, for more than one finding.
    pub overlap: Option<String>,
}

/// One cause with its fix.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its kind.
    pub id: CauseId,
    /// `Rollback journal`.
    pub cause: String,
    /// `switching to WAL would cut save p50 from 24 ms to 9.1 ms`.
    pub would: String,
    /// What to do: a sentence.
    pub fix: String,
    /// A command or setting to try, if there is one: `PRAGMA journal_mode=WAL;`.
    pub try_this: Option<String>,
    /// How it was measured, with n and the interval: a sentence.
    pub evidence: String,
    /// The measured side; indices of phases are in the run's order.
    pub now: FindingSide,
    /// The other side; `None` if the fix follows from the split of one side's waits.
    pub fixed: Option<FindingSide>,
    /// Seconds of waiting added to 1,000 operations.
    pub cost_s_per_1000: f64,
    /// Its 95 % interval.
    pub cost_interval: Option<(f64, f64)>,
    /// The counted operations: `saves` or `writes`.
    pub per: &'static str,
}

impl Finding {
    /// The fix and its effect, in two sentences: `Open the database in WAL mode: …
    /// Switching to WAL would cut save p50 from 24 ms to 9.1 ms.`
    pub fn advice(&self) -> String {
        let would = format!("{}.", format::capitalized(&self.would));
        match self.fix.trim() {
            "" => would,
            fix => format!("{fix} {would}"),
        }
    }
}

/// One of the two measured sides.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingSide {
    /// `Rollback journal, filled run 3`.
    pub label: String,
    /// Index of its phase in the run.
    pub phase: usize,
    /// Its figures.
    pub figures: Figures,
}

/// A suspicion that the measurement refutes.
#[derive(Clone, Debug, PartialEq)]
pub struct RuledOut {
    /// Its kind.
    pub id: CauseId,
    /// A sentence with numbers.
    pub sentence: String,
}

/// The findings of a run. A finding on a phase that is not in the run is left out.
pub fn findings(run: &Run) -> Findings {
    let typed = findings_of(run);
    let causes: Vec<Finding> =
        typed.causes.iter().filter_map(|cause| finding_in_words(run, cause)).collect();
    let ruled_out: Vec<RuledOut> = typed
        .ruled_out
        .iter()
        .filter_map(|out| {
            let sentence = words::ruled_out(run, out)?;
            Some(RuledOut { id: out.id, sentence })
        })
        .collect();
    Findings {
        heading: heading(&causes, ruled_out.is_empty()),
        overlap: (causes.len() > 1)
            .then(|| "Costs overlap: fixing the first finding shrinks the others.".to_owned()),
        causes,
        ruled_out,
    }
}

fn finding_in_words(run: &Run, finding: &finding::Cause) -> Option<Finding> {
    let finding::Cause { id, sides, effect, .. } = finding;
    let fixed = match &sides.fixed {
        Some(fixed) => Some(side(run, fixed)?),
        None => None,
    };
    Some(Finding {
        id: *id,
        cause: words::cause(*id).to_owned(),
        would: words::would(finding),
        fix: words::fix(finding),
        try_this: words::try_this(run, finding.action),
        evidence: words::evidence(run, finding)?,
        now: side(run, &sides.now)?,
        fixed,
        cost_s_per_1000: effect.cost_s_per_1000.value,
        cost_interval: effect.cost_s_per_1000.interval,
        per: words::per(effect),
    })
}

fn heading(causes: &[Finding], nothing_ruled_out: bool) -> String {
    let Some(first) = causes.first() else {
        return if nothing_ruled_out {
            String::new()
        } else {
            "No cause found among what this run measured".to_owned()
        };
    };
    let first = format::decapitalized(&first.cause);
    match causes.len() {
        1 => format!("One cause: {first}"),
        more => format!("{} causes, costliest first: {first}", format::counted(more)),
    }
}

/// The name of a side beside the other: `Rollback journal, filled, run 3`.
fn side(run: &Run, side: &finding::FindingSide) -> Option<FindingSide> {
    let (index, phase) = phase_of(run, side)?;
    let name = match SaveKind::of(run, phase) {
        Some(kind) => save_label(&kind),
        None if let Some(save) = file_save(run, phase) => file_save_label(&save),
        None if phase.is_durable_write() => "4 KiB durable write".to_owned(),
        None => test_title(&phase.name),
    };
    let beside = if phase.background.is_some() { ", beside another writer" } else { "" };
    let label = format!("{name}{beside}, {}", stage_of(run, phase).to_lowercase());
    let (label, figures) = match side.part {
        None => (label, Figures::of_phase(phase)),
        Some(part) => {
            let growth = phase.growth.as_ref()?;
            let (how, stored) = match part {
                SavePart::Grew => ("growing", &growth.grew.histogram),
                SavePart::InPlace => ("in place", &growth.in_place.histogram),
            };
            (format!("{label}, {how}"), Figures::of(&restored(stored)?))
        }
    };
    Some(FindingSide { label, phase: index, figures })
}
