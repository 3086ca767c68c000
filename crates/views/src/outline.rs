//! Headings of sections about the whole run, each stating its result, and the stalls and changes of
//! its phases.

use flashlag_explain::{Figures, failed, findings_of, stalls_of};
use flashlag_schema::finding::StallFinding;
use flashlag_schema::{CauseBasis, Change, ChangeKind, Phase, Run, StallCause, WaitPart};
use flashlag_spec::Operation;
use flashlag_units::{InOrder, Nanos};

use crate::amount::done;
use crate::causes;
use crate::doubt::{CheckCounts, Failure, failures_of};
use crate::fill::full_at;
use crate::format;
use crate::naming::{kind_name, stage_of, test_name, test_title};
use crate::overload::overload;

/// Phases with waits longer than their limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Stalls {
    /// `16 stalls over 1 s: the longest 4.6 s, blocked on storage`.
    pub heading: String,
    /// The phases that have an interval series or stalls, in the order of the run.
    pub phases: Vec<PhaseStalls>,
}

/// The stalls of one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseStalls {
    /// Index of the phase in the run.
    pub phase: usize,
    /// `4K rand write, filled run 3`; `…, from the call` on a schedule, whose other figures count from
    /// the intended start.
    pub title: String,
    /// Whether its operations had a schedule.
    pub scheduled: bool,
    /// Number of stalls.
    pub seen: u64,
    /// Number of stalls listed in the run file: the longest.
    pub listed: usize,
    /// The limit from which on a wait counts.
    pub over: Nanos,
    /// The longest listed stall.
    pub longest: Option<Nanos>,
    /// When the longest began, from the start of the phase.
    pub longest_at: Option<Nanos>,
    /// The length of all listed stalls together.
    pub total: Nanos,
    /// Whether the median wait is over the limit, so that those over it are no stalls.
    pub usual: bool,
    /// Listed stalls by cause, most first.
    pub causes: Vec<StallsOfCause>,
    /// Listed stalls with a known cause, by how it is known.
    pub bases: Vec<(CauseBasis, usize)>,
    /// Failed checks that cover it.
    pub failures: Vec<Failure>,
}

/// The listed stalls of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallsOfCause {
    /// The cause.
    pub cause: StallCause,
    /// Its name in that phase.
    pub name: &'static str,
    /// How many.
    pub stalls: usize,
}

/// A change over time, with its phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseChange<'a> {
    /// Index of the phase in the run.
    pub phase: usize,
    /// `4K rand write, filled run 3`.
    pub title: String,
    /// The change in a word or two: `write cache exhausted`.
    pub name: &'static str,
    /// The change.
    pub change: &'a Change,
}

/// The title of a phase: `4K rand write, filled run 3`; with the stage only in a run of several. A fill
/// has no stage.
pub fn phase_title(run: &Run, phase: &Phase) -> String {
    let test = test_name(run, phase);
    if phase.name.starts_with("fill_") {
        return test;
    }
    let first = run.phases.first().map(|phase| (phase.state, phase.run));
    if run.phases.iter().any(|other| Some((other.state, other.run)) != first) {
        format!("{test}, {}", stage_of(run, phase).to_lowercase().replace(", run", " run"))
    } else {
        test
    }
}

/// A text with phase titles (`4K rand write, new`) in place of the labels of the run file (`new:
/// rand_write_4k`), and quotation marks in place of backticks.
pub fn for_people(run: &Run, text: &str) -> String {
    let mut labels: Vec<(String, &Phase)> =
        run.phases.iter().map(|phase| (phase.label(), phase)).collect();
    // `new: save_wal` is also the beginning of `new: save_wal_normal`.
    labels.order_by_key(|(label, _)| std::cmp::Reverse(label.len()));
    let mut words = text.to_owned();
    for (label, phase) in labels {
        if words.contains(&label) {
            words = words.replace(&label, &phase_title(run, phase));
        }
        // A fill is named without its state, too.
        if phase.name.starts_with("fill_") {
            words = words.replace(&phase.name, &test_title(&phase.name));
        }
    }
    let quoted = words.split('`').enumerate().map(|(index, part)| match index {
        0 => part.to_owned(),
        odd if odd % 2 == 1 => format!("‘{part}"),
        _ => format!("’{part}"),
    });
    quoted.collect()
}

/// `rollback journal`, but `WAL`.
fn lower_first(label: &str) -> String {
    // A name: `SharedPreferences`.
    if label.split(' ').next().is_some_and(|word| word.chars().skip(1).any(char::is_uppercase)) {
        return label.to_owned();
    }
    let mut letters = label.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => label.to_owned(),
    }
}

