use std::sync::Arc;

use flashlag_spec::scenario::IoOperation;
use flashlag_stats::live::Live;
use flashlag_stats::{Interval, OpTimes, PhaseRecord, Recorder, RecorderConfig, WaitSplit, Waited};
use flashlag_units::{Bytes, Nanos};

use super::job::{Job, Sides};

/// Records every operation and, of a test that reads and writes, each kind separately as well.
#[derive(Debug)]
pub(super) struct Recording {
    all: Recorder,
    sides: Option<Box<(Recorder, Recorder)>>,
}

impl Recording {
    /// Records from `start` on. `aligned` if other threads record the same test.
    pub(super) fn new(
        job: &Job,
        start: Nanos,
        live: Option<Arc<Live>>,
        aligned: bool,
    ) -> Recording {
        let (interval, stall_over) = (job.interval, job.stall_over);
        let recorder = |live| {
            let plain = Recorder::new(RecorderConfig { start, interval, stall_over, live });
            if aligned { plain.aligned() } else { plain }
        };
        let mixed = job.operation == IoOperation::Mixed;
        Recording {
            all: recorder(live),
            sides: mixed.then(|| Box::new((recorder(None), recorder(None)))),
        }
    }

    fn side(&mut self, reads: bool) -> Option<&mut Recorder> {
        let (read, write) = &mut **self.sides.as_mut()?;
        Some(if reads { read } else { write })
    }

    /// As [`Recorder::set_waited`].
    pub(super) fn set_waited(&mut self, reads: bool, waited: Waited) {
        if let Some(side) = self.side(reads) {
            side.set_waited(waited);
        }
        self.all.set_waited(waited);
    }

    /// As [`Recorder::record`].
    #[inline]
    pub(super) fn record(&mut self, reads: bool, op: OpTimes) -> bool {
        if let Some(side) = self.side(reads) {
            side.record(op);
        }
        self.all.record(op)
    }

    /// As [`Recorder::record_stall`].
    pub(super) fn record_stall(&mut self, reads: bool, op: OpTimes, split: Option<WaitSplit>) {
        if let Some(side) = self.side(reads) {
            side.record_stall(op, split);
        }
        self.all.record_stall(op, split);
    }

    /// As [`Recorder::record_wait`].
    pub(super) fn record_wait(&mut self, reads: bool, latency: Nanos, split: WaitSplit) {
        if let Some(side) = self.side(reads) {
            side.record_wait(latency, split);
        }
        self.all.record_wait(latency, split);
    }

    /// As [`Recorder::miss_slots`].
    pub(super) fn miss_slots(&mut self, reads: bool, slots: u64) {
        if let Some(side) = self.side(reads) {
            side.miss_slots(slots);
        }
        self.all.miss_slots(slots);
    }

    /// As [`Recorder::begin_at`].
    pub(super) fn begin_at(&mut self, start: Nanos) {
        self.each(|recorder| recorder.begin_at(start));
    }

    /// As [`Recorder::end_intervals_every`].
    pub(super) fn end_intervals_every(&mut self, step: Bytes) {
        self.each(|recorder| recorder.end_intervals_every(step));
    }

    /// As [`Recorder::end_series`].
    pub(super) fn end_series(&mut self, now: Nanos) {
        self.each(|recorder| recorder.end_series(now));
    }

    /// As [`Recorder::set_filled`].
    pub(super) fn set_filled(&mut self, filled: Bytes) {
        self.each(|recorder| recorder.set_filled(filled));
    }

    /// As [`Recorder::set_temperature`].
    pub(super) fn set_temperature(&mut self, millicelsius: i64) {
        self.each(|recorder| recorder.set_temperature(millicelsius));
    }

    fn each(&mut self, mut action: impl FnMut(&mut Recorder)) {
        action(&mut self.all);
        if let Some(sides) = &mut self.sides {
            action(&mut sides.0);
            action(&mut sides.1);
        }
    }

    /// Intervals of all operations that have ended.
    #[inline]
    pub(super) fn intervals(&self) -> &[Interval] {
        self.all.intervals()
    }

    /// Ends the phase at `now`.
    pub(super) fn finish(self, now: Nanos) -> (PhaseRecord, Option<Box<Sides>>) {
        let sides = self.sides.map(|sides| {
            let (read, write) = *sides;
            Box::new(Sides { read: read.finish(now), write: write.finish(now) })
        });
        (self.all.finish(now), sides)
    }
}
