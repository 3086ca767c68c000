use std::time::{Duration, Instant};

use flashlag_schema::ClockReading;
use flashlag_schema::trace::{Trace, TraceSource};
use flashlag_spec::TraceSourceKind;
use flashlag_trace::{Builder, MOST_EVENTS, recognize};
use flashlag_units::Nanos;

use crate::error::LiveError;
use crate::places::Places;
use crate::source::Disks;
use crate::source::{KernelCost, Scope, Source};
use crate::tally::Tally;
use crate::tracefs::Tracefs;

/// The sources, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceChoice {
    /// The first of the others that works here.
    Auto,
    /// Programs in the kernel.
    Ebpf,
    /// The kernel's tracepoints as text.
    Tracefs,
    /// File events, and counters of processes.
    Fanotify,
    /// Counters of processes and disks in `/proc`, which make no trace.
    Counters,
}

impl SourceChoice {
    /// All, best first.
    pub const ALL: [SourceChoice; 5] = [
        SourceChoice::Auto,
        SourceChoice::Ebpf,
        SourceChoice::Tracefs,
        SourceChoice::Fanotify,
        SourceChoice::Counters,
    ];
    /// Sources that make a trace, best first.
    const OF_EVENTS: [SourceChoice; 3] =
        [SourceChoice::Ebpf, SourceChoice::Tracefs, SourceChoice::Fanotify];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            SourceChoice::Auto => "auto",
            SourceChoice::Ebpf => "ebpf",
            SourceChoice::Tracefs => "tracefs",
            SourceChoice::Fanotify => "fanotify",
            SourceChoice::Counters => "counters",
        }
    }
}

/// The cost of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// CPU time of this process before the recording began.
    pub starting: Nanos,
    /// CPU time of this process while it recorded.
    pub own: Nanos,
    /// How long was recorded.
    pub lasted: Nanos,
    /// CPU time in the kernel; absent if the source can't count it.
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
    passed_over: Vec<String>,
}

impl Session {
    /// Starts to record from a source, or from the first that works.
    ///
    /// # Errors
    /// The source does not work here, or none does; counters make no session.
    pub fn start(scope: &Scope, choice: SourceChoice) -> Result<Session, LiveError> {
        // Needed even if this session uses another source: events that a killed flashlag left
        // enabled cost time.
        crate::tracefs::sweep();
        let cpu = own_cpu();
        let mut refused = Vec::new();
        for one in SourceChoice::OF_EVENTS {
            if choice != one && choice != SourceChoice::Auto {
                continue;
            }
            match open(scope, one) {
                Ok(source) => {
                    let starting = own_cpu().saturating_sub(cpu);
                    let passed_over = std::mem::take(&mut refused);
                    let session = Session::of(source, starting, scope.reads);
                    return Ok(Session { passed_over, ..session });
                }
                Err(error @ LiveError::Unusable { .. }) if choice == SourceChoice::Auto => {
                    refused.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Err(LiveError::None { reasons: refused.join("\n") })
    }

    /// Why better sources are not used, one sentence each.
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// The kind of the source.
    pub fn kind(&self) -> TraceSourceKind {
        self.source.kind()
    }

    /// What the disks did so far, if the source has no block requests.
    pub fn disks(&self) -> Option<Disks> {
        self.source.disks()
    }

    fn of(source: Box<dyn Source>, starting: Duration, reads: bool) -> Session {
        let (kind, zero) = (source.kind(), source.zero());
        Session {
            source,
            builder: Builder::new(TraceSource {
                kind,
                clocks: Some(flashlag_inspect::clocks_at(zero)),
                ..TraceSource::default()
            }),
            tally: Tally::default(),
            tallied: 0,
            not_kept: 0,
            began: Instant::now(),
            starting,
            cpu: own_cpu(),
            reads,
            passed_over: Vec::new(),
        }
    }

    /// Collects what happened since the last call. Call it several times a second.
    pub fn collect(&mut self) -> Result<(), LiveError> {
        self.source.collect(&mut self.builder)?;
        self.keep();
        Ok(())
    }

    fn keep(&mut self) {
        // Look now: a loop device may be gone at the end.
        self.builder.relate(crate::stack::below);
        self.tally.add(self.builder.so_far(), self.tallied);
        self.not_kept += self.builder.keep_at_most(MOST_EVENTS);
        self.tallied = self.builder.so_far().events.len();
    }

    /// The totals so far, and the trace with their names.
    pub fn so_far(&self) -> (&Tally, &Trace) {
        (&self.tally, self.builder.so_far())
    }

    /// How long was recorded so far.
    pub fn lasted(&self) -> Duration {
        self.began.elapsed()
    }

    /// Ends the recording.
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
        let zero = self.source.zero();
        let source = self.builder.source();
        source.limits.append(&mut self.passed_over);
        let clocks = flashlag_inspect::clocks_at(zero);
        if source.clocks.is_some_and(|before| has_slept(&before, &clocks)) {
            source.clocks = None;
            source.limits.push(
                "the machine was suspended meanwhile: times after that can't be laid beside those of \
                 another record"
                    .to_owned(),
            );
        }
        if !self.reads && source.kind != TraceSourceKind::Fanotify {
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
        // Detach from the kernel before the trace is sorted and written.
        drop(self.source);
        let mut trace = self.builder.finish();
        recognize(&mut trace);
        Ok((trace, cost))
    }
}

fn open(scope: &Scope, choice: SourceChoice) -> Result<Box<dyn Source>, LiveError> {
    let places = Places::of(scope.path.as_deref())?;
    match choice {
        SourceChoice::Tracefs => Ok(Box::new(Tracefs::start(scope, places)?)),
        #[cfg(feature = "ebpf")]
        SourceChoice::Ebpf => Ok(Box::new(crate::ebpf::Programs::start(scope, places)?)),
        #[cfg(feature = "fanotify")]
        SourceChoice::Fanotify => Ok(Box::new(crate::fanotify::FileEvents::start(scope, places)?)),
        other => {
            let reason = "this flashlag was built without it".to_owned();
            Err(LiveError::Unusable { source_name: other.name(), reason })
        }
    }
}

/// Whether the machine was suspended between two readings of the same moment.
fn has_slept(before: &ClockReading, after: &ClockReading) -> bool {
    const LEAST: Nanos = Nanos::from_millis(1);
    let slept = after.boot_ns.zip(before.boot_ns);
    slept.is_some_and(|(after, before)| after.saturating_since(before) > LEAST)
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