/// How the causes of the listed stalls are known: `as modelled`, or with a number each where they
/// differ: `7 reported by the device, 2 measured by the scheduler`. `None` without known causes.
pub fn causes_known<'a>(phases: impl IntoIterator<Item = &'a PhaseStalls>) -> Option<String> {
    let all: Vec<_> = phases.into_iter().flat_map(|phase| &phase.bases).copied().collect();
    causes::known(&all)
}

/// What the operations of each interval waited for, with the interval's end; empty parts where that is
/// not known.
pub fn wait_layers(phase: &Phase) -> Vec<(Nanos, Vec<WaitPart>)> {
    let ends = phase.intervals.iter().map(|interval| interval.t_ns);
    ends.zip(flashlag_explain::infer::layers(phase)).collect()
}

/// A change in a word or two. A fill that slows down at its end has not used up a cache.
pub fn change_name(run: &Run, phase: &Phase, change: &Change) -> &'static str {
    match change.kind {
        ChangeKind::CacheExhausted => match full_at(run, phase, change.t_ns) {
            Some(full) if full >= 0.9 => "storage nearly full",
            Some(_) => "slower as storage fills",
            None => "write cache exhausted",
        },
        ChangeKind::Throttled => "throttled",
        ChangeKind::PeriodicStalls => "periodic stalls",
        ChangeKind::Slower => "slower",
        ChangeKind::Faster => "faster",
        ChangeKind::SteadyState => "steady state",
        ChangeKind::NotSteady => "not steady",
    }
}

/// The stalls of a run; `None` if no phase has a series or a stall.
pub fn stalls(run: &Run) -> Option<Stalls> {
    let found = findings_of(run);
    let phases: Vec<PhaseStalls> = run
        .phases
        .iter()
        .enumerate()
        .filter(|(_, phase)| !phase.intervals.is_empty() || phase.stalls_seen > 0)
        .map(|(index, phase)| phase_stalls(run, &found.stalls, index, phase))
        .collect();
    let heading = stalls_heading(&phases);
    (!phases.is_empty()).then_some(Stalls { heading, phases })
}

fn phase_stalls(run: &Run, found: &[StallFinding], index: usize, phase: &Phase) -> PhaseStalls {
    let label = phase.label();
    let stored = found.iter().find(|found| found.phase == label).cloned();
    // A phase that did not stall has no entry.
    let found = stored.unwrap_or_else(|| stalls_of(phase));
    PhaseStalls {
        phase: index,
        title: if phase.closed_loop {
            phase_title(run, phase)
        } else {
            // Waiting in the queue counts in the figures, not in the stalls.
            format!("{}{FROM_THE_CALL}", phase_title(run, phase))
        },
        scheduled: !phase.closed_loop,
        seen: found.seen,
        listed: phase.stalls.len(),
        over: phase.stall_over_ns,
        longest: found.longest_ns,
        longest_at: phase.stalls.iter().max_by_key(|stall| stall.ns).map(|stall| stall.t_ns),
        total: found.total_ns,
        usual: found.usual,
        causes: found
            .causes
            .iter()
            .map(|count| StallsOfCause {
                cause: count.cause,
                name: causes::cause_name_in(phase, count.cause),
                stalls: count.stalls as usize,
            })
            .collect(),
        bases: causes::bases(phase),
        failures: failures_of(run, phase),
    }
}

/// Ends the titles of phases whose stalls count otherwise than their other figures.
const FROM_THE_CALL: &str = ", from the call";

/// The heading of the stalls, without phases whose median wait is over the limit.
fn stalls_heading(all: &[PhaseStalls]) -> String {
    let phases: Vec<&PhaseStalls> = all.iter().filter(|stalls| !stalls.usual).collect();
    if phases.is_empty() && !all.is_empty() {
        let over = all.iter().map(|stalls| stalls.over).min().unwrap_or_default();
        let over = format::limit(over);
        return format!("The usual wait is longer than {over}: none is counted as a stall");
    }
    let unless = if phases.len() < all.len() { " where that is not the usual wait" } else { "" };
    let seen = phases.iter().fold(0u64, |sum, phase| sum.saturating_add(phase.seen));
    let over = phases.iter().filter(|phase| phase.seen > 0).map(|phase| phase.over).min();
    let worst = phases.iter().max_by_key(|phase| phase.longest);
    let longest = worst.and_then(|worst| Some((worst.longest?, worst)));
    match (seen, over, longest) {
        (0, ..) => match phases.iter().map(|phase| phase.over).filter(|over| over.0 > 0).min() {
            Some(over) => format!("No wait was longer than {}{unless}", format::limit(over)),
            None => "No stall was seen".to_owned(),
        },
        (_, Some(over), Some((longest, worst))) => {
            let stalls =
                format::plural(usize::try_from(seen).unwrap_or(usize::MAX), "stall", "stalls");
            // The tables have longer waits of the same test, with the time in the queue.
            let (from_call, others) = if worst.scheduled {
                (", counted from the call", ", whose other figures count from the intended start")
            } else {
                ("", "")
            };
            format!(
                "{stalls} over {}{from_call}{unless}; the longest, {}, in {}{others}",
                format::limit(over),
                format::time(longest),
                lower_first(worst.title.trim_end_matches(FROM_THE_CALL))
            )
        }
        _ => {
            let stalls =
                format::plural(usize::try_from(seen).unwrap_or(usize::MAX), "stall", "stalls");
            format!("{stalls}; how long is not listed")
        }
    }
}

