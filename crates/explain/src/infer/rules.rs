//! The rules, in order. The first one with evidence names the cause.

use flashlag_schema::{
    Change, ChangeKind, Device, Phase, Run, StallCause, StallRecord, Surroundings, Watched,
};
use flashlag_spec::Operation;
use flashlag_spec::scenario::Durability;
use flashlag_units::{Bytes, Nanos};

use super::speed::{best, writes};

/// If other processes move at least this share of the disk's bytes, they move almost all of them.
const ALMOST_ALL: f64 = 0.8;
/// A filesystem's work explains a stall if its bytes at the disk's best speed take this many times
/// as long.
const EXPLAINED: f64 = 1.1;
/// Others' bytes explain a stall if at the disk's best speed they take at least this part of it: if
/// the disk waits for its own cache or collects in the meantime, it does so for them.
const MOST: f64 = 0.6;
/// Bytes do not explain a stall if at the disk's best speed they take less than this part of it.
const UNEXPLAINED: f64 = 0.3;
/// The disk moved few bytes if at its best speed they take less than this part of the stall.
const FEW: f64 = 0.5;
/// Others are quiet if they move less than this part of what the disk could.
const QUIET: f64 = 0.05;
/// A window longer than this many times its stall, plus half a second, shows too much of the time
/// before and after.
const LOOSE: u64 = 3;
/// A device does not go to sleep before it has rested this long.
const REST: Nanos = Nanos::from_secs(1);
/// Fewest similar stalls of a phase for a rule that depends on their similarity.
const ALIKE: usize = 3;
/// Most bytes that a filesystem writes for itself per durable write: journal blocks and a commit.
const OVERHEAD: u64 = 12 << 10;

/// The inferred cause of each stall.
pub(super) fn causes(phase: &Phase, watched: &Watched, run: &Run) -> Vec<Option<StallCause>> {
    let scene = Scene {
        stalls: &phase.stalls,
        changes: &phase.changes,
        calm: &watched.calm,
        lately: &watched.calm,
        block_bytes: phase.block_bytes,
        bytes_per_ns: best(phase, &run.phases).map(|speed| speed.bytes_per_ns),
        is_flash: is_flash(&run.environment.device),
        writes: writes(phase),
        // These cause commits themselves, which write others' bytes, too.
        commits: phase.durable == Durability::Fsync || phase.operation == Operation::Save,
        has_background: phase.background.is_some(),
        is_limited: is_limited(run),
    };
    phase.stalls.iter().map(|stall| scene.cause(stall)).collect()
}

/// What the rules know besides a stall itself.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// All stalls of the same operations.
    pub stalls: &'a [StallRecord],
    /// What changed over time.
    pub changes: &'a [Change],
    /// The counters outside of stalls.
    pub calm: &'a Surroundings,
    /// The counters of the time before, in which others have to be quiet if the disk's own work is to be the cause.
    pub lately: &'a Surroundings,
    /// Bytes of each operation.
    pub block_bytes: Bytes,
    /// The best speed that the disk has shown.
    pub bytes_per_ns: Option<f64>,
    /// Whether the disk is known to be flash.
    pub is_flash: bool,
    /// Whether the operations write.
    pub writes: bool,
    /// Whether the operations cause commits of the filesystem themselves.
    pub commits: bool,
    /// Whether the scenario wrote beside them.
    pub has_background: bool,
    /// Whether a control group limits I/O to the disk.
    pub is_limited: bool,
}

