//! The headline: whether the device lags and how badly, and whether to believe that.

mod believe;
mod change;
mod deciding;
mod journals;
mod words;
mod worse;

use flashlag_explain::{Figures, LagVerdict, Subjects, cpu_cause, failed_for, verdict};
use flashlag_schema::{Check, CheckCause, CheckId, CheckStatus, LayerKind, Phase, Run, RunStatus};
use flashlag_spec::replay::ReplayLevel;

use crate::card::cards;
use crate::doubt::failures_of;
use crate::format::{self, capitalized, decapitalized, sentence_of};
use crate::naming::{subject_name, test_name};
use crate::outline::for_people;
use crate::standing::simulated_device;
pub(crate) use deciding::{Deciding, DecidingVerdict, TestVerdict};

pub use believe::Believe;
use flashlag_units::InOrder;
use worse::Worse;

/// The headline of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// One or two short sentences that end in a full stop.
    pub sentence: String,
    /// Sentences that qualify it; may be empty.
    pub more: String,
    /// Whether it can be believed.
    pub believe: Believe,
    /// Set if a failed check covers the deciding test: then `sentence` begins with `No verdict`.
    pub no_verdict: Option<NoVerdict>,
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoVerdict {
    /// The failed check.
    pub id: CheckId,
    /// The claim of the check.
    pub claim: String,
    /// The evidence against it.
    pub cause: String,
    /// The advice; may be empty.
    pub fix: String,
    /// The share of the waits for a CPU, if that check failed.
    pub cpu: Option<CheckCause>,
    /// The other failed checks that cover the test.
    pub others: Vec<CheckId>,
    /// Their claims.
    pub other_claims: Vec<String>,
}

impl NoVerdict {
    /// The failed check that explains it with its evidence, and the names of the others: `Failed check: ‘The bytes
    /// reached storage’. /tmp is tmpfs, held in memory. Also failed: ‘Durable writes were flushed to the flash’.`
    pub fn failed_checks(&self) -> String {
        let quoted = |claim: &String| format!("‘{}’", claim.trim_end_matches('.'));
        let others: Vec<String> = self.other_claims.iter().map(quoted).collect();
        let others = match others.as_slice() {
            [] => String::new(),
            others => format!(" Also failed: {}.", format::list(others)),
        };
        format!("Failed check: {}. {}{others}", quoted(&self.claim), sentence_of(&self.cause))
    }
}

/// The headline of a run.
pub fn headline(run: &Run) -> Headline {
    let subjects = Subjects::of(run);
    if subjects.main.is_none()
        && let Some(card) = cards(run).into_iter().next()
    {
        // How long it took has no part in what a card is.
        let more = joined([Some(card.more).filter(|more| !more.is_empty()), ending(run)]);
        let believe = Believe::of(run, false);
        return Headline { sentence: card.sentence, more, believe, no_verdict: None };
    }
    let subject = subjects.main.or_else(|| change::subject(run));
    let no_verdict = subject.and_then(|phase| no_verdict(run, phase));
    let believe = Believe::of(run, no_verdict.is_some());
    let (sentence, more) = match &no_verdict {
        Some(failure) => no_verdict_words(run, failure, subject),
        None => verdict_words(run, &subjects),
    };
    let sentence = match called(run) {
        // One colon is enough: `Simulated Nexus 5 (2013): lags; every SQLite save misses …`.
        Some(device) => {
            let said = decapitalized_words(&sentence).replacen(": ", "; ", 1);
            format!("Simulated {device}: {said}")
        }
        None => sentence,
    };
    Headline { sentence, more, believe, no_verdict }
}

/// The name of a simulated device: its label, or without one the profile's.
fn called(run: &Run) -> Option<String> {
    let device = simulated_device(run)?;
    let label = run.label.as_deref().map(str::trim).filter(|label| !label.is_empty());
    Some(label.map_or(device, str::to_owned))
}

/// A sentence as the continuation after a colon; one that begins with a name is unchanged.
fn decapitalized_words(sentence: &str) -> String {
    let first = sentence.split(' ').next().unwrap_or_default();
    let name = first.chars().skip(1).any(|letter| letter.is_uppercase() || letter.is_numeric());
    if name { sentence.to_owned() } else { decapitalized(sentence) }
}