/// The changes of all phases, in the order of the run. Steady throughput of a paced phase is left out: it
/// is set by the schedule or by think times.
pub fn changes(run: &Run) -> Vec<PhaseChange<'_>> {
    let phases = run.phases.iter().enumerate();
    let all = phases.flat_map(|(index, phase)| {
        let shown = |change: &&Change| !phase.is_paced() || !is_steadiness(change.kind);
        phase.changes.iter().filter(shown).map(move |change| PhaseChange {
            phase: index,
            title: phase_title(run, phase),
            name: change_name(run, phase, change),
            change,
        })
    });
    let mut all: Vec<PhaseChange<'_>> = all.collect();
    // Sorted by time within a phase: the run file has them by kind.
    all.order_by_key(|change| (change.phase, change.change.t_ns));
    all
}

fn is_steadiness(kind: ChangeKind) -> bool {
    matches!(kind, ChangeKind::SteadyState | ChangeKind::NotSteady)
}

/// The heading of the changes: `Write cache exhausted after 1.5 GB in 256K seq write`.
pub fn changes_heading(run: &Run) -> String {
    let changes = changes(run);
    let events: Vec<_> =
        changes.iter().filter(|change| !is_steadiness(change.change.kind)).collect();
    match events.as_slice() {
        [] if changes.is_empty() => "No change over time".to_owned(),
        [] => {
            let steady = |c: &&PhaseChange<'_>| c.change.kind == ChangeKind::SteadyState;
            let (steady, all) = (changes.iter().filter(steady).count(), changes.len());
            match all {
                1 if steady == 1 => "It reached steady state".to_owned(),
                1 => "It did not reach steady state".to_owned(),
                _ => format!("{steady} of {all} phases reached steady state"),
            }
        }
        [first, rest @ ..] => {
            let phase = run.phases.get(first.phase);
            let written = phase.map_or_else(String::new, |phase| {
                done(phase, first.change.t_ns, first.change.written_bytes)
            });
            let others = match rest.len() {
                0 => String::new(),
                1 => ", and one more change".to_owned(),
                more => format!(", and {more} more changes"),
            };
            let mut name = first.name.chars();
            let name: String =
                name.next().into_iter().flat_map(char::to_uppercase).chain(name).collect();
            let title = lower_first(&first.title);
            match first.change.period_ns {
                Some(period) => {
                    format!("{name} in {title}, one every {}{others}", format::time(period))
                }
                None => format!("{name} after {written} in {title}{others}"),
            }
        }
    }
}

/// The heading of the tests: `4K rand write: 292 a second, 1.20 MB/s; 256K seq read: 26.6 MB/s`.
pub fn tests_heading(run: &Run) -> String {
    let judged = |phase: &&Phase| phase.ops > 0 && failures_of(run, phase).is_empty();
    let find = |of: &dyn Fn(&Phase) -> bool| run.phases.iter().filter(judged).find(|p| of(p));
    let rate = |phase: &Phase| format::mb_per_s(phase.bytes_per_sec);
    let write = find(&Phase::is_durable_write).map(|phase| {
        let each = format::per_second(phase.ops_per_sec);
        format!("{}: {each} a second, {} MB/s", test_title(&phase.name), rate(phase))
    });
    let read = find(&|phase| phase.operation == Operation::SequentialRead)
        .map(|phase| format!("{}: {} MB/s", test_title(&phase.name), rate(phase)));
    let said: Vec<String> = write.into_iter().chain(read).collect();
    if said.is_empty() { "Throughput and latency of each test".to_owned() } else { said.join("; ") }
}

