//! The parts of a wait: on the CPU, waiting for a CPU, blocked on storage.

use flashlag_explain::findings_of;
use flashlag_schema::finding::{WaitFinding, WaitGroupRecord, WaitRange};
use flashlag_schema::{Phase, Run, StallCause};
use flashlag_units::Nanos;

use crate::doubt::{Failure, failures_of};
use crate::format;
use crate::naming::{stage_of, subject_name};

/// The section: one full bar for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitSection {
    /// The result: `Storage is to blame: 92% of a typical wait and 99% of the longest`.
    pub heading: String,
    /// The operations: `SQLite saves, rollback journal`.
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
    /// Time on the CPU.
    pub on_cpu: WaitPart,
    /// Time runnable without a free CPU.
    pub waiting_for_cpu: WaitPart,
    /// Time asleep until storage answered.
    pub blocked: WaitPart,
    /// Failed checks that cover it.
    pub failures: Vec<Failure>,
}

impl WaitGroup {
    /// The sample behind the split: `split of 110 sampled from 17 to 34 ms`.
    pub fn basis(&self) -> String {
        let (from, below) = self.sampled_from;
        let (from, below) = (format::time(from), format::time(below));
        format!("split of {} sampled from {from} to {below}", format::count(self.sampled))
    }
}

/// A part of a bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WaitPart {
    /// The part of the mean wait.
    pub time: Nanos,
    /// The same as a share, 0 to 1; the three add up to 1.
    pub share: f64,
}

/// The section of a run; `None` if no wait was split.
pub fn waits(run: &Run) -> Option<WaitSection> {
    let found = findings_of(run);
    let found = found.waits.as_ref()?;
    let main = phase_of(run, &found.phase)?.1;
    let groups: Vec<WaitGroup> = found.groups.iter().filter_map(|one| group(run, one)).collect();
    if groups.is_empty() {
        return None;
    }
    let heading = match found.doubted_by {
        Some(id) => {
            let failures = failures_of(run, main);
            let claim = failures.iter().find(|failure| failure.id == id);
            let claim = claim.map_or_else(|| "A check".to_owned(), |failure| failure.claim.clone());
            format!("Where these waits went; not judged: {}", denied(&claim))
        }
        None => heading(found),
    };
    Some(WaitSection { heading, what: subject_name(run, main), groups })
}

fn phase_of<'a>(run: &'a Run, label: &str) -> Option<(usize, &'a Phase)> {
    run.phases.iter().enumerate().find(|(_, phase)| phase.label() == label)
}

fn group(run: &Run, found: &WaitGroupRecord) -> Option<WaitGroup> {
    let (index, phase) = phase_of(run, &found.phase)?;
    let (label, range) = match found.range {
        WaitRange::Typical => ("Typical", "p45–p55"),
        WaitRange::Slow => ("Slow", "p90–p99"),
        WaitRange::Slowest => ("Slowest 1%", "above p99"),
    };
    let mean = found.mean_ns;
    let part = |share: f64| WaitPart { time: Nanos((mean.0 as f64 * share) as u64), share };
    Some(WaitGroup {
        label,
        range,
        stage: stage_of(run, phase),
        phase: index,
        n: found.ops,
        sampled: found.sampled,
        sampled_from: (found.sampled_from_ns, found.sampled_below_ns),
        mean,
        on_cpu: part(found.on_cpu),
        waiting_for_cpu: part(found.waiting_for_cpu),
        blocked: part(found.blocked),
        failures: failures_of(run, phase),
    })
}

/// A failed claim, quoted: `“Writes reached storage” failed`.
fn denied(claim: &str) -> String {
    format!("“{}” failed", claim.trim_end_matches('.'))
}

/// The main part of the first group, and its share in the last.
fn heading(found: &WaitFinding) -> String {
    let groups = || found.groups.iter().filter(|group| group.phase == found.phase);
    let (Some(typical), Some(longest)) = (groups().next(), groups().next_back()) else {
        return String::new();
    };
    let first = match typical.range {
        WaitRange::Typical => "a typical wait",
        WaitRange::Slow => "a slow wait",
        WaitRange::Slowest => "the longest waits",
    };
    type Part = fn(&WaitGroupRecord) -> f64;
    let (what, part): (&str, Part) = match found.cause {
        StallCause::Storage => ("Storage is to blame", |group| group.blocked),
        StallCause::Cpu => ("Waiting for a CPU is to blame", |group| group.waiting_for_cpu),
        StallCause::Executing => ("The work itself takes most", |group| group.on_cpu),
        _ => {
            return format!(
                "No single cause: storage takes {} of {first}, waiting for a CPU {}, the work itself \
                 {}",
                format::share(typical.blocked),
                format::share(typical.waiting_for_cpu),
                format::share(typical.on_cpu)
            );
        }
    };
    let held = format::share(part(typical));
    if typical.range == longest.range {
        format!("{what}: {held} of {first}")
    } else {
        format!("{what}: {held} of {first} and {} of the longest", format::share(part(longest)))
    }
}