/// The first failed check that covers the phase that the headline is about.
fn no_verdict(run: &Run, phase: &Phase) -> Option<NoVerdict> {
    let failure = failures_of(run, phase).into_iter().min_by_key(|failure| failure.id)?;
    // CPU contention explains other failures (foreign I/O, unsettled figures): it comes first.
    let cpu = failures_of(run, phase).into_iter().find(|f| f.id == CheckId::CpuContention);
    let cpu_check = failed_for(run, phase).find(|check| check.id == CheckId::CpuContention);
    // Writes that did not reach storage say nothing about it, and a limit explains why no CPU was
    // free.
    let first = [CheckId::CacheBypass, CheckId::FlushIsReal, CheckId::MachineLimits];
    let all = failures_of(run, phase);
    let leading = first.iter().find_map(|id| all.iter().find(|failure| failure.id == *id).cloned());
    let failure = leading.or(cpu).unwrap_or(failure);
    Some(NoVerdict {
        id: failure.id,
        claim: failure.claim,
        cause: for_people(run, &failure.detail),
        fix: for_people(run, &failure.advice.unwrap_or_default()),
        cpu: cpu_check.map(|check| cpu_cause(check, phase)),
        other_claims: others(run, phase, failure.id).iter().map(|id| claim(run, *id)).collect(),
        others: others(run, phase, failure.id),
    })
}

/// The failed checks that cover a phase, except that one, each once.
fn others(run: &Run, phase: &Phase, but: CheckId) -> Vec<CheckId> {
    let mut all: Vec<CheckId> = failures_of(run, phase).into_iter().map(|one| one.id).collect();
    all.order();
    all.dedup();
    all.retain(|id| *id != but);
    all
}

/// The claim of a failed check of a run.
fn claim(run: &Run, id: CheckId) -> String {
    let failed = |check: &&Check| check.id == id && check.status == CheckStatus::Fail;
    let check = run.trust.checks.iter().find(failed);
    check.map(|check| check.claim.clone()).unwrap_or_default()
}

/// A failed check as a reason for having no verdict: the first, or one more.
fn reason(run: &Run, id: CheckId, cpu: Option<CheckCause>, is_first: bool) -> String {
    let words = match id {
        CheckId::CacheBypass if is_in_memory(run) => "these files are in memory, not on storage",
        CheckId::CacheBypass => "these writes did not reach storage",
        CheckId::FlushIsReal => "these writes were not made durable",
        CheckId::MachineLimits => limit_reason(run),
        CheckId::CpuContention if cpu == Some(CheckCause::CpuAdded) => {
            "a busy CPU added to these waits"
        }
        CheckId::CpuContention => "these waits came from a busy CPU",
        CheckId::ForeignIo if is_first => "other programs used the storage",
        CheckId::ForeignIo => "other programs also used the storage",
        CheckId::ThermalThrottling => "heat slowed the device",
        CheckId::PayloadIncompressible => "the data could be compressed away",
        CheckId::Clock => "the clock can't be trusted",
        CheckId::Accounting => "the times do not add up",
        CheckId::EngineOverhead => "the measuring cost too much itself",
        CheckId::FreeSpace => "the storage was not as full as it had to be",
        CheckId::SteadyState => "the figures had not settled",
        CheckId::DataVerified => "what was read back is not what was written",
        _ => {
            let claim = claim(run, id);
            return format!("a check failed, ‘{}’", claim.trim_end_matches('.'));
        }
    };
    words.to_owned()
}

/// Whether the files lie in a filesystem that is kept in memory.
fn is_in_memory(run: &Run) -> bool {
    run.environment.layers.iter().any(|layer| layer.kind == LayerKind::Memory)
}

/// Which limit of the machine held a run back.
fn limit_reason(run: &Run) -> &'static str {
    let check = run.trust.checks.iter().find(|check| check.id == CheckId::MachineLimits);
    match check.and_then(|check| check.cause) {
        Some(CheckCause::CpuQuota) => "these waits came from a quota of CPUs",
        Some(CheckCause::MemoryLimit) => "a limit of memory slowed this run",
        _ => "these waits came from a limit on I/O",
    }
}