impl Scene<'_> {
    /// The inferred cause of a stall; `None` if no rule names one.
    pub fn cause(&self, stall: &StallRecord) -> Option<StallCause> {
        let time = stall.time?;
        if StallCause::of(&time) != StallCause::Storage {
            return None;
        }
        let around = stall.around.as_ref()?;
        let blocked = time.blocked_ns;
        let loose = stall.ns.0.saturating_mul(LOOSE).max(Nanos::from_millis(500).0);
        if around.window_ns.0 > loose {
            return None;
        }
        self.held_above(stall, around)
            .or_else(|| self.discarding(around, blocked))
            .or_else(|| self.throttled(stall, around))
            .or_else(|| self.by_filesystem(around, blocked))
            .or_else(|| self.by_others(around, blocked))
            .or_else(|| self.waking_up())
            .or_else(|| self.collecting(stall, around, blocked))
    }

    /// A control group limits I/O to the disk, which had hardly a request meanwhile: the limit held them above it.
    fn held_above(&self, stall: &StallRecord, around: &Surroundings) -> Option<StallCause> {
        (self.is_limited && was_idle(around, stall.ns)).then_some(StallCause::GroupLimit)
    }

    /// The disk worked on discards for more than half of the time, and moved few bytes. (Behind
    /// others' bytes, discards only wait themselves.)
    fn discarding(&self, around: &Surroundings, blocked: Nanos) -> Option<StallCause> {
        let busy = around.discard_ns.filter(|_| around.discards > Some(0))?;
        let few = self.expected(around, blocked)? < FEW;
        (few && busy.0 > blocked.0 / 2).then_some(StallCause::Discard)
    }

    /// Throughput had fallen while the storage was hot, and the storage is still as hot.
    fn throttled(&self, stall: &StallRecord, around: &Surroundings) -> Option<StallCause> {
        let hot = around.hottest_millicelsius?;
        let mut changes = self.changes.iter().filter(|change| change.t_ns <= stall.t_ns);
        let fell = changes.any(|change| change.kind == ChangeKind::Throttled);
        let hottest = self.calm.hottest_millicelsius.is_none_or(|calm| hot >= calm);
        (fell && hottest).then_some(StallCause::Throttling)
    }

    /// The filesystem checkpointed or cleaned during this and most other stalls, hardly ever
    /// outside of them, and moved bytes that take that long.
    fn by_filesystem(&self, around: &Surroundings, blocked: Nanos) -> Option<StallCause> {
        if self.expected(around, blocked)? < EXPLAINED {
            return None;
        }
        let cleaned = |seen: &Surroundings| seen.cleanings;
        if self.coincides(around, cleaned) {
            return Some(StallCause::Cleaning);
        }
        let checkpointed = |seen: &Surroundings| seen.checkpoints;
        self.coincides(around, checkpointed).then_some(StallCause::Checkpoint)
    }

    /// Whether a counted event happens in stalls and hardly ever otherwise.
    fn coincides(&self, around: &Surroundings, count: fn(&Surroundings) -> Option<u64>) -> bool {
        if count(around).is_none_or(|count| count == 0) {
            return false;
        }
        let seen: Vec<&Surroundings> =
            self.stalls.iter().filter_map(|stall| stall.around.as_ref()).collect();
        let hits = seen.iter().filter(|around| count(around) > Some(0)).count();
        let Some(calm) = count(self.calm) else { return false };
        let length = self.calm.window_ns.0.max(1) as f64;
        let by_chance = calm as f64 / length * around.window_ns.0 as f64;
        hits >= ALIKE && hits * 10 >= seen.len() * 9 && by_chance < 0.05
    }

    /// Others moved almost all bytes, which even at the disk's best speed take most of the stall.
    /// Neither a commit nor a flush is a candidate, nor does the filesystem clean, whose own bytes
    /// belong to no process.
    fn by_others(&self, around: &Surroundings, blocked: Nanos) -> Option<StallCause> {
        let (others, all) = (around.others_bytes()?, around.disk_bytes?);
        let almost_all = others.0 as f64 >= ALMOST_ALL * all.0 as f64;
        let few_flushes = around.flush_ns.is_some_and(|flush| flush.0 <= blocked.0 / 2);
        let unsynced = around.commits == Some(0) || (few_flushes && !self.commits);
        let explained = self.time_of(others)? >= MOST * blocked.0 as f64;
        let cleans = around.cleanings > Some(0);
        (almost_all && unsynced && explained && !cleans).then_some(StallCause::OtherIo)
    }

    /// Every stall of the phase follows a rest of the device, and all are about equally long.
    fn waking_up(&self) -> Option<StallCause> {
        wakes(self.stalls).then_some(StallCause::WakeUp)
    }

    /// Flash that was being written to moved hardly any bytes during the wait, for any process:
    /// others are quiet and no background writer of the scenario runs, nothing was discarded, no
    /// cache had been used up, and the device neither slept nor was without a request.
    fn collecting(
        &self,
        stall: &StallRecord,
        around: &Surroundings,
        blocked: Nanos,
    ) -> Option<StallCause> {
        let wrote = around.own_bytes.is_some_and(|own| own > Bytes::ZERO);
        let quiet = self.is_quiet(around)? && self.is_quiet(self.lately)?;
        let alone = quiet && !self.has_background;
        let idle = around.quiet_before_ns.is_none_or(|quiet| quiet >= REST);
        let exhausted = self
            .changes
            .iter()
            .any(|change| change.kind == ChangeKind::CacheExhausted && change.t_ns <= stall.t_ns);
        let unexplained = self.expected(around, blocked)? < UNEXPLAINED;
        let writes = self.writes && wrote;
        let free = around.discards.is_none_or(|discards| discards == 0);
        let worked = !was_idle(around, stall.ns);
        let here = self.is_flash && writes && free && !idle && !exhausted && worked;
        (here && alone && unexplained).then_some(StallCause::GarbageCollection)
    }

    /// How long all bytes of the window take at the disk's best speed, in parts of the stall.
    fn expected(&self, around: &Surroundings, blocked: Nanos) -> Option<f64> {
        Some(self.time_of(around.disk_bytes?)? / blocked.0.max(1) as f64)
    }

    /// How long bytes take at the disk's best speed, in nanoseconds.
    fn time_of(&self, bytes: Bytes) -> Option<f64> {
        Some(bytes.0 as f64 / self.bytes_per_ns?)
    }

    /// Whether others move almost nothing beyond what the filesystem writes for these operations.
    fn is_quiet(&self, seen: &Surroundings) -> Option<bool> {
        let own = seen.own_bytes?.0;
        let operations = own / self.block_bytes.0.max(1) + 1;
        let own = own.saturating_add(operations.saturating_mul(OVERHEAD));
        let beyond = seen.disk_bytes?.saturating_minus(Bytes(own));
        Some(self.time_of(beyond)? < QUIET * seen.window_ns.0.max(1) as f64)
    }
}

