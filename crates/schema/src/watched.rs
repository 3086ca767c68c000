//! What the kernel's counters showed around the stalls of a phase.

use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Readings of counters during a phase, several a second, from a separate thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// The version of the rules that inferred the causes of stalls.
    pub rules: u32,
    /// How many readings there were.
    pub readings: u64,
    /// The sum of changes between readings with no stall in between.
    pub calm: Surroundings,
    /// What could not be read, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Changes of counters over a time: around a stall, from the last reading before it to the first
/// one after it. A counter that the system does not have is absent, and [`Watched::missing`] says
/// why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Surroundings {
    /// The time from the first reading to the last.
    pub window_ns: Nanos,
    /// Bytes that the measured operations read from and wrote to storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<Bytes>,
    /// Bytes read and written at the disk, by everyone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<Bytes>,
    /// Requests that read or wrote at the disk, by everyone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_requests: Option<u64>,
    /// Time in which the disk had a request in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_busy_ns: Option<Nanos>,
    /// Discards that the disk completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discards: Option<u64>,
    /// The sum of their durations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discard_ns: Option<Nanos>,
    /// Flushes that the disk completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// The sum of their durations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_ns: Option<Nanos>,
    /// Commits of the filesystem's journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Checkpoints of the filesystem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<u64>,
    /// Segments that the filesystem cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleanings: Option<u64>,
    /// Time in which some task of the machine waited for a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_pressure_ns: Option<Nanos>,
    /// Time in which some task of the machine waited for I/O.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure_ns: Option<Nanos>,
    /// The storage's highest temperature, in thousandths of a degree Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hottest_millicelsius: Option<i64>,
    /// How long the disk had been idle at the start of the time; for a stall only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_before_ns: Option<Nanos>,
}

impl Surroundings {
    /// The sum of two changes. A counter that one of them lacks is absent; the idle time before is
    /// that of the first.
    pub fn plus(&self, other: &Surroundings) -> Surroundings {
        let count = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        let bytes = |a: Option<Bytes>, b: Option<Bytes>| Some(a?.plus(b?));
        let time = |a: Option<Nanos>, b: Option<Nanos>| Some(Nanos(a?.0.saturating_add(b?.0)));
        Surroundings {
            window_ns: Nanos(self.window_ns.0.saturating_add(other.window_ns.0)),
            own_bytes: bytes(self.own_bytes, other.own_bytes),
            disk_bytes: bytes(self.disk_bytes, other.disk_bytes),
            disk_requests: count(self.disk_requests, other.disk_requests),
            disk_busy_ns: time(self.disk_busy_ns, other.disk_busy_ns),
            discards: count(self.discards, other.discards),
            discard_ns: time(self.discard_ns, other.discard_ns),
            flushes: count(self.flushes, other.flushes),
            flush_ns: time(self.flush_ns, other.flush_ns),
            commits: count(self.commits, other.commits),
            checkpoints: count(self.checkpoints, other.checkpoints),
            cleanings: count(self.cleanings, other.cleanings),
            cpu_pressure_ns: time(self.cpu_pressure_ns, other.cpu_pressure_ns),
            io_pressure_ns: time(self.io_pressure_ns, other.io_pressure_ns),
            hottest_millicelsius: self.hottest_millicelsius.max(other.hottest_millicelsius),
            quiet_before_ns: self.quiet_before_ns,
        }
    }

    /// Bytes at the disk that do not belong to the measured operations.
    pub fn others_bytes(&self) -> Option<Bytes> {
        Some(self.disk_bytes?.saturating_minus(self.own_bytes?))
    }
}

/// One reading of the counters; [`Surroundings`] is the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// When, on the machine's monotonic clock.
    pub at: Nanos,
    /// The counters since their start; the window is unused.
    pub counts: Surroundings,
}

impl Look {
    /// What changed since an earlier reading. A counter that went back is absent.
    pub fn since(&self, earlier: &Look) -> Surroundings {
        let (a, b) = (&earlier.counts, &self.counts);
        let count = |a: Option<u64>, b: Option<u64>| b?.checked_sub(a?);
        let bytes = |a: Option<Bytes>, b: Option<Bytes>| Some(Bytes(b?.0.checked_sub(a?.0)?));
        let time = |a: Option<Nanos>, b: Option<Nanos>| Some(Nanos(b?.0.checked_sub(a?.0)?));
        Surroundings {
            window_ns: self.at.saturating_since(earlier.at),
            own_bytes: bytes(a.own_bytes, b.own_bytes),
            disk_bytes: bytes(a.disk_bytes, b.disk_bytes),
            disk_requests: count(a.disk_requests, b.disk_requests),
            disk_busy_ns: time(a.disk_busy_ns, b.disk_busy_ns),
            discards: count(a.discards, b.discards),
            discard_ns: time(a.discard_ns, b.discard_ns),
            flushes: count(a.flushes, b.flushes),
            flush_ns: time(a.flush_ns, b.flush_ns),
            commits: count(a.commits, b.commits),
            checkpoints: count(a.checkpoints, b.checkpoints),
            cleanings: count(a.cleanings, b.cleanings),
            cpu_pressure_ns: time(a.cpu_pressure_ns, b.cpu_pressure_ns),
            io_pressure_ns: time(a.io_pressure_ns, b.io_pressure_ns),
            hottest_millicelsius: a.hottest_millicelsius.max(b.hottest_millicelsius),
            quiet_before_ns: None,
        }
    }