/// The reasons as one clause each: `these writes did not reach storage and were not made durable; heat slowed the
/// device`.
fn in_one_sentence(reasons: impl Iterator<Item = String>) -> String {
    const WRITES: &str = "these writes ";
    let mut clauses: Vec<String> = Vec::new();
    for reason in reasons {
        let predicate = reason.strip_prefix(WRITES);
        let before = clauses.last_mut().filter(|clause| clause.starts_with(WRITES));
        match (before, predicate) {
            (Some(clause), Some(predicate)) => *clause += &format!(" and {predicate}"),
            _ => clauses.push(reason),
        }
    }
    clauses.join("; ")
}

fn no_verdict_words(run: &Run, why: &NoVerdict, phase: Option<&Phase>) -> (String, String) {
    let all = std::iter::once(why.id).chain(why.others.iter().copied()).enumerate();
    let reasons = in_one_sentence(all.map(|(index, id)| reason(run, id, why.cpu, index == 0)));
    let record = phase.map(|phase| {
        let figures = Figures::of_phase(phase);
        let known = |value: Option<_>| value.map_or_else(|| format::TOO_FEW.into(), format::time);
        format!(
            "Measured, for the record only: {}, median {}, p99 {}, n = {}.",
            subject_name(run, phase),
            known(figures.p50),
            known(figures.p99),
            format::count(figures.n)
        )
    });
    (format!("No verdict: {reasons}."), joined([record, ending(run)]))
}

fn verdict_words(run: &Run, subjects: &Subjects<'_>) -> (String, String) {
    let Some(worst) = subjects.worst else { return without_waits(run) };
    let verdict = verdict(run, worst);
    let worse = Worse::than(run, worst, verdict);
    let (sentence, main) = match &worse {
        Some(worse) => with_worse(run, subjects, (worst, verdict), worse),
        None => (of_main(run, subjects, (worst, verdict)), None),
    };
    let is_said = |phase: Option<&Phase>| {
        phase.is_some_and(|phase| worse.as_ref().is_some_and(|it| std::ptr::eq(it.phase, phase)))
    };
    let journals = journals::answer(run);
    let more = [
        main,
        words::from_own_start(run, worst),
        words::once_full(run, subjects),
        journals.clone(),
        // A comparison of all modes has this one.
        words::other_journal(run, subjects)
            .filter(|_| journals.is_none() && !is_said(subjects.other_journal)),
        words::recovery(run, subjects).filter(|_| verdict != Some(LagVerdict::Smooth)),
        words::busy(run, subjects).filter(|_| !is_said(subjects.busy)),
        change::in_passing(run),
        ending(run),
    ];
    (sentence, joined(more))
}

/// The sentence where no other test has a worse verdict.
fn of_main(
    run: &Run,
    subjects: &Subjects<'_>,
    (worst, verdict): (&Phase, Option<LagVerdict>),
) -> String {
    let clause = words::late_clause(run, worst);
    let when = words::how_it_came(run, worst);
    let Some(verdict) = verdict else {
        return "Nothing to judge: the main test has no operations.".to_owned();
    };
    match subjects.new_verdict(run) {
        Some(new) if verdict == new => {
            let lead = words::in_every_state(run, worst, verdict);
            format!("{lead}. {}, {clause}.", capitalized(&when))
        }
        Some(new) => {
            format!("{}, {} {when}: {clause}.", words::when_new(run, new), verdict.name())
        }
        None if words::is_of_several_stages(run, worst) => {
            format!("{} {when}: {clause}.", capitalized(verdict.name()))
        }
        None => format!("{}: {clause}.", capitalized(verdict.name())),
    }
}

