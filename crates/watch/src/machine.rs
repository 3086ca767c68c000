//! Reads this machine: several times a second the disk, seldom everything else.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flashlag_device::read_clock;
use flashlag_engine::{Excuses, free_space};
use flashlag_inspect::android::{OtherApps, is_android};
use flashlag_inspect::{CounterWatch, Probe, Reason, RequestWatch, Root};
use flashlag_inspect::{is_in_memory, memory_pressure, mount_of, unwritten_memory, waiters};
use flashlag_schema::counters::Counters;
use flashlag_schema::history::{Before, MachineState, ProgramBytes};
use flashlag_schema::{LimitCount, Look};
use flashlag_units::Nanos;
use rustix::time::ClockId;

use crate::glance::{Glance, Recent};
use crate::recorder::Scenery;
use crate::span::programs;
use crate::waits::Wait;

/// How often the disk is looked at.
pub const PERIOD: Nanos = Nanos::from_millis(250);
/// How often this process looks where it can't see the disk: only its own probes may have waited.
const PROBES: Nanos = Nanos::from_secs(1);
/// How often everything else is, at most.
const SELDOM: Nanos = Nanos::from_secs(10);
/// How often Android is asked what apps moved: it counts each hour by itself.
const APPS: Nanos = Nanos::from_secs(3600);
/// It is looked at so seldom that it takes at most this part of a CPU's time: a thousandth.
const PART: u64 = 1000;
/// How long before an incident programs are counted.
pub(crate) const HALF_MINUTE: Nanos = Nanos::from_secs(30);
/// Seconds before the end of a wait that are kept one by one.
const SECONDS: usize = 30;
/// A machine that was suspended for longer than this was.
const SUSPENDED: Nanos = Nanos::from_millis(100);
/// Most of those who wait, each named once.
const WAITING: usize = 8;

/// Everything that is read seldom, at one moment.
#[derive(Debug)]
struct Snapshot {
    counters: Counters,
    /// Time in which some task waited for memory since the machine's start.
    memory_pressure: Option<Nanos>,
}

/// The readers of this machine. It belongs to the thread that opens it.
#[derive(Debug)]
pub struct Machine {
    directory: PathBuf,
    probe: Probe,
    /// `None` where the disk's counters are hidden, as from apps and the shell of a phone.
    requests: Option<RequestWatch>,
    counters: CounterWatch,
    excuses: Excuses,
    /// The clock that counts suspends, less the one that does not.
    slept: Nanos,
    excused: Nanos,
    snapshots: VecDeque<Snapshot>,
    /// When everything is looked at next.
    due: Nanos,
    /// The files of limits on the disk, and when they are looked for again.
    limits: (Nanos, Vec<String>),
    apps: OtherApps,
    /// When Android is asked next.
    apps_due: Nanos,
    temperature: Option<i64>,
}

impl Machine {
    /// Opens the readers for a directory's storage. With probes the disk's own counters may be missing.
    ///
    /// # Errors
    /// Nothing would be measured, or the kernel keeps no scheduler statistics.
    pub fn open(directory: &Path, has_probes: bool) -> Result<Machine, Reason> {
        let probe = Probe::open(&Root::system(), directory);
        let is_storage = !mount_of(&Root::system(), directory).is_ok_and(|it| is_in_memory(&it));
        let requests = match RequestWatch::open(&probe) {
            Ok(watch) => Some(watch),
            Err(reason) if !is_storage => return Err(reason),
            Err(_) if has_probes => None,
            Err(reason) => {
                return Err(Reason::none(format!(
                    "{reason}; durable writes of its own measure it: --probe 30s"
                )));
            }
        };
        let excuses = Excuses::open()
            .map_err(|error| Reason::none(format!("scheduler statistics: {error}")))?;
        let counters = CounterWatch::open(&probe);
        Ok(Machine {
            directory: directory.to_owned(),
            probe,
            requests,
            counters,
            excuses,
            slept: slept(),
            excused: Nanos::ZERO,
            snapshots: VecDeque::new(),
            due: Nanos::ZERO,
            limits: (Nanos::ZERO, Vec::new()),
            apps: OtherApps::default(),
            apps_due: Nanos::ZERO,
            temperature: None,
        })
    }

