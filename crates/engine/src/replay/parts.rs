//! What a replay records, by kind of operation.

use std::sync::Arc;

use flashlag_device::{Clock, SchedulerTimes, WaitMeter, WaitReading, WaitSampler, WaitWindow};
use flashlag_spec::replay::{ReplayKind, ReplayOp, ReplaySave};
use flashlag_stats::live::Live;
use flashlag_stats::{Histogram, OpTimes, Recorder, RecorderConfig, Wait, WaitSplit, Waited};
use flashlag_units::{Bytes, InOrder, Nanos};

use super::job::{ReplayJob, ReplayPart};

/// An operation that began later than this after its time has missed it: one frame of a display.
pub(super) const LATE: Nanos = Nanos(16_666_667);
/// A wait for the schedule checks the stop flag at least this often.
pub(super) const LOOK_UP: Nanos = Nanos::from_millis(100);

/// Records the operations of a replay by kind.
#[derive(Debug)]
pub(super) struct Parts {
    start: Nanos,
    recorders: Vec<(ReplayKind, Recorder, Histogram)>,
    /// Records all kinds together, only for the progress display.
    all: Recorder,
}

impl Parts {
    /// `aligned`: whether other threads record the same replay.
    pub(super) fn new(
        job: &ReplayJob<'_>,
        start: Nanos,
        live: Option<Arc<Live>>,
        aligned: bool,
    ) -> Parts {
        let (interval, stall_over) = (job.interval, job.stall_over);
        let recorder = |live| {
            let plain = Recorder::new(RecorderConfig { start, interval, stall_over, live });
            if aligned { plain.aligned() } else { plain }
        };
        let has = |kind: &ReplayKind| match kind {
            ReplayKind::Save => !job.stream.saves.is_empty(),
            kind => {
                let recorded = job.stream.ops.iter().filter(|op| op.call.is_recorded());
                recorded.into_iter().any(|op| op.call.kind() == *kind)
            }
        };
        let kinds = ReplayKind::ALL.into_iter().filter(has);
        Parts {
            start,
            recorders: kinds.map(|kind| (kind, recorder(None), Histogram::new())).collect(),
            all: recorder(live),
        }
    }

    fn of(&mut self, kind: ReplayKind) -> Option<&mut (ReplayKind, Recorder, Histogram)> {
        self.recorders.iter_mut().find(|(of, ..)| *of == kind)
    }

    /// Records an operation or a transaction. Returns whether it may be a stall.
    pub(super) fn record(
        &mut self,
        kind: ReplayKind,
        times: OpTimes,
        waited: Option<Waited>,
        traced: Option<Nanos>,
    ) -> bool {
        if kind != ReplayKind::Save {
            self.all.record(OpTimes { intended: None, ..times });
        }
        let Some((_, recorder, histogram)) = self.of(kind) else { return false };
        if let Some(waited) = waited {
            recorder.set_waited(waited);
        }
        if times.intended.is_some_and(|intended| times.started.saturating_since(intended) > LATE) {
            recorder.miss_slots(1);
        }
        if let Some(traced) = traced {
            histogram.record(traced);
        }
        recorder.record(times)
    }

    pub(super) fn record_stall(&mut self, kind: ReplayKind, op: OpTimes, split: Option<WaitSplit>) {
        if let Some((_, recorder, _)) = self.of(kind) {
            recorder.record_stall(op, split);
        }
    }

    pub(super) fn record_wait(&mut self, kind: ReplayKind, latency: Nanos, split: WaitSplit) {
        if let Some((_, recorder, _)) = self.of(kind) {
            recorder.record_wait(latency, split);
        }
    }

    /// The kinds that had an operation; all of them last to `now`.
    pub(super) fn finish(self, now: Nanos) -> (Vec<ReplayPart>, Nanos) {
        let parts = self.recorders.into_iter().map(|(kind, recorder, traced)| {
            let recorded = recorder.finish(now);
            ReplayPart { kind, recorded, traced }
        });
        let done = parts.filter(|part| part.recorded.latency.count() > 0).collect();
        (done, now.since(self.start))
    }
}

/// A transaction of the thread that has begun and not ended.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    save: ReplaySave,
    intended: Option<Nanos>,
    started: Nanos,
    traced_from: Nanos,
    bytes: Bytes,
    waited: Option<Waited>,
}

/// Follows the transactions of one thread.
#[derive(Debug, Default)]
pub(super) struct Saves {
    /// The next transactions, the first one last.
    next: Vec<ReplaySave>,
    under_way: Option<UnderWay>,
}

impl Saves {
    pub(super) fn new(mut saves: Vec<ReplaySave>) -> Saves {
        saves.order_by_key(|save| std::cmp::Reverse(save.first));
        Saves { next: saves, under_way: None }
    }

