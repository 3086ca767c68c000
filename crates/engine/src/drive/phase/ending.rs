//! Ends a phase: waits for the operations in flight, flushes writes that are not durable, and reads
//! everything back if requested.

use flashlag_device::{Clock, Device, DeviceError, Durability, Op, Request, WaitMeter};
use flashlag_units::{Bytes, Nanos};

use super::Phase;
use crate::drive::job::{EndReason, JobOutcome, Verification, Watch};
use crate::drive::recording::Recording;
use crate::one::run_one;

impl<D: Device, M: WaitMeter> Phase<'_, D, M> {
    /// Waits for the operations in flight, flushes, and reads back.
    pub(super) fn finish(mut self, mut ended: EndReason, watch: &Watch<'_, M>) -> JobOutcome {
        while self.in_flight > 0 {
            let waited = self.device.reap(1, &mut self.completed);
            let nothing = self.completed.is_empty();
            let taken = self.take_completed();
            if let Err(error) = waited.and(taken)
                && ended.error().is_none()
            {
                ended = EndReason::from_error(error);
            }
            if nothing {
                break;
            }
        }
        // The series ends with the last operation: a flush at the end belongs to no interval.
        self.now = self.now.max(self.device.clock().now());
        self.recording.end_series(self.now);
        let mut final_flush = None;
        if self.job.durability == Durability::None && self.written.0 > 0 {
            match self.flush() {
                // If nothing was counted yet, the flush is not counted either.
                Ok(time) => final_flush = self.counted_from.map(|_| time),
                Err(error) if ended.error().is_none() => ended = EndReason::from_error(error),
                Err(_) => {}
            }
        }
        let now = self.device.clock().now();
        let time = match (self.first_reading, self.sampler.read(self.device.clock())) {
            (Some(first), Some(last)) => Some(self.split_without_rests(first, last)),
            _ => None,
        };
        self.count_unissued(now);
        let verified = self.verify(&ended, watch);
        if self.counted_from.is_none() {
            self.recording = Recording::new(self.job, now, None, false);
        }
        let (recorded, sides) = self.recording.finish(now);
        let (moved, written, out_of_budget) = (self.moved, self.written, self.out_of_budget);
        let thought = self.thinking.thought;
        JobOutcome {
            recorded,
            sides,
            time,
            thought,
            final_flush,
            moved,
            written,
            ended,
            out_of_budget,
            verified,
        }
    }

    /// Counts the slots of the schedule that were due before the phase ended, but whose operation
    /// never began.
    fn count_unissued(&mut self, now: Nanos) {
        let Some(from) = self.counted_from else { return };
        let end = self.job.limits.time.map_or(now, |time| now.min(from.plus(time)));
        for lane in &mut self.lanes {
            while self.issued < self.max_ops
                && lane.arrivals.as_ref().is_some_and(|arrivals| arrivals.peek() < end)
            {
                lane.arrivals.iter_mut().for_each(|arrivals| {
                    arrivals.next_time();
                });
                let reads = lane.next_reads(self.job.operation);
                self.recording.miss_slots(reads, 1);
                self.issued += 1;
            }
        }
    }

    fn flush(&mut self) -> Result<Nanos, DeviceError> {
        let from = self.device.clock().now();
        let flush = Request {
            slot: 0,
            op: Op::Flush,
            offset: Bytes::ZERO,
            length: Bytes::ZERO,
            durability: Durability::None,
        };
        run_one(self.device, flush, &mut self.completed)?;
        Ok(self.device.clock().now().since(from))
    }

    fn verify(&mut self, ended: &EndReason, watch: &Watch<'_, M>) -> Option<Verification> {
        let generations = self.generations.as_ref()?;
        if *ended == EndReason::Stopped {
            return None;
        }
        Some(generations.verify(self.device, self.job.block, &self.payload, watch.stop))
    }
}