    /// What is below the directory.
    pub fn probe(&self) -> &Probe {
        &self.probe
    }

    /// What can't be read here, and why.
    pub fn missing(&self) -> &[String] {
        self.counters.missing()
    }

    /// Sleeps for a period, then looks.
    pub fn next(&mut self) -> Glance {
        self.excuses.begin();
        let period = if self.requests.is_some() { PERIOD } else { PROBES };
        let due = read_clock(ClockId::Monotonic).plus(period);
        std::thread::sleep(Duration::from_nanos(period.0));
        let now = read_clock(ClockId::Monotonic);
        let slept = slept();
        let is_suspended = slept.saturating_since(self.slept) > SUSPENDED;
        self.slept = slept;
        let is_stopped = self.excuses.unexplained(due, now).is_some();
        if now.saturating_since(self.excused) >= Nanos::from_secs(1) {
            self.excused = now;
            self.excuses.look();
        }
        self.look(is_suspended || is_stopped)
    }

    /// Looks now.
    pub fn look(&mut self, is_after_stop: bool) -> Glance {
        let requests = self.requests.as_ref().map(RequestWatch::look);
        let look: Look = self.counters.look(self.temperature);
        Glance {
            look,
            requests: requests.flatten().unwrap_or_default(),
            // A disk that was there is gone.
            is_after_stop: is_after_stop || requests == Some(None),
            stolen: self.excuses.stolen(),
        }
    }

    /// Looks at everything else if it is time to: returns what programs moved since the last time.
    pub fn seldom(&mut self, now: Nanos) -> Option<Vec<ProgramBytes>> {
        if now < self.due {
            return None;
        }
        let mut moved = self.snapshot();
        if now >= self.apps_due && is_android(&Root::system()) {
            self.apps_due = now.plus(APPS);
            // A phone shows no processes of others; the first answer only starts the count.
            let apps = self.apps.by_name(&Root::system()).unwrap_or_default();
            moved.extend(apps.into_iter().map(|(name, bytes)| ProgramBytes { name, bytes }));
        }
        Some(moved)
    }

    /// The state of machine and disk.
    pub fn state(&self) -> MachineState {
        let space = free_space(&self.directory).ok();
        let device = self.probe.device();
        let life = device.life.value();
        let software = self.probe.software();
        let kernel = software.kernel.value().map(|line| release(line));
        MachineState {
            free_bytes: space.map(|space| space.available),
            total_bytes: space.map(|space| space.total),
            used_percent_at_most: life.map(|life| life.used_percent_at_most),
            pre_eol: life.and_then(|life| life.pre_eol.clone()),
            written_bytes: life.and_then(|life| life.written_bytes),
            hottest_millicelsius: self.temperature,
            kernel,
            firmware: device.firmware.value().cloned(),
        }
    }

    fn snapshot(&mut self) -> Vec<ProgramBytes> {
        let (counters, cost) = costed(|| self.probe.counters());
        self.due = counters.at.plus(seldom(cost));
        self.temperature = counters.storage_millicelsius.value().copied();
        let moved = self.snapshots.back().map(|before| moved(&before.counters, &counters));
        // Two are enough for half a minute where they are seldom.
        let from = counters.at.saturating_since(HALF_MINUTE);
        while self.snapshots.get(1).is_some_and(|second| second.counters.at <= from) {
            self.snapshots.pop_front();
        }
        self.snapshots
            .push_back(Snapshot { counters, memory_pressure: memory_pressure(&Root::system()) });
        moved.unwrap_or_default()
    }
}

impl Scenery for Machine {
    fn waiting(&mut self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for waiter in waiters(&Root::system()) {
            let name = waiter.to_string();
            if !names.contains(&name) {
                names.push(name);
            }
            if names.len() >= WAITING {
                break;
            }
        }
        names
    }

