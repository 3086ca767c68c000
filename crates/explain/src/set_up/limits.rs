//! What the control groups of a process limit.

use flashlag_schema::finding::{Fact, Finding, FindingId, Severity};
use flashlag_schema::{Limit, LimitKind};

use super::rule::{Rule, Seen, fact, found};

pub(super) const RULES: &[Rule] = &[io, cpu, memory];

/// Bytes per second below which even the slowest card of a class is faster (SD class 10).
const SLOW_BYTES: u64 = 10_000_000;
/// Requests per second below which a card for apps is faster (class A1: 500 writes).
const SLOW_OPS: u64 = 500;
/// Thousandths of a CPU below which a single thread already reaches the quota.
const ONE_CPU: u64 = 1000;
/// Share of a memory limit from which usage is near it.
const NEAR: f64 = 0.9;

fn all<'a>(seen: &'a Seen<'_>) -> impl Iterator<Item = &'a Limit> {
    seen.0.limits.iter().flat_map(|limits| &limits.set)
}

fn io(seen: &Seen<'_>) -> Option<Finding> {
    let all: Vec<&Limit> = all(seen).filter(|limit| limit.kind.is_of_io()).collect();
    let slow = all.iter().any(|limit| match limit.kind {
        LimitKind::ReadBytes | LimitKind::WriteBytes => limit.value < SLOW_BYTES,
        LimitKind::ReadOps | LimitKind::WriteOps => limit.value < SLOW_OPS,
        _ => false,
    });
    let severity = if slow { Severity::Costly } else { Severity::Minor };
    (!all.is_empty()).then(|| {
        let source = "Documentation/admin-guide/cgroup-v2.rst, IO; cgroup-v1/blkio-controller.rst";
        found(FindingId::IoLimit, severity, source, facts(&all))
    })
}

/// Only several threads can reach a quota of one CPU or more: it is listed among the facts.
fn cpu(seen: &Seen<'_>) -> Option<Finding> {
    let all = all(seen).filter(|limit| limit.kind == LimitKind::Cpu && limit.value < ONE_CPU);
    let all: Vec<&Limit> = all.collect();
    (!all.is_empty()).then(|| {
        let source = "Documentation/scheduler/sched-bwc.rst: the group waits for its next period";
        found(FindingId::CpuQuota, Severity::Costly, source, facts(&all))
    })
}

fn memory(seen: &Seen<'_>) -> Option<Finding> {
    let near = |limit: &&Limit| {
        let used = limit.used.filter(|_| limit.kind.is_of_memory());
        used.is_some_and(|used| used as f64 >= NEAR * limit.value as f64)
    };
    let all: Vec<&Limit> = all(seen).filter(near).collect();
    (!all.is_empty()).then(|| {
        let source = "Documentation/admin-guide/cgroup-v2.rst, Memory: high and max";
        found(FindingId::MemoryLimit, Severity::Minor, source, facts(&all))
    })
}

/// A fact for each limit, with its value and the file that sets it.
fn facts(limits: &[&Limit]) -> Vec<Fact> {
    let of =
        |limit: &&Limit| fact("limits.set", format!("{} (`{}`)", limit.in_words(), limit.file));
    limits.iter().map(of).collect()
}