/// Whether the disk had a request for less than half of a wait: what it waited for was above the disk.
pub fn was_idle(around: &Surroundings, wait: Nanos) -> bool {
    around.disk_busy_ns.is_some_and(|busy| busy.0 < wait.0 / 2)
}

fn is_limited(run: &Run) -> bool {
    let limits = run.environment.limits.as_ref();
    limits.is_some_and(|limits| limits.set.iter().any(|limit| limit.kind.is_of_io()))
}

/// Whether every stall of the phase follows a rest, and all are about as long.
fn wakes(stalls: &[StallRecord]) -> bool {
    let rested = |stall: &StallRecord| {
        stall.around.as_ref().and_then(|around| around.quiet_before_ns) >= Some(REST)
    };
    let longest = stalls.iter().map(|stall| stall.ns).max().unwrap_or_default();
    let shortest = stalls.iter().map(|stall| stall.ns).min().unwrap_or_default();
    let alike = longest.0 <= shortest.0.saturating_add(shortest.0 / 4);
    stalls.len() >= ALIKE && alike && stalls.iter().all(rested)
}

/// Whether the device is known to be flash: by its kind, and not by what a virtual machine reports.
pub fn is_flash(device: &Device) -> bool {
    let kind = device.kind.value().map(String::as_str);
    let turns = device.queue.rotational.value() == Some(&true);
    matches!(kind, Some("emmc" | "sd" | "ufs" | "nvme")) && !turns
}