/// The sentence that names both, and one on the main test: `Smooth alone, overloaded beside another writer:
/// only …`, `Alone, none of 1,000 SQLite saves misses …`.
fn with_worse(
    run: &Run,
    subjects: &Subjects<'_>,
    (worst, verdict): (&Phase, Option<LagVerdict>),
    worse: &Worse<'_>,
) -> (String, Option<String>) {
    let bad = format!(
        "{} {}: {}.",
        worse.verdict.name(),
        worse.own,
        words::late_clause(run, worse.phase)
    );
    let Some(verdict) = verdict else { return (capitalized(&bad), None) };
    let clause = words::late_clause(run, worst);
    let when = words::how_it_came(run, worst);
    let several = words::is_of_several_stages(run, worst);
    let lead = match subjects.new_verdict(run) {
        Some(new) if verdict == new => {
            format!("{} {}", words::in_every_state(run, worst, verdict), worse.main)
        }
        Some(new) => format!("{}, {} {when}", words::when_new(run, new), verdict.name()),
        None if several => format!("{} {} {when}", capitalized(verdict.name()), worse.main),
        None => format!("{} {}", capitalized(verdict.name()), worse.main),
    };
    // What is saved is in the clause, but how is not.
    let of_clause = worse.main.starts_with("for ") && !worse.main.contains(" with");
    let main = match (several, of_clause) {
        (true, _) => format!("{} {when}, {clause}.", capitalized(&worse.main)),
        (false, true) => format!("{}.", capitalized(&clause)),
        (false, false) => format!("{}, {clause}.", capitalized(&worse.main)),
    };
    (format!("{lead}, {bad}"), Some(main))
}

/// Why there is no verdict on lag.
fn no_lag(run: &Run) -> String {
    if let Some(reason) = replay_without_saves(run) {
        return reason;
    }
    let durable = run.phases.iter().any(|phase| phase.is_durable_write() && phase.ops > 0);
    let measured = if durable {
        "Durable writes were measured only beside something else, and no save"
    } else {
        "No save and no durable write was measured"
    };
    format!("{measured}: there is no verdict on lag.")
}

/// Why a replayed trace has no verdict; `None` for a run that is no replay.
fn replay_without_saves(run: &Run) -> Option<String> {
    let replay = run.phases.iter().find_map(|phase| phase.replay.as_ref())?;
    let reason = match replay.level {
        ReplayLevel::Blocks => {
            "The trace is of block requests: it does not say which of them a save or a sync waited for"
        }
        ReplayLevel::Calls => "No SQLite transaction was recognised in the trace",
    };
    Some(format!("{reason}, so there is no verdict on lag."))
}

/// The headline without a judged test: throughput if the run measures it, otherwise changes over
/// time, otherwise the tests that were measured.
fn without_waits(run: &Run) -> (String, String) {
    if let Some(sentence) = crate::rates::sentence(run) {
        return (sentence, joined([change::in_passing(run), Some(no_lag(run)), ending(run)]));
    }
    if let Some((sentence, more)) = change::words(run) {
        let more = Some(more).filter(|more| !more.is_empty());
        return (sentence, joined([more, replay_without_saves(run), ending(run)]));
    }
    if run.phases.is_empty() {
        return ("Nothing was measured.".to_owned(), joined([ending(run)]));
    }
    let figures: Vec<String> =
        run.phases.iter().take(4).map(|phase| one_line(run, phase)).collect();
    let listed = format!("Measured: {}.", format::list(&figures));
    (no_lag(run), joined([Some(listed), ending(run)]))
}

fn one_line(run: &Run, phase: &Phase) -> String {
    let median = Figures::of_phase(phase)
        .p50
        .map_or(String::new(), |median| format!(" (median {})", format::time(median)));
    let title = test_name(run, phase);
    if phase.operation.moves_bytes() {
        format!("{title} {} MB/s{median}", format::mb_per_s(phase.bytes_per_sec))
    } else {
        format!("{title} {} a second{median}", format::per_second(phase.ops_per_sec))
    }
}

/// The sentence about an incomplete run; `None` for a complete one.
fn ending(run: &Run) -> Option<String> {
    let stopped = match &run.status {
        RunStatus::Complete => None,
        RunStatus::Interrupted { .. } => Some("The run was stopped before its end".to_owned()),
        RunStatus::Running { .. } => Some("The run is incomplete".to_owned()),
        RunStatus::Failed { error, .. } => {
            Some(format!("An error ended the run: {}", error.trim_end_matches('.')))
        }
    };
    let cut = run.phases.iter().filter(|phase| phase.cut_short).count();
    let cut = match (&stopped, cut) {
        (_, 0) => String::new(),
        (_, 1) => "; one test was cut short".to_owned(),
        (_, many) => format!("; {many} tests were cut short"),
    };
    match (stopped, cut.is_empty()) {
        (Some(stopped), _) => Some(format!("{stopped}{cut}.")),
        (None, false) => Some(capitalized(cut.trim_start_matches("; ")) + "."),
        (None, true) => None,
    }
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
