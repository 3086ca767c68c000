use flashlag_units::Nanos;

/// The scheduler's account of a thread, summed since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerTimes {
    /// Executing.
    pub on_cpu: Nanos,
    /// Runnable, but waiting for a CPU.
    pub runnable: Nanos,
}

/// A reader of the calling thread's scheduler times.
pub trait WaitMeter {
    /// The times now; `None` if they can't be read.
    fn read(&self) -> Option<SchedulerTimes>;
}

/// A meter that may be missing: `None` reads nothing.
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

/// Has no readings: in virtual time no thread waits for a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWaitMeter;

impl WaitMeter for NoWaitMeter {
    #[inline]
    fn read(&self) -> Option<SchedulerTimes> {
        None
    }
}
