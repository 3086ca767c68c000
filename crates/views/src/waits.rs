//! Where the wait goes: on the CPU, waiting for a CPU, blocked on storage.

use flashlag_schema::{CheckId, Phase, Run};
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::Nanos;

use crate::doubt::{Failure, failures_of};
use crate::figures::restored;
use crate::format;
use crate::headline::Facts;
use crate::naming::{stage_of, subject_name};

/// The section: one full bar for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitSection {
    /// The result: `Storage is to blame: it holds 92% of a typical wait and 99% of the longest`.
    pub heading: String,
    /// What waited: `SQLite saves, rollback journal`.
    pub what: String,
    /// The groups: typical, slow, slowest; by stage.
    pub groups: Vec<WaitGroup>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitGroup {
    /// `Typical`, `Slow`, `Slowest 1%`.
    pub label: &'static str,
    /// `p45–p55`.
    pub range: &'static str,
    /// The stage: `New`, `Filled, run 3`.
    pub stage: String,
    /// Index of its phase in the run.
    pub phase: usize,
    /// Operations in that range of percentiles.
    pub n: u64,
    /// Operations whose split was sampled, in the latency classes that the range touches: powers of
    /// two, so that they may be more than are in the range.
    pub sampled: u64,
    /// The shortest and the longest latency of those classes.
    pub sampled_from: (Nanos, Nanos),
    /// Their mean wait.
    pub mean: Nanos,
    /// Executing.
    pub on_cpu: WaitPart,
    /// Able to run, but no CPU was free.
    pub waiting_for_cpu: WaitPart,
    /// Asleep until storage answered.
    pub blocked: WaitPart,
    /// Failed checks that cover it.
    pub failures: Vec<Failure>,
}

impl WaitGroup {
    /// What the split rests on, in words: `split of 110 sampled from 17 to 34 ms`.
    pub fn basis(&self) -> String {
        let (from, below) = self.sampled_from;
        let (from, below) = (format::time(from), format::time(below));
        format!("split of {} sampled from {from} to {below}", format::count(self.sampled))
    }
}

/// A part of a bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WaitPart {
    /// Of the mean wait.
    pub time: Nanos,
    /// The same as a share, 0 to 1; the three add up to 1.
    pub share: f64,
}

/// A group: its label, its range as printed and in ten-thousandths.
type Range = (&'static str, &'static str, u64, u64);
const TYPICAL: Range = ("Typical", "p45–p55", 4500, 5500);
const SLOW: Range = ("Slow", "p90–p99", 9000, 9900);
const SLOWEST: Range = ("Slowest 1%", "above p99", 9900, 10_000);

/// The section of a run, for the test that its headline is about; `None` where no split was
/// sampled.
pub fn waits(run: &Run) -> Option<WaitSection> {
    let facts = Facts::of(run);
    let split = |phase: &&Phase| !phase.waits.is_empty();
    let main = facts.main.filter(split);
    let main = main.or_else(|| facts.writes.last().copied().filter(split));
    let main = main.or_else(|| run.phases.iter().rev().find(split))?;
    let new = facts.new.filter(|new| new.name == main.name && new.state != main.state);
    let mut groups: Vec<WaitGroup> = Vec::new();
    groups.extend(new.filter(split).and_then(|new| group(run, new, TYPICAL)));
    groups.extend([TYPICAL, SLOW, SLOWEST].iter().filter_map(|range| group(run, main, *range)));
    if groups.is_empty() {
        return None;
    }
    let stage = stage_of(run, main);
    let of_main: Vec<&WaitGroup> = groups.iter().filter(|group| group.stage == stage).collect();
    // A busy CPU is what this section is there to show; any other failure leaves no one to blame.
    let failures = failures_of(run, main);
    let cpu_failed = failures.iter().any(|failure| failure.id == CheckId::CpuContention);
    let shows_cpu = |group: &&WaitGroup| group.waiting_for_cpu.share > 0.5;
    let heading = match failures.first() {
        Some(failure) if !(cpu_failed && of_main.iter().all(shows_cpu)) => {
            format!("Where these waits went; not judged: {}", denied(&failure.claim))
        }
        _ => heading(&of_main),
    };
    Some(WaitSection { heading, what: subject_name(run, main), groups })
}

