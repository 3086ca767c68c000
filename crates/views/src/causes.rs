//! Causes of stalls in words, and how they are known.

use flashlag_schema::{CauseBasis, Phase, StallCause, StallRecord};
use flashlag_spec::Operation;

use crate::format;

/// The name of a cause in any phase: `storage`, `waiting for a CPU`, …
pub fn cause_name(cause: StallCause) -> &'static str {
    match cause {
        StallCause::Storage => "storage",
        StallCause::Cpu => "waiting for a CPU",
        StallCause::Executing => "on the CPU",
        StallCause::Stopped => "the program was stopped",
        StallCause::Mixed => "several causes",
        StallCause::Unknown => "cause unknown",
        StallCause::FilesystemCommit => "filesystem commit",
        StallCause::Checkpoint => "checkpoint",
        StallCause::Cleaning => "filesystem cleaning",
        StallCause::Discard => "discard",
        StallCause::OtherIo => "another process's I/O",
        StallCause::GarbageCollection => "garbage collection",
        StallCause::WearLevelling => "wear levelling",
        StallCause::WriteCacheFull => "write cache full",
        StallCause::WakeUp => "waking up",
        StallCause::Throttling => "throttling",
        StallCause::DevicePeriod => "the device's own period",
        StallCause::GroupLimit => "a limit of a control group",
    }
}

/// The cause of the time that a replayed transaction spends between its calls, as the trace did.
pub(crate) const PAUSES: &str = "the trace's own pauses";

/// The name of a cause within a phase. Between the calls of a replayed transaction the app of the trace did
/// something else, which the replay only waits for.
pub fn cause_name_in(phase: &Phase, cause: StallCause) -> &'static str {
    let is_transaction = phase.replay.is_some() && phase.operation == Operation::Save;
    match cause {
        StallCause::Executing if is_transaction => PAUSES,
        _ => cause_name(cause),
    }
}

/// How the causes of a phase's stalls are known, if not from the scheduler's account alone.
pub fn basis_in_words(phase: &Phase) -> Option<&'static str> {
    let of = |basis: CauseBasis| phase.stalls.iter().any(|stall| stall.cause_basis == basis);
    match (of(CauseBasis::Reported), of(CauseBasis::Inferred), of(CauseBasis::Modelled)) {
        (true, true, _) => Some("reported by the device or inferred from counters"),
        (true, false, _) => Some("reported by the device"),
        (false, true, _) => Some("inferred from counters"),
        (false, false, true) => Some("as modelled"),
        (false, false, false) => None,
    }
}

/// How a cause is known: `measured by the scheduler`, `inferred from counters`, …
fn basis_name(basis: CauseBasis) -> &'static str {
    match basis {
        CauseBasis::Measured => "measured by the scheduler",
        CauseBasis::Modelled => "as modelled",
        CauseBasis::Reported => "reported by the device",
        CauseBasis::Inferred => "inferred from counters",
    }
}

/// Counts the listed stalls of a phase with a known cause, by how it is known.
pub(crate) fn bases(phase: &Phase) -> Vec<(CauseBasis, usize)> {
    let known = |stall: &&StallRecord| stall.cause != StallCause::Unknown;
    let count = |basis: CauseBasis| {
        phase.stalls.iter().filter(known).filter(|stall| stall.cause_basis == basis).count()
    };
    let all = BASES.map(|basis| (basis, count(basis)));
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

const BASES: [CauseBasis; 4] =
    [CauseBasis::Modelled, CauseBasis::Reported, CauseBasis::Inferred, CauseBasis::Measured];

/// Says how causes are known, given the number of stalls for each basis: `as modelled`, or with a
/// number each where they differ.
pub(crate) fn known(all: &[(CauseBasis, usize)]) -> Option<String> {
    let of = |basis: CauseBasis| -> usize {
        all.iter().filter(|(one, _)| *one == basis).map(|(_, count)| count).sum()
    };
    let known = BASES.map(|basis| (basis, of(basis)));
    let known: Vec<_> = known.into_iter().filter(|(_, count)| *count > 0).collect();
    match known.as_slice() {
        [] => None,
        [(only, _)] => Some(basis_name(*only).to_owned()),
        several => {
            let words = several.iter().map(|(basis, stalls)| {
                format!("{} {}", format::count(*stalls as u64), basis_name(*basis))
            });
            Some(words.collect::<Vec<_>>().join(", "))
        }
    }
}