    /// An operation of the thread has ended. Records the transaction that ended with it.
    pub(super) fn ended(
        &mut self,
        index: u32,
        op: &ReplayOp,
        times: OpTimes,
        waited: Option<Waited>,
        parts: &mut Parts,
    ) {
        while self.next.last().is_some_and(|save| save.first < index) {
            self.next.pop();
        }
        if let Some(save) = self.next.pop_if(|save| save.first == index) {
            let (intended, started) = (times.intended, times.started);
            let (bytes, traced_from) = (Bytes::ZERO, op.at);
            let waited = waited.map(|_| Waited::default());
            self.under_way = Some(UnderWay { save, intended, started, traced_from, bytes, waited });
        }
        let Some(one) = &mut self.under_way else { return };
        if op.call.kind() == ReplayKind::Write {
            one.bytes = one.bytes.plus(times.bytes);
        }
        one.waited = one.waited.zip(waited).map(|(sum, more)| sum.plus(&more));
        if one.save.last > index {
            return;
        }
        let UnderWay { intended, started, traced_from, bytes, waited, .. } = *one;
        self.under_way = None;
        let times = OpTimes { intended, started, flush_from: None, ended: times.ended, bytes };
        let latency = times.ended.since(started);
        // Between its operations, the thread waited only for the app itself.
        let waited = waited.map(|mut waited| {
            waited.add(Wait::Executing, latency.saturating_since(waited.total()));
            waited.scaled_to(latency)
        });
        let traced = op.took.map(|took| op.at.plus(took).saturating_since(traced_from));
        if parts.record(ReplayKind::Save, times, waited, traced) {
            parts.record_stall(ReplayKind::Save, times, None);
        }
    }
}

/// Reads where the time of a replaying thread goes.
#[derive(Debug)]
pub(super) struct Meter<M> {
    sampler: WaitSampler<M>,
    first: Option<WaitReading>,
    idle: Nanos,
    outside: SchedulerTimes,
}

impl<M: WaitMeter> Meter<M> {
    pub(super) fn new<C: Clock>(meter: M, clock: &C) -> Meter<M> {
        let mut sampler = WaitSampler::new(meter, clock);
        let first = sampler.read(clock);
        Meter { sampler, first, idle: Nanos::ZERO, outside: SchedulerTimes::default() }
    }

    /// Before an operation: the latest reading, renewed if it is old.
    pub(super) fn before<C: Clock>(&mut self, now: Nanos, clock: &C) -> Option<WaitReading> {
        self.sampler.read_if_due(now, clock);
        self.sampler.last()
    }

    /// After an operation that began with a reading: the split of its wait, taken for each stall
    /// and each sampled operation. The flag says which.
    pub(super) fn after<C: Clock>(
        &mut self,
        from: WaitReading,
        times: OpTimes,
        stalled: bool,
        clock: &C,
    ) -> Option<(WaitSplit, bool)> {
        let latency = times.ended.since(times.started);
        let early = WaitWindow { from, to: WaitReading { at: times.ended.max(from.at), ..from } };
        if !stalled && !early.is_tight_around(latency) {
            return None;
        }
        let window = WaitWindow { from, to: self.sampler.read(clock)? };
        Some((window.split_of(latency), window.is_tight_around(latency)))
    }

    /// Waits for the schedule by calling `wait`, whose time is not metered.
    pub(super) fn idle<C: Clock>(&mut self, clock: &C, wait: impl FnOnce()) {
        let (from, before) = (clock.now(), self.sampler.read(clock));
        wait();
        let (until, after) = (clock.now(), self.sampler.read(clock));
        self.idle = self.idle.plus(until.since(from));
        if let (Some(before), Some(after)) = (before, after) {
            let (from, to) = (before.times, after.times);
            self.outside.on_cpu = self.outside.on_cpu.plus(to.on_cpu.saturating_since(from.on_cpu));
            self.outside.runnable =
                self.outside.runnable.plus(to.runnable.saturating_since(from.runnable));
        }
    }

    /// The split of the thread's time until now, without its waits for the schedule.
    pub(super) fn split<C: Clock>(&mut self, clock: &C) -> Option<WaitSplit> {
        let (first, last) = self.first.zip(self.sampler.read(clock))?;
        let part = |last: Nanos, first: Nanos, outside: Nanos| {
            last.saturating_since(first).saturating_since(outside)
        };
        let on_cpu = part(last.times.on_cpu, first.times.on_cpu, self.outside.on_cpu);
        let runnable = part(last.times.runnable, first.times.runnable, self.outside.runnable);
        let elapsed = last.at.since(first.at).saturating_since(self.idle);
        Some(WaitSplit::of(elapsed, on_cpu, runnable))
    }
}