    /// What changed since an earlier reading, and how long the disk had been idle at that one, by the readings before
    /// it, the latest first.
    pub fn around<'a>(&self, first: &Look, before: impl Iterator<Item = &'a Look>) -> Surroundings {
        let quiet_before_ns = first.counts.disk_bytes.map(|moved| {
            let still = before.take_while(|look| look.counts.disk_bytes == Some(moved));
            let since = still.last().map_or(first.at, |look| look.at);
            first.at.saturating_since(since)
        });
        Surroundings { quiet_before_ns, ..self.since(first) }
    }
}

/// Readings of counters in order of time, at most [`Looks::MOST`]: at that number every second one
/// of the older half is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    looks: Vec<Look>,
    /// What could not be read, and why.
    pub missing: Vec<String>,
}

impl Looks {
    /// The most readings that are kept: two hours of ten a second.
    pub const MOST: usize = 72_000;

    /// No readings yet, on a system without some of the counters.
    pub fn lacking(missing: Vec<String>) -> Looks {
        Looks { looks: Vec::new(), missing }
    }

    /// Adds a reading that is later than all others.
    pub fn push(&mut self, look: Look) {
        if self.looks.len() >= Looks::MOST {
            let half = Looks::MOST / 2;
            let mut index = 0;
            self.looks.retain(|_| {
                index += 1;
                index > half || index % 2 == 1
            });
        }
        self.looks.push(look);
    }

    /// All readings that are kept.
    pub fn as_slice(&self) -> &[Look] {
        &self.looks
    }

    /// The changes around the times `from..to`, and how long the disk had been idle before; `None`
    /// if there is no reading before or after.
    pub fn around(&self, from: Nanos, to: Nanos) -> Option<Surroundings> {
        let (first, last) = self.edges(from, to)?;
        let (before, begin) = (self.looks.get(..first)?, self.looks.get(first)?);
        Some(self.looks.get(last)?.around(begin, before.iter().rev()))
    }

    /// Indices of the last reading up to `from` and of the first one from `to` on.
    fn edges(&self, from: Nanos, to: Nanos) -> Option<(usize, usize)> {
        let first = self.looks.partition_point(|look| look.at <= from).checked_sub(1)?;
        let last = self.looks.partition_point(|look| look.at < to);
        (last < self.looks.len()).then_some((first, last))
    }

    /// The changes between readings from `begin` to `end` with none of the given times (in order)
    /// in between.
    pub fn apart_from(
        &self,
        (begin, end): (Nanos, Nanos),
        stalls: &[(Nanos, Nanos)],
    ) -> Surroundings {
        let mut sum: Option<Surroundings> = None;
        let mut next = 0;
        for pair in self.looks.windows(2) {
            let [first, last] = pair else { continue };
            if first.at < begin || last.at > end {
                continue;
            }
            while stalls.get(next).is_some_and(|(_, to)| *to <= first.at) {
                next += 1;
            }
            if stalls.get(next).is_some_and(|(from, _)| *from < last.at) {
                continue;
            }
            let change = last.since(first);
            sum = Some(sum.map_or(change, |sum| sum.plus(&change)));
        }
        sum.unwrap_or_default()
    }

    /// Number of kept readings between two moments.
    pub fn between(&self, begin: Nanos, end: Nanos) -> u64 {
        let inside = |look: &&Look| look.at >= begin && look.at <= end;
        self.looks.iter().filter(inside).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn looks(all: &[(u64, u64)]) -> Looks {
        let mut looks = Looks::default();
        for (at, bytes) in all {
            let counts =
                Surroundings { disk_bytes: Some(Bytes(*bytes)), ..Surroundings::default() };
            looks.push(Look { at: MS(*at), counts });
        }
        looks
    }

    #[test]
    fn a_stall_lies_between_the_reading_before_it_and_the_one_after() {
        let looks = looks(&[(0, 5), (100, 5), (200, 5), (300, 70), (400, 80)]);
        let around = looks.around(MS(210), MS(290)).unwrap();
        assert_eq!((around.window_ns, around.disk_bytes), (MS(100), Some(Bytes(65))));
        assert_eq!(around.quiet_before_ns, Some(MS(200)));
        let exact = looks.around(MS(200), MS(300)).unwrap();
        assert_eq!(exact.window_ns, MS(100));
        assert_eq!(looks.around(MS(310), MS(401)), None, "no reading after");
        assert_eq!(Looks::default().around(MS(1), MS(2)), None);
    }

    #[test]
    fn calm_is_what_no_stall_touches() {
        let looks = looks(&[(0, 0), (100, 1), (200, 20), (300, 300), (400, 4000)]);
        let calm = looks.apart_from((MS(0), MS(400)), &[(MS(150), MS(250))]);
        assert_eq!((calm.window_ns, calm.disk_bytes), (MS(200), Some(Bytes(1 + 3700))));
        let all = looks.apart_from((MS(0), MS(400)), &[]);
        assert_eq!((all.window_ns, all.disk_bytes), (MS(400), Some(Bytes(4000))));
    }

    #[test]
    fn readings_are_bounded_and_the_newest_are_whole() {
        let mut looks = Looks::default();
        for at in 0..(3 * Looks::MOST as u64) {
            looks.push(Look { at: MS(at), counts: Surroundings::default() });
        }
        let kept = looks.as_slice();
        assert!(kept.len() <= Looks::MOST && kept.len() > Looks::MOST / 2);
        assert_eq!(kept.last().map(|look| look.at), Some(MS(3 * Looks::MOST as u64 - 1)));
        assert!(kept.windows(2).all(|pair| pair[0].at < pair[1].at));
    }

    #[test]
    fn a_counter_that_went_back_is_absent() {
        let looks = looks(&[(0, 5), (100, 3)]);
        assert_eq!(looks.around(MS(10), MS(20)).unwrap().disk_bytes, None);
    }
}
