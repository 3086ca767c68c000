//! Why it lags and what to change: only where this run measured both sides.

mod effect;
mod pairs;
mod within;

use flashlag_schema::{Phase, Run};

use crate::doubt::failures_of;
use crate::figures::Figures;
use crate::format;
use crate::headline::Facts;
use crate::naming::{SaveKind, stage_of, test_title};
use effect::Effect;

/// The section, costliest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// `Three fixes, costliest first: trimming saves the most`.
    pub heading: String,
    /// The findings.
    pub causes: Vec<Finding>,
    /// Measured, and not a cause.
    pub ruled_out: Vec<RuledOut>,
    /// `Costs overlap: …`, where there is more than one.
    pub overlap: Option<String>,
}

/// Which difference a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// Rollback journal against WAL.
    Journal,
    /// A file that grows against one that does not.
    Growth,
    /// Full against new.
    Full,
    /// Full against trimmed.
    Trim,
    /// Beside another writer against alone.
    Busy,
    /// Waiting for a CPU.
    Cpu,
    /// The flush's part of a durable write.
    Flush,
}

/// One cause with its fix.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// `Rollback journal`.
    pub cause: String,
    /// `switching to WAL would cut save p50 from 24 ms to 9.1 ms`.
    pub would: String,
    /// What to do: a sentence.
    pub fix: String,
    /// A command or setting to try, where there is one: `PRAGMA journal_mode=WAL;`.
    pub try_this: Option<String>,
    /// How it was measured, with n and the interval: a sentence.
    pub evidence: String,
    /// As it is now; indices of phases are in the run's order.
    pub now: FindingSide,
    /// As it would be; `None` where the fix is read off the split of one side's own waits.
    pub fixed: Option<FindingSide>,
    /// Seconds of waiting added to 1,000 operations.
    pub cost_s_per_1000: f64,
    /// Its 95 % interval.
    pub cost_interval: Option<(f64, f64)>,
    /// What is counted: `saves` or `writes`.
    pub per: &'static str,
}

impl Finding {
    /// What to do and what comes of it, in two sentences: `Open the database in WAL mode: …
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

/// Something that was measured and shown not to matter.
#[derive(Clone, Debug, PartialEq)]
pub struct RuledOut {
    /// What it is about.
    pub kind: FindingKind,
    /// A sentence with numbers.
    pub sentence: String,
}

/// A cause that costs less, in seconds per 1,000 operations, is not worth a line.
const LEAST_COST: f64 = 0.05;

/// The findings of a run.
pub fn findings(run: &Run) -> Findings {
    let facts = Facts::of(run);
    let mut found = Findings::default();
    let mut candidates = pairs::all(run, &facts);
    candidates.extend(within::all(run, &facts));
    for candidate in candidates {
        match candidate {
            // What prints as no cost at all is none.
            Candidate::Cause(finding) if finding.cost_s_per_1000 < LEAST_COST => {}
            Candidate::Cause(finding) => found.causes.push(*finding),
            Candidate::Not(ruled_out) => found.ruled_out.push(ruled_out),
        }
    }
    found.causes.sort_by(|a, b| b.cost_s_per_1000.total_cmp(&a.cost_s_per_1000));
    found.overlap = (found.causes.len() > 1)
        .then(|| "Costs overlap: fixing the first finding shrinks the others.".to_owned());
    found.heading = heading(&found);
    found
}

/// What became of a suspicion.
enum Candidate {
    Cause(Box<Finding>),
    Not(RuledOut),
}

fn heading(found: &Findings) -> String {
    let number = match found.causes.len() {
        0 if found.ruled_out.is_empty() => return String::new(),
        0 => return "No cause found among what this run measured".to_owned(),
        1 => return format!("One cause: {}", format::decapitalized(&found.causes[0].cause)),
        2 => "Two".to_owned(),
        3 => "Three".to_owned(),
        4 => "Four".to_owned(),
        more => more.to_string(),
    };
    let first = format::decapitalized(&found.causes[0].cause);
    format!("{number} causes, costliest first: {first}")
}

/// How a phase is called beside its other side: `Rollback journal, filled, run 3`.
fn side(run: &Run, phase: &Phase) -> Option<FindingSide> {
    let name = match SaveKind::of(run, phase) {
        Some(kind) => kind.label(),
        None if phase.is_durable_write() => "4 KiB durable write".to_owned(),
        None => test_title(&phase.name),
    };
    let beside = if phase.background.is_some() { ", beside another writer" } else { "" };
    Some(FindingSide {
        label: format!("{name}{beside}, {}", stage_of(run, phase).to_lowercase()),
        phase: run.phases.iter().position(|other| std::ptr::eq(other, phase))?,
        figures: Figures::of_phase(phase),
    })
}

/// `saves` or `writes`.
fn per(phase: &Phase) -> &'static str {
    match phase.operation {
        flashlag_schema::Operation::Save => "saves",
        _ => "writes",
    }
}

/// `Mean save 51 ms against 11 ms, n = 12,000 each; difference 39 s per 1,000 saves (95% …).`
fn evidence(what: &str, effect: &Effect, per: &str) -> String {
    let one = per.trim_end_matches('s');
    let sizes = match effect.n.0 == effect.n.1 {
        true => format!("n = {} each", format::count(effect.n.0)),
        false => format!("n = {} and {}", format::count(effect.n.0), format::count(effect.n.1)),
    };
    let seconds = |value: f64| signed(value);
    format!(
        "{what}: mean {one} {} against {}, {sizes}; difference {} s per 1,000 {per} \
         (95% interval {} to {}).",
        format::time(effect.means.0),
        format::time(effect.means.1),
        seconds(effect.cost),
        seconds(effect.interval.0),
        seconds(effect.interval.1),
    )
}

fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    let value = value.abs();
    match value {
        v if v < 0.995 => format!("{sign}{v:.2}"),
        v if v < 9.95 => format!("{sign}{v:.1}"),
        v => format!("{sign}{}", format::count(v.round() as u64)),
    }
}

fn trusted(run: &Run, phase: &Phase) -> bool {
    failures_of(run, phase).is_empty()
}
