//! A cause with its comparison, as a finding.

use flashlag_schema::finding::{
    Cause, Effect, EffectBasis, Fact, Finding, FindingEvidence, FindingSide, SavePart, Severity,
};

use flashlag_schema::Phase;
use flashlag_spec::Reading;

use super::phases::{felt, of_phase};
use crate::candidate::Context;

/// The finding of a cause; `None` if one of its phases is not in the run.
pub(super) fn finding_of(context: &Context<'_>, cause: &Cause) -> Option<Finding> {
    let mut evidence = facts(context, &cause.sides.now, cause)?;
    if let Some(fixed) = &cause.sides.fixed {
        evidence.extend(facts(context, fixed, cause)?);
    }
    let basis = match (&cause.sides.fixed, &cause.evidence) {
        (None, _) => EffectBasis::Part { phase: cause.sides.now.phase.clone() },
        (Some(_), FindingEvidence::TwoParts { .. }) => {
            EffectBasis::Compared { now: cause.sides.now.phase.clone(), fixed: None }
        }
        (Some(fixed), _) => EffectBasis::Compared {
            now: cause.sides.now.phase.clone(),
            fixed: Some(fixed.phase.clone()),
        },
    };
    let effect = Effect {
        basis,
        per: cause.effect.per,
        now_ns: cause.effect.now.mean_ns,
        fixed_ns: cause.effect.fixed.map(|fixed| fixed.mean_ns),
        cost_s_per_1000: cause.effect.cost_s_per_1000,
    };
    Some(Finding {
        id: cause.id.finding(),
        severity: severity(context, cause),
        evidence,
        effect: Reading::Value(effect),
        action: cause.action,
        risk: Some(cause.risk),
        commands: Vec::new(),
        source: ground(&cause.evidence).to_owned(),
    })
}

/// Part of a wait below which a cause is minor.
const SMALL: f64 = 0.02;

fn severity(context: &Context<'_>, cause: &Cause) -> Severity {
    let each = cause.effect.cost_s_per_1000.value * 1e6;
    if each < SMALL * cause.effect.now.mean_ns.0 as f64 {
        Severity::Minor
    } else {
        felt(context, phase_of(context, &cause.sides.now).map(|(_, phase)| phase))
    }
}

fn phase_of<'a>(context: &Context<'a>, side: &FindingSide) -> Option<(usize, &'a Phase)> {
    let mut phases = context.run.phases.iter().enumerate();
    phases.find(|(_, phase)| phase.label() == side.phase)
}

fn facts(context: &Context<'_>, side: &FindingSide, cause: &Cause) -> Option<Vec<Fact>> {
    let (index, phase) = phase_of(context, side)?;
    let mean = match (side.part, &phase.growth) {
        (Some(SavePart::Grew), Some(growth)) => growth.grew.latency_ns.mean,
        (Some(SavePart::InPlace), Some(growth)) => growth.in_place.latency_ns.mean,
        _ => phase.response_ns.as_ref().unwrap_or(&phase.latency_ns).mean,
    };
    let mean = mean.map(|mean| mean.to_string()).unwrap_or_default();
    Some(vec![match (&cause.evidence, side.part) {
        (FindingEvidence::SchedulerCount { runnable_ns, .. }, _) => {
            of_phase(index, "time.runnable_ns", format!("{runnable_ns} a time"))
        }
        (FindingEvidence::FlushTimedApart { flush_ns, .. }, _) => {
            of_phase(index, "flush_latency_ns.mean", flush_ns.to_string())
        }
        (_, Some(SavePart::Grew)) => of_phase(index, "growth.grew.latency_ns.mean", mean),
        (_, Some(SavePart::InPlace)) => of_phase(index, "growth.in_place.latency_ns.mean", mean),
        _ if phase.response_ns.is_some() => of_phase(index, "response_ns.mean", mean),
        _ => of_phase(index, "latency_ns.mean", mean),
    }])
}

fn ground(evidence: &FindingEvidence) -> &'static str {
    match evidence {
        FindingEvidence::TwoPhases => "two tests of this run that differ in one thing",
        FindingEvidence::TwoParts { .. } => "two parts of one test's saves",
        FindingEvidence::SchedulerCount { .. } => {
            "Documentation/scheduler/sched-stats.rst: time spent waiting to run"
        }
        FindingEvidence::FlushTimedApart { .. } => "write and flush timed apart in this run",
    }
}