/// The waits of a range of percentiles. Their mean is the histogram's; how it splits is that of
/// the sampled operations of the same latency classes, each weighted by its time in the range.
fn group(run: &Run, phase: &Phase, range: Range) -> Option<WaitGroup> {
    let (label, printed, from, to) = range;
    let histogram = restored(&phase.histogram)?;
    let count = histogram.count();
    if to == 10_000 && !Percentile::P99.supported_by(count) {
        return None;
    }
    let rank = |part: u64| (u128::from(count) * u128::from(part) / 10_000) as u64;
    let (first, last) = (rank(from), rank(to));
    let (mut seen, mut n, mut time) = (0u64, 0u64, 0.0f64);
    let mut classes = [0.0f64; 64];
    for (index, count) in histogram.occupied() {
        let inside = (seen + count).min(last).saturating_sub(seen.max(first));
        seen += count;
        let middle = Histogram::middle_of(index as usize);
        let waited = inside as f64 * middle.0 as f64;
        n += inside;
        time += waited;
        classes[middle.0.max(1).ilog2() as usize] += waited;
    }
    if n == 0 {
        return None;
    }
    let mean = Nanos((time / n as f64) as u64);
    let (shares, sampled, sampled_from) = shares_of(phase, &classes)?;
    let part = |share: f64| WaitPart { time: Nanos((mean.0 as f64 * share) as u64), share };
    Some(WaitGroup {
        label,
        range: printed,
        stage: stage_of(run, phase),
        phase: run.phases.iter().position(|other| std::ptr::eq(other, phase))?,
        n,
        sampled,
        sampled_from,
        mean,
        on_cpu: part(shares[0]),
        waiting_for_cpu: part(shares[1]),
        blocked: part(shares[2]),
        failures: failures_of(run, phase),
    })
}

/// On CPU, waiting for one, blocked, as shares; how many operations that rests on, and from which
/// latency to which those were.
fn shares_of(phase: &Phase, classes: &[f64; 64]) -> Option<([f64; 3], u64, (Nanos, Nanos))> {
    let (mut parts, mut sampled) = ([0.0f64; 3], 0u64);
    let mut range = (Nanos::MAX, Nanos::ZERO);
    for record in &phase.waits {
        let weight = classes[record.from_ns.0.max(1).ilog2() as usize];
        let time = [record.time.on_cpu_ns, record.time.runnable_ns, record.time.blocked_ns];
        let whole: f64 = time.iter().map(|part| part.0 as f64).sum();
        if weight <= 0.0 || whole <= 0.0 {
            continue;
        }
        sampled = sampled.saturating_add(record.ops);
        range = (range.0.min(record.from_ns), range.1.max(record.below_ns));
        for (sum, part) in parts.iter_mut().zip(time) {
            *sum += weight * part.0 as f64 / whole;
        }
    }
    let whole: f64 = parts.iter().sum();
    (whole > 0.0).then(|| (parts.map(|part| part / whole), sampled, range))
}

/// A failed claim, quoted: `“Writes reached storage” failed`.
fn denied(claim: &str) -> String {
    format!("“{}” failed", claim.trim_end_matches('.'))
}

/// Who holds the first group, and how much of the last.
fn heading(groups: &[&WaitGroup]) -> String {
    let (Some(typical), Some(longest)) = (groups.first(), groups.last()) else {
        return String::new();
    };
    let parts = |group: &WaitGroup| [group.blocked, group.waiting_for_cpu, group.on_cpu];
    let names = ["Storage", "Waiting for a CPU", "The work itself"];
    let numbered = parts(typical).into_iter().enumerate();
    let largest = numbered.max_by(|a, b| a.1.share.total_cmp(&b.1.share));
    let Some((which, part)) = largest else {
        return String::new();
    };
    let of_longest = parts(longest)[which].share;
    let first = match typical.label {
        "Typical" => "a typical wait",
        "Slow" => "a slow wait",
        _ => "the longest waits",
    };
    if part.share < 0.5 {
        let [storage, cpu, work] = parts(typical).map(|part| format::share(part.share));
        return format!(
            "No one cause: storage holds {storage} of {first}, waiting for a CPU {cpu}, the work \
             itself {work}"
        );
    }
    let blame = if which == 2 { "takes most" } else { "is to blame" };
    let typical_share = format::share(part.share);
    match typical.label == longest.label {
        true => format!("{} {blame}: it holds {typical_share} of {first}", names[which]),
        false => format!(
            "{} {blame}: it holds {typical_share} of {first} and {} of the longest",
            names[which],
            format::share(of_longest)
        ),
    }
}