    fn limits(&mut self) -> Vec<String> {
        let now = read_clock(ClockId::Monotonic);
        if now >= self.limits.0 {
            let (files, cost) = costed(|| self.probe.io_limits());
            self.limits = (now.plus(seldom(cost)), files);
        }
        self.limits.1.clone()
    }

    fn before(&mut self, wait: &Wait, recent: &Recent) -> Before {
        self.snapshot();
        let (first, last) = (self.snapshots.front(), self.snapshots.back());
        let both = first.zip(last);
        let from = wait.from.saturating_since(HALF_MINUTE);
        let seen = recent.during(from, wait.to).unwrap_or_default();
        let (dirty, writeback) = unwritten_memory(&Root::system());
        Before {
            window_ns: both
                .map_or(Nanos::ZERO, |(a, b)| b.counters.at.saturating_since(a.counters.at)),
            programs: both.map(|(a, b)| moved(&a.counters, &b.counters)).unwrap_or_default(),
            dirty_bytes: dirty,
            writeback_bytes: writeback,
            commits: seen.commits,
            discards: seen.discards,
            cpu_pressure_ns: seen.cpu_pressure_ns,
            io_pressure_ns: seen.io_pressure_ns,
            memory_pressure_ns: both
                .and_then(|(a, b)| Some(b.memory_pressure?.saturating_since(a.memory_pressure?))),
            held_back: both.and_then(|(a, b)| {
                Some(held_back(&b.counters.limits)?.saturating_sub(held_back(&a.counters.limits)?))
            }),
            millicelsius: self.temperature,
            seconds: recent.seconds(wait.to, SECONDS),
            limits: Vec::new(),
        }
    }
}

/// What something returns, and the CPU time that it took.
fn costed<T>(what: impl FnOnce() -> T) -> (T, Nanos) {
    let before = read_clock(ClockId::ThreadCPUTime);
    let done = what();
    (done, read_clock(ClockId::ThreadCPUTime).saturating_since(before))
}

/// How long what costs that much is not done again.
fn seldom(cost: Nanos) -> Nanos {
    SELDOM.max(Nanos(cost.0.saturating_mul(PART)))
}

/// What programs moved between two readings of everything, most first.
fn moved(before: &Counters, after: &Counters) -> Vec<ProgramBytes> {
    let (Some(before), Some(after)) = (before.processes.value(), after.processes.value()) else {
        return Vec::new();
    };
    let all = after.since(before).into_iter();
    let all = all.map(|it| ProgramBytes { name: it.name, bytes: it.io_bytes });
    programs(all.collect::<Vec<_>>().iter())
}

/// How often groups were held back since they were made; nothing where there is no limit.
fn held_back(limits: &[LimitCount]) -> Option<u64> {
    let times = limits.iter().filter_map(|limit| limit.times.value().copied());
    (!limits.is_empty()).then(|| times.fold(0, u64::saturating_add))
}

/// `Linux 6.12.1 aarch64` → `6.12.1`.
fn release(line: &str) -> String {
    line.split_whitespace().nth(1).unwrap_or(line).to_owned()
}

/// How long the machine has been suspended since its start.
fn slept() -> Nanos {
    read_clock(ClockId::Boottime).saturating_since(read_clock(ClockId::Monotonic))
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{Limit, LimitKind};
    use flashlag_spec::Reading;

    use super::*;

    #[test]
    fn groups_without_a_limit_were_not_held_back_and_those_of_several_are_added() {
        let limited = |times: Reading<u64>| LimitCount {
            limit: Limit {
                kind: LimitKind::Cpu,
                file: "cpu.max".to_owned(),
                device: None,
                value: 500,
                used: None,
            },
            amount: Reading::Value(0),
            times,
        };
        assert_eq!(held_back(&[]), None);
        let unknown = limited(Reading::unavailable("no such file"));
        assert_eq!(
            held_back(&[limited(Reading::Value(3)), unknown, limited(Reading::Value(4))]),
            Some(7)
        );
    }
}
