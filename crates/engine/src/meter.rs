use std::fs::File;
use std::io;
use std::marker::PhantomData;

use flashlag_device::{SchedulerTimes, WaitMeter, read_clock};
use flashlag_units::Nanos;
use rustix::time::ClockId;

/// The scheduler's times of the thread that opened it.
///
/// Time on the CPU is `CLOCK_THREAD_CPUTIME_ID`, which the kernel updates at each reading;
/// the first number of `/proc/thread-self/schedstat` is the same sum, but as of the last tick or
/// context switch, up to 4 ms (or 10) ago. Time on a run queue is schedstat's second number: it ends
/// when a thread gets a CPU, so it is complete whenever that thread can read it. Two system calls a
/// reading, well under a microsecond together; no allocation.
///
/// Time that a hypervisor takes from a virtual machine (steal) is in neither where the kernel
/// accounts for it: it then looks as if the thread had been blocked. Read `steal` in `/proc/stat`
/// beside this.
#[derive(Debug)]
pub struct ThreadWaitMeter {
    schedstat: File,
    /// The clock is the calling thread's: another thread must not read this meter.
    not_send: PhantomData<*const ()>,
}

impl ThreadWaitMeter {
    /// Opens the meter of the calling thread.
    ///
    /// # Errors
    /// The kernel keeps no scheduler statistics (`CONFIG_SCHED_INFO`).
    pub fn open() -> io::Result<ThreadWaitMeter> {
        let schedstat = File::open("/proc/thread-self/schedstat")?;
        let meter = ThreadWaitMeter { schedstat, not_send: PhantomData };
        match meter.read() {
            Some(_) => Ok(meter),
            None => Err(io::Error::other("/proc/thread-self/schedstat is not two numbers")),
        }
    }
}

impl WaitMeter for ThreadWaitMeter {
    fn read(&self) -> Option<SchedulerTimes> {
        // First the clock, which also settles the scheduler's sums for this thread.
        let on_cpu = read_clock(ClockId::ThreadCPUTime);
        let mut text = [0u8; 96];
        let length = rustix::io::pread(&self.schedstat, &mut text, 0).ok()?;
        let runnable = parse(&text[..length])?.runnable;
        Some(SchedulerTimes { on_cpu, runnable })
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
