use flashlag_schema::CardCheck;
use flashlag_units::Bytes;

use super::tally::Tally;
use super::{CHUNK, CardJob, CardMedium, CardPhase, CardPlan, Recording};
use crate::aligned::AlignedBuffer;

/// What is read again, part by part, of a chunk that can't be read.
const PART: usize = 4096;

/// Reads back what was written and was not read yet, and says in `check` what was found.
pub fn read_card(
    medium: &mut dyn CardMedium,
    job: &CardJob<'_>,
    check: &mut CardCheck,
) -> CardPhase {
    let plan = CardPlan::of(check);
    check.direct |= check.files_read == 0;
    // What is known of whole files: one that was not read to its end counts as not read.
    let mut whole = check.clone();
    let mut reading = Reading {
        tally: Tally::of(job.seed, check),
        buffer: AlignedBuffer::new(CHUNK.0 as usize, 4096),
        recording: job.recording(),
    };
    let mut stopped = false;
    while check.files_read < check.files && !stopped {
        stopped = !reading.file(medium, job, &plan, check);
        if !stopped {
            check.files_read += 1;
            whole = check.clone();
            reading.tally.tell(&mut whole);
        }
    }
    *check = whole;
    reading.recording.end(stopped)
}

struct Reading {
    tally: Tally,
    buffer: AlignedBuffer,
    recording: Recording,
}

impl Reading {
    /// Reads a file. Returns whether it was read to its end.
    fn file(
        &mut self,
        medium: &mut dyn CardMedium,
        job: &CardJob<'_>,
        plan: &CardPlan,
        check: &mut CardCheck,
    ) -> bool {
        let file = check.files_read;
        if medium.open(file).is_err() {
            self.tally.unreadable(check, plan.address(file), plan.length(file));
            return true;
        }
        check.direct &= medium.is_direct();
        for offset in plan.chunks(file) {
            if job.stopped() {
                return false;
            }
            let address = plan.address(file).plus(offset);
            let buffer = self.buffer.as_mut_slice();
            match self.recording.time(CHUNK, || medium.read(offset, buffer)) {
                Ok(()) => self.tally.add(check, address, self.buffer.as_slice()),
                Err(_) => self.in_parts(medium, check, address, offset),
            }
        }
        true
    }

    /// Reads a chunk part by part, to find what of it can be read.
    fn in_parts(
        &mut self,
        medium: &mut dyn CardMedium,
        check: &mut CardCheck,
        address: Bytes,
        offset: Bytes,
    ) {
        for (index, part) in (0..).zip(self.buffer.as_mut_slice().chunks_mut(PART)) {
            let within = Bytes(index * PART as u64);
            match medium.read(offset.plus(within), part) {
                Ok(()) => self.tally.add(check, address.plus(within), part),
                Err(_) => {
                    let length = Bytes(part.len() as u64);
                    self.tally.unreadable(check, address.plus(within), length);
                }
            }
        }
    }
}
