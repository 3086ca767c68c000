use flashlag_device::DeviceError;
use flashlag_schema::CardCheck;
use flashlag_units::Bytes;
use flashlag_workload::Payload;
use rustix::io::Errno;

use super::{CHUNK, CardJob, CardMedium, CardPhase, CardPlan, Recording};
use crate::aligned::AlignedBuffer;

/// After as many failed writes one after the other, nothing is taken any more.
const FAILURES: u32 = 4;

/// Why writing ended.
enum End {
    /// Everything was written, or there is no more room.
    Written,
    Stopped,
}

/// Writes what `check` lacks, and says in it how far that went: to `keep` after each file, so that a process that
/// is killed can be followed by another. A file that was not whole is written anew.
///
/// # Errors
/// The filesystem can't give files room before they are written. An error of the storage is an answer, and
/// in `check`.
pub fn write_card(
    medium: &mut dyn CardMedium,
    job: &CardJob<'_>,
    check: &mut CardCheck,
    keep: &mut dyn FnMut(&CardCheck),
) -> Result<CardPhase, DeviceError> {
    let plan = CardPlan::of(check);
    if check.quick {
        reserve(medium, &plan, check)?;
    }
    let mut writing = Writing {
        payload: Payload::new(job.seed),
        buffer: AlignedBuffer::new(CHUNK.0 as usize, 4096),
        recording: job.recording(),
        failures: 0,
        doubtful: 0,
    };
    let end = writing.all(medium, job, check, keep);
    check.is_written = matches!(end, End::Written);
    Ok(writing.recording.end(matches!(end, End::Stopped)))
}

/// Gives every file its room, so that the files lie over the whole free space.
fn reserve(
    medium: &mut dyn CardMedium,
    plan: &CardPlan,
    check: &mut CardCheck,
) -> Result<(), DeviceError> {
    for file in check.files..plan.files() {
        match medium.create(file, Some(plan.file)) {
            Ok(()) => {}
            Err(error) if error.is_no_space() => {
                check.span_bytes = plan.address(file);
                return Ok(());
            }
            Err(error) if is_answer(&error) => {
                check.refused = Some(error.to_string());
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether an error is the storage's own.
fn is_answer(error: &DeviceError) -> bool {
    let answers =
        [Errno::IO, Errno::ROFS, Errno::UCLEAN, Errno::TIMEDOUT, Errno::NODATA, Errno::REMOTEIO];
    answers.iter().any(|errno| error.errno == Some(errno.raw_os_error()))
}

struct Writing {
    payload: Payload,
    buffer: AlignedBuffer,
    recording: Recording,
    failures: u32,
    /// Files counted since writes began to fail.
    doubtful: u32,
}

impl Writing {
    fn all(
        &mut self,
        medium: &mut dyn CardMedium,
        job: &CardJob<'_>,
        check: &mut CardCheck,
        keep: &mut dyn FnMut(&CardCheck),
    ) -> End {
        while check.refused.is_none() && check.files < CardPlan::of(check).files() {
            let plan = CardPlan::of(check);
            let file = check.files;
            let opened = if check.quick { medium.open(file) } else { medium.create(file, None) };
            if let Err(error) = opened {
                self.end_by(error, check);
                return End::Written;
            }
            for offset in plan.chunks(file) {
                if job.stopped() {
                    return End::Stopped;
                }
                let address = plan.address(file).plus(offset);
                self.payload.fill(self.buffer.as_mut_slice(), address, check.generation);
                let buffer = self.buffer.as_slice();
                let written = self.recording.time(CHUNK, || medium.write(offset, buffer));
                if !self.goes_on(written, check) {
                    return End::Written;
                }
            }
            // A sync that succeeds shows nothing where a write past the page cache failed.
            if let Err(error) = medium.sync()
                && !self.goes_on(Err(error), check)
            {
                return End::Written;
            }
            self.doubtful = if self.failures > 0 { self.doubtful + 1 } else { 0 };
            check.files += 1;
            check.written_bytes = check.written_bytes.plus(plan.length(file));
            // Files after a failed write may be taken back.
            if self.doubtful == 0 {
                keep(check);
            }
        }
        End::Written
    }

    /// Whether more is written after this result.
    fn goes_on(&mut self, done: Result<(), DeviceError>, check: &mut CardCheck) -> bool {
        let Err(error) = done else {
            self.failures = 0;
            return true;
        };
        let read_only = error.errno == Some(Errno::ROFS.raw_os_error());
        if error.is_no_space() || read_only || self.failures + 1 >= FAILURES {
            self.end_by(error, check);
            return false;
        }
        self.failures += 1;
        check.failed_writes += 1;
        true
    }

    /// Writing ends here: where there is no room, at the last whole file.
    fn end_by(&mut self, error: DeviceError, check: &mut CardCheck) {
        // No write came after the last failures.
        check.failed_writes = check.failed_writes.saturating_sub(u64::from(self.failures));
        let (plan, doubtful) = (CardPlan::of(check), self.doubtful.min(check.files));
        check.files -= doubtful;
        for file in check.files..check.files + doubtful {
            check.written_bytes = check.written_bytes.saturating_minus(plan.length(file));
        }
        if error.is_no_space() {
            check.span_bytes = plan.address(check.files);
        } else {
            check.refused = Some(error.to_string());
        }
    }
}

impl CardPlan {
    /// The most that a check writes: its places, and some of them once more.
    pub fn most(&self) -> Bytes {
        self.written().plus(Bytes(super::REWRITTEN * CHUNK.0))
    }
}
