//! What is read several times a second, and what two readings in a row show.

use std::collections::VecDeque;

use flashlag_inspect::{Completed, Requests};
use flashlag_schema::history::{Second, WaitKind};
use flashlag_schema::{Look, Surroundings};
use flashlag_units::{Bytes, Nanos};

/// Readings that are kept: five minutes of four a second.
const KEPT: usize = 1200;

/// One reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// The kernel's counters.
    pub look: Look,
    /// The disk's requests.
    pub requests: Requests,
    /// Whether flashlag itself was stopped, or the machine suspended, since the reading before.
    pub is_after_stop: bool,
    /// Time that the hypervisor had taken, if known.
    pub stolen: Option<Nanos>,
}

/// Waits of requests that completed between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    pub reads: Completed,
    pub writes: Completed,
    pub flushes: Completed,
    /// All that completed, discards too.
    pub completed: u64,
}

impl Between {
    /// `None` if counters went back: the disk was replaced.
    pub fn of(earlier: &Requests, later: &Requests) -> Option<Between> {
        Some(Between {
            reads: later.reads.since(earlier.reads)?,
            writes: later.writes.since(earlier.writes)?,
            flushes: later.flushes.since(earlier.flushes)?,
            completed: later.completed().checked_sub(earlier.completed())?,
        })
    }

    /// The kinds that a person may wait for, with their waits.
    pub fn kinds(&self) -> [(WaitKind, Completed); 3] {
        [
            (WaitKind::Read, self.reads),
            (WaitKind::Flush, self.flushes),
            (WaitKind::Write, self.writes),
        ]
    }
}

/// The last readings, in order.
#[derive(Clone, Debug, Default)]
pub struct Recent(VecDeque<Glance>);

impl Recent {
    /// Adds a reading and returns the one before it.
    pub fn push(&mut self, glance: Glance) -> Option<Glance> {
        let before = self.0.back().copied();
        if self.0.len() >= KEPT {
            self.0.pop_front();
        }
        self.0.push_back(glance);
        before
    }

    /// The last reading.
    pub fn last(&self) -> Option<&Glance> {
        self.0.back()
    }

    /// What the counters showed around a time; `None` if there is no reading before or after.
    pub fn around(&self, from: Nanos, to: Nanos) -> Option<Surroundings> {
        let first = self.0.partition_point(|glance| glance.look.at <= from).checked_sub(1)?;
        let last = self.0.get(self.0.partition_point(|glance| glance.look.at < to))?;
        let before = self.0.range(..first).rev().map(|glance| &glance.look);
        Some(last.look.around(&self.0.get(first)?.look, before))
    }

    /// Whether the process was stopped or the machine suspended at some time between these.
    pub fn has_stop(&self, from: Nanos, to: Nanos) -> bool {
        let mut before = Nanos::ZERO;
        self.0.iter().any(|glance| {
            let overlaps = before < to && glance.look.at > from;
            before = glance.look.at;
            glance.is_after_stop && overlaps
        })
    }

    /// Time that the hypervisor took around these.
    pub fn stolen(&self, from: Nanos, to: Nanos) -> Option<Nanos> {
        let first = self.0.iter().rev().find(|glance| glance.look.at <= from)?.stolen?;
        let last = self.0.iter().find(|glance| glance.look.at >= to)?.stolen?;
        Some(last.saturating_since(first))
    }

    /// The counters that changed in the time before, at most as long as is known.
    pub fn during(&self, from: Nanos, to: Nanos) -> Option<Surroundings> {
        let inside = |glance: &&Glance| glance.look.at >= from && glance.look.at <= to;
        let first = self.0.iter().find(inside)?;
        let last = self.0.iter().rev().find(inside)?;
        (last.look.at > first.look.at).then(|| last.look.since(&first.look))
    }

    /// The disk second by second, the last one ending at a time.
    pub fn seconds(&self, until: Nanos, count: usize) -> Vec<Second> {
        const SECOND: Nanos = Nanos::from_secs(1);
        let begin = Nanos(until.0.saturating_sub(SECOND.0 * count as u64));
        let mut seconds = vec![Second::default(); count];
        let mut before: Option<&Glance> = None;
        for glance in &self.0 {
            if let Some(before) = before.filter(|_| glance.look.at > begin) {
                let change = glance.look.since(&before.look);
                let at = glance.look.at.since(begin).0.saturating_sub(1) / SECOND.0;
                if let Some(second) = usize::try_from(at).ok().and_then(|at| seconds.get_mut(at)) {
                    second.bytes = second.bytes.plus(change.disk_bytes.unwrap_or_default());
                    second.requests += change.disk_requests.unwrap_or(0);
                    second.busy_ns = second.busy_ns.plus(change.disk_busy_ns.unwrap_or_default());
                }
            }
            before = Some(glance);
        }
        seconds
    }

    /// Bytes a nanosecond over the last second or more.
    pub fn speed(&self) -> Option<f64> {
        let last = self.0.back()?;
        let second = |glance: &&Glance| last.look.at.since(glance.look.at) >= Nanos::from_secs(1);
        let change = last.look.since(&self.0.iter().rev().take(12).find(second)?.look);
        let Bytes(bytes) = change.disk_bytes?;
        Some(bytes as f64 / change.window_ns.0.max(1) as f64)
    }
}
