use std::fs::File;
use std::io;

use flashlag_units::Nanos;

/// What the scheduler says of a thread, summed since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerTimes {
    /// Executing.
    pub on_cpu: Nanos,
    /// Able to run, but waiting for a CPU.
    pub runnable: Nanos,
}

/// Reads where the calling thread's time goes.
pub trait WaitMeter {
    /// The times now; `None` where they can't be known.
    fn read(&self) -> Option<SchedulerTimes>;
}

/// A meter that may not be there: none reads nothing.
impl<M: WaitMeter> WaitMeter for Option<M> {
    #[inline]
    fn read(&self) -> Option<SchedulerTimes> {
        self.as_ref()?.read()
    }
}

impl<M: WaitMeter> WaitMeter for &M {
    #[inline]
    fn read(&self) -> Option<SchedulerTimes> {
        (*self).read()
    }
}

/// For virtual time, in which nobody waits for a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWaitMeter;

impl WaitMeter for NoWaitMeter {
    #[inline]
    fn read(&self) -> Option<SchedulerTimes> {
        None
    }
}

/// `/proc/thread-self/schedstat` of the thread that opened it: on-CPU nanoseconds, nanoseconds on
/// a run queue, time slices. One `pread` a reading, about 0.3 µs; no allocation.
#[derive(Debug)]
pub struct ThreadWaitMeter {
    file: File,
}

impl ThreadWaitMeter {
    /// Opens the meter of the calling thread.
    ///
    /// # Errors
    /// Where the kernel keeps no scheduler statistics (`CONFIG_SCHED_INFO`).
    pub fn open() -> io::Result<ThreadWaitMeter> {
        let meter = ThreadWaitMeter { file: File::open("/proc/thread-self/schedstat")? };
        match meter.read() {
            Some(_) => Ok(meter),
            None => Err(io::Error::other("/proc/thread-self/schedstat is not two numbers")),
        }
    }
}

impl WaitMeter for ThreadWaitMeter {
    fn read(&self) -> Option<SchedulerTimes> {
        let mut text = [0u8; 96];
        let length = rustix::io::pread(&self.file, &mut text, 0).ok()?;
        parse(&text[..length])
    }
}

/// `on_cpu runnable slices`, in decimal.
fn parse(text: &[u8]) -> Option<SchedulerTimes> {
    let mut numbers = text.split(|byte| !byte.is_ascii_digit());
    let mut next = || {
        let digits = numbers.next().filter(|digits| !digits.is_empty())?;
        digits.iter().try_fold(0u64, |number, digit| {
            number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        })
    };
    Some(SchedulerTimes { on_cpu: Nanos(next()?), runnable: Nanos(next()?) })
}
