use std::time::{Duration, Instant};

use flashlag_schema::trace::{Trace, TraceSource};
use flashlag_trace::{Builder, recognize};
use flashlag_units::Nanos;

use crate::error::LiveError;
#[cfg(feature = "ebpf")]
use crate::places::Places;
use crate::source::{KernelCost, Scope, Source};
use crate::tally::Tally;

/// The events that are kept: about half a gigabyte of memory.
const MOST_EVENTS: usize = 4_000_000;

/// The sources, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceChoice {
    /// Programs in the kernel.
    Ebpf,
    /// Counters of processes and disks in `/proc`, which make no trace.
    Counters,
}

impl SourceChoice {
    /// All, best first.
    pub const ALL: [SourceChoice; 2] = [SourceChoice::Ebpf, SourceChoice::Counters];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            SourceChoice::Ebpf => "ebpf",
            SourceChoice::Counters => "counters",
        }
    }
}

/// What recording cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// CPU time of this process before the recording began.
    pub starting: Nanos,
    /// CPU time of this process while it recorded.
    pub own: Nanos,
    /// How long was recorded.
    pub lasted: Nanos,
    /// What the kernel spent; absent where the source can't count it.
    pub kernel: Option<KernelCost>,
}

impl Cost {
    /// The share of one CPU that this process used.
    pub fn own_share(&self) -> f64 {
        flashlag_units::ratio(self.own.0, self.lasted.0).unwrap_or(0.0)
    }

    /// The share of one CPU that the kernel's programs used, from samples.
    pub fn kernel_share(&self) -> Option<f64> {
        let kernel = self.kernel?;
        Some(kernel.time.as_secs_f64() / kernel.counted.as_secs_f64())
            .filter(|share| share.is_finite())
    }
}

/// One recording.
pub struct Session {
    source: Box<dyn Source>,
    builder: Builder,
    tally: Tally,
    tallied: usize,
    not_kept: u64,
    began: Instant,
    starting: Duration,
    cpu: Duration,
    reads: bool,
}

impl Session {
    /// Starts to record.
    ///
    /// # Errors
    /// The source can't be used.
    pub fn start(scope: &Scope) -> Result<Session, LiveError> {
        let cpu = own_cpu();
        let source = open(scope)?;
        Ok(Session::of(source, own_cpu().saturating_sub(cpu), scope.reads))
    }

    fn of(source: Box<dyn Source>, starting: Duration, reads: bool) -> Session {
        let kind = source.kind();
        Session {
            source,
            builder: Builder::new(TraceSource { kind, ..TraceSource::default() }),
            tally: Tally::default(),
            tallied: 0,
            not_kept: 0,
            began: Instant::now(),
            starting,
            cpu: own_cpu(),
            reads,
        }
    }

    /// Takes what happened since the last call: several times a second.
    ///
    /// # Errors
    /// The source does not answer any more.
    pub fn collect(&mut self) -> Result<(), LiveError> {
        self.source.collect(&mut self.builder)?;
        self.keep();
        Ok(())
    }

    fn keep(&mut self) {
        self.tally.add(self.builder.so_far(), self.tallied);
        self.not_kept += self.builder.keep_at_most(MOST_EVENTS);
        self.tallied = self.builder.so_far().events.len();
    }

    /// What was seen so far, and the names for it.
    pub fn so_far(&self) -> (&Tally, &Trace) {
        (&self.tally, self.builder.so_far())
    }

    /// How long was recorded so far.
    pub fn lasted(&self) -> Duration {
        self.began.elapsed()
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// The source does not answer any more.
    pub fn end(mut self) -> Result<(Trace, Cost), LiveError> {
        self.source.end(&mut self.builder)?;
        self.keep();
        let lasted = self.began.elapsed();
        let own = own_cpu().saturating_sub(self.cpu);
        let cost = Cost {
            starting: nanos(self.starting),
            own: nanos(own),
            lasted: nanos(lasted),
            kernel: self.source.kernel_cost(),
        };
        let source = self.builder.source();
        if !self.reads {
            source.limits.push(
                "calls that read, and files that are opened to be read, are not recorded (--reads)"
                    .to_owned(),
            );
        }
        if self.not_kept > 0 {
            source.lost = source.lost.map(|lost| lost + self.not_kept).or(Some(self.not_kept));
            source.limits.push(format!(
                "{} events after the first {MOST_EVENTS} were not kept: record for a shorter time, one \
                 path or one command",
                self.not_kept
            ));
        }
        // The source lets go of the kernel before the trace is sorted and written.
        drop(self.source);
        let mut trace = self.builder.finish();
        recognize(&mut trace);
        Ok((trace, cost))
    }
}

#[cfg(feature = "ebpf")]
fn open(scope: &Scope) -> Result<Box<dyn Source>, LiveError> {
    let places = Places::of(scope.path.as_deref())?;
    Ok(Box::new(crate::ebpf::Programs::start(scope, places)?))
}

#[cfg(not(feature = "ebpf"))]
fn open(_: &Scope) -> Result<Box<dyn Source>, LiveError> {
    let reason = "this flashlag was built without it".to_owned();
    Err(LiveError::Unusable { source_name: "eBPF", reason })
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// The CPU time of this process, its threads included, in user space and in the kernel.
fn own_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