/// The heading of the distributions, about the slowest 1 in 1,000 (or 1 in 100).
pub fn distribution_heading(run: &Run) -> String {
    let judged = run.phases.iter().filter(|phase| {
        let saves = phase.operation == Operation::Save;
        (saves || phase.is_durable_write()) && failures_of(run, phase).is_empty()
    });
    let worst = |of: fn(&Figures) -> Option<Nanos>| {
        let figures = judged.clone().map(|phase| (Figures::of_phase(phase), phase));
        figures
            .filter_map(|(figures, phase)| Some((of(&figures)?, figures.p50?, phase)))
            .max_by_key(|(value, ..)| *value)
    };
    let found = [("1 in 1,000", worst(|f| f.p999)), ("1 in 100", worst(|f| f.p99))];
    match found.into_iter().find_map(|(name, worst)| Some((name, worst?))) {
        Some((one_in, (tail, median, phase))) => format!(
            "{one_in} takes {} or longer against a median of {}: {}",
            format::time(tail),
            format::time(median),
            lower_first(&phase_title(run, phase))
        ),
        None => "How long operations took".to_owned(),
    }
}

/// The heading of the saves: `Rollback journal: 28% of saves are late; WAL: 0.7%`.
pub fn saves_heading(run: &Run) -> String {
    let saves = run.phases.iter().filter(|phase| phase.operation == Operation::Save);
    let judged = saves.filter(|phase| failures_of(run, phase).is_empty());
    let mut rows: Vec<(String, f64)> = Vec::new();
    let mut overloads: Vec<String> = Vec::new();
    for phase in judged {
        let title = lower_first(&phase_title(run, phase));
        if let Some(overload) = overload(run, phase) {
            overloads.push(format!("{title}: overloaded, {}", overload.in_words()));
        } else if let Some(share) = Figures::of_phase(phase).late_share() {
            rows.push((title, share));
        }
    }
    rows.order_by(|a, b| b.1.total_cmp(&a.1));
    match (rows.is_empty(), overloads.is_empty()) {
        (_, true) => late_saves(&rows),
        (true, false) => format::capitalized(&overloads.join("; ")),
        (false, false) => format!("{}; {}", late_saves(&rows), overloads.join("; ")),
    }
}

/// The highest and the lowest share of late saves; `rows` are in that order.
fn late_saves(rows: &[(String, f64)]) -> String {
    let share = format::share;
    match rows {
        [] => "Saves were measured, but can't be judged".to_owned(),
        [(title, late)] => {
            format!("{} take longer than a 60 Hz frame: {title}", share(*late))
        }
        [(_, most), .., (_, least)] if most == least => {
            format!("{} of saves take longer than a 60 Hz frame", share(*most))
        }
        [(worst, most), .., (best, least)] => format!(
            "{} take longer than a 60 Hz frame in {worst}; {} in {best}",
            share(*most),
            share(*least),
        ),
    }
}

/// The note on what lag counts mean.
pub const LAG_IS_A_BUDGET: &str = "A late save is one that takes longer than a frame. That is a \
     budget to compare devices by, not a count of dropped frames: well-made apps draw on another \
     thread than the one that saves.";

/// The heading of the trust checks.
pub fn trust_heading(run: &Run) -> String {
    let counts = CheckCounts::of(run);
    let covers_all = |check: &&flashlag_schema::Check| check.phases.is_empty();
    match counts.failed {
        0 if run.trust.checks.is_empty() => "Nothing was checked".to_owned(),
        0 if counts.unknown == 0 => "Every check passes".to_owned(),
        0 => format!("No check fails; {} could not be decided", counts.unknown),
        _ if failed(run).any(|check| covers_all(&check)) => {
            "Do not rely on this run: a check that covers all of it fails".to_owned()
        }
        _ => "Do not rely on the rows that a failed check covers".to_owned(),
    }
}

/// The heading of the environment: `128 GB emmc, ext4 on mmcblk0`.
pub fn environment_heading(run: &Run) -> String {
    let (device, filesystem) = (&run.environment.device, &run.environment.filesystem);
    let words: Vec<String> = device
        .size_bytes
        .value()
        .map(|size| format::size(*size))
        .into_iter()
        .chain(device.kind.value().map(|kind| kind_name(kind).to_owned()))
        .collect();
    let mut heading = words.join(" ");
    if let Some(kind) = filesystem.kind.value() {
        heading += if heading.is_empty() { "" } else { ", " };
        heading += kind;
    }
    if let Some(name) = device.name.value() {
        heading += &format!(" on {name}");
    }
    if heading.trim().is_empty() {
        "Little could be read about this machine".to_owned()
    } else {
        heading
    }
}
