//! The two halves of a mixed test, against each other.

use flashlag_spec::Operation;

use super::figures::Figures;
use crate::phase::Phase;
use crate::run::Run;

/// Both halves exist, with the same times and settings, and the share of reads is as it should be.
pub(super) fn verify(run: &Run, figures: &mut Figures) {
    for (index, phase) in run.phases.iter().enumerate().filter(|(_, one)| one.mixed.is_some()) {
        figures.within(format!("phases[{index}]"), |figures| {
            let Some(other) = other_half(run, phase) else {
                let name = phase.background.as_deref().unwrap_or("none");
                figures.differs("mixed", "a half", format!("no other half `{name}` in the run"));
                return;
            };
            figures.same("mixed", &phase.mixed, &other.mixed);
            figures.same("began_ns", &phase.began_ns, &other.began_ns);
            figures.same("elapsed_ns", &phase.elapsed_ns, &other.elapsed_ns);
            figures.same("block_bytes", &phase.block_bytes, &other.block_bytes);
            figures.same("queue_depth", &phase.queue_depth, &other.queue_depth);
            figures.same("threads", &phase.threads, &other.threads);
            if reads(phase) {
                verify_share(phase, other, figures);
            }
        });
    }
}

fn other_half<'a>(run: &'a Run, phase: &Phase) -> Option<&'a Phase> {
    let name = phase.background.as_deref()?;
    run.phases.iter().find(|other| {
        other.name == name
            && other.background.as_deref() == Some(phase.name.as_str())
            && (other.state, other.run) == (phase.state, phase.run)
            && reads(other) != reads(phase)
    })
}

fn reads(phase: &Phase) -> bool {
    matches!(phase.operation, Operation::SequentialRead | Operation::RandomRead)
}

/// No run deviates from its mean by eight standard deviations by chance; an operation in flight at
/// either end of the phase may be of either kind.
fn verify_share(phase: &Phase, other: &Phase, figures: &mut Figures) {
    let percent = phase.mixed.map_or(0, |mixed| mixed.read_percent);
    let share = f64::from(percent) / 100.0;
    let ops = phase.ops.saturating_add(other.ops) as f64;
    let off = (phase.ops as f64 - ops * share).abs();
    let most = 8.0 * (ops * share * (1.0 - share)).sqrt() + 2.0 * f64::from(phase.in_flight());
    if off > most {
        let stored = format!("{} of {ops} operations", phase.ops);
        figures.differs("ops", stored, format!("about {percent} in a hundred"));
    }
}
