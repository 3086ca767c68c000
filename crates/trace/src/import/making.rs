//! What all file importers share: the trace under construction, and counts of what was left out.

use flashlag_schema::ClockReading;
use flashlag_schema::trace::{Trace, TraceAction, TraceFile, TraceLayer, TraceSource, TraceTask};
use flashlag_spec::{TraceFileKind, TraceSourceKind};
use flashlag_units::{Nanos, count};

use crate::Builder;
use crate::builder::{lasted, left_out};

/// A format of text that is read line by line.
pub(super) trait LineImporter {
    /// Takes the next line.
    fn line(&mut self, line: &str, making: &mut Making) -> Verdict;

    /// Adds the events that still wait for their end.
    fn finish(&mut self, making: &mut Making);
}

/// What the system's clocks said when the file's own clock said 0: negative if that was before they
/// began. A clock to which nothing in the file leads is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClocksAtZero {
    pub(super) boot: Option<i128>,
    pub(super) monotonic: Option<i128>,
    pub(super) wall: Option<i128>,
}

impl ClocksAtZero {
    /// What they said at a time of the file's clock.
    fn at(self, t: Nanos) -> Option<ClockReading> {
        let at =
            |zero: Option<i128>| u64::try_from(zero?.saturating_add(t.0.into())).ok().map(Nanos);
        let reading = ClockReading {
            boot_ns: at(self.boot),
            monotonic_ns: at(self.monotonic),
            wall_ns: at(self.wall),
        };
        (reading != ClockReading::default()).then_some(reading)
    }
}

/// Most kinds of skipped lines that are counted separately.
const MOST_SKIPPED: usize = 64;

/// How a line was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A storage event, or a part of one.
    Taken,
    /// Empty, a comment, or an event that is not of storage.
    Ignored,
    /// Not a line of this format.
    Damaged,
}

/// A trace under construction from a file. Times are the file's until [`Making::finish`].
pub(super) struct Making {
    pub(super) builder: Builder,
    start: Nanos,
    most_events: usize,
    events: usize,
    left_out: u64,
    line: u64,
    taken: u64,
    first_damaged: Option<u64>,
    /// What the file says of the system's clocks.
    pub(super) clocks: ClocksAtZero,
    /// When the first frame of a user interface began, and when the last one ended.
    pub(super) drawn: Option<(Nanos, Nanos)>,
}

impl Making {
    pub(super) fn new(kind: TraceSourceKind, most_events: usize) -> Making {
        let source = TraceSource { kind, ..TraceSource::default() };
        Making {
            builder: Builder::new(source),
            start: Nanos::ZERO,
            most_events,
            events: 0,
            left_out: 0,
            line: 0,
            taken: 0,
            first_damaged: None,
            clocks: ClocksAtZero::default(),
            drawn: None,
        }
    }

    /// For a running machine, from a time of its clock on.
    pub(super) fn running(kind: TraceSourceKind, start: Nanos) -> Making {
        Making { start, ..Making::new(kind, usize::MAX) }
    }

    pub(super) fn next_line(&mut self) {
        self.line += 1;
    }

    pub(super) fn taken(&mut self) {
        self.taken += 1;
    }

    /// Lines or records that are an event or a part of one.
    pub(super) fn lines_taken(&self) -> u64 {
        self.taken
    }

    /// Counts a line that can't be read.
    pub(super) fn damaged(&mut self) {
        self.builder.source().damaged += 1;
        self.first_damaged.get_or_insert(self.line);
    }

    pub(super) fn damage(&mut self) -> u64 {
        self.builder.source().damaged
    }

    /// Counts a line or a record that is no storage event, by its kind.
    pub(super) fn skip(&mut self, what: &str) {
        let skipped = &mut self.builder.source().skipped;
        if let Some(count) = skipped.get_mut(what) {
            *count += 1;
        } else if skipped.len() < MOST_SKIPPED {
            skipped.insert(what.to_owned(), 1);
        } else {
            *skipped.entry("of other kinds".to_owned()).or_default() += 1;
        }
    }

    /// Counts operations that move or sync data and have no event. A sentence in the limits
    /// describes them.
    pub(super) fn lacks(&mut self, count: u64) {
        let left_out = &mut self.builder.source().left_out;
        *left_out = left_out.saturating_add(count);
    }

    /// The number of operations that move or sync data and have no event.
    pub(super) fn lacking(&mut self) -> u64 {
        self.builder.source().left_out
    }

    /// Adds a sentence about how the file was interpreted.
    pub(super) fn read_as(&mut self, sentence: String) {
        self.builder.source().read_as.get_or_insert(sentence);
    }

    /// Adds a sentence about what the source can't see.
    pub(super) fn limit(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        let limits = &mut self.builder.source().limits;
        if !limits.contains(&sentence) {
            limits.push(sentence);
        }
    }

    /// Notes that the source records a layer.
    pub(super) fn sees(&mut self, layer: TraceLayer) {
        let layers = &mut self.builder.source().layers;
        if let Err(at) = layers.binary_search(&layer) {
            layers.insert(at, layer);
        }
    }

    /// Counts a begin event without an end.
    pub(super) fn unmatched_begin(&mut self) {
        self.builder.source().unmatched.begins += 1;
    }

    /// Counts an end event without a beginning.
    pub(super) fn unmatched_end(&mut self) {
        self.builder.source().unmatched.ends += 1;
    }

    /// The index of a thread.
    pub(super) fn task(&mut self, task: TraceTask) -> u32 {
        self.builder.task(task)
    }

    /// The index of a file with a path.
    pub(super) fn file(&mut self, path: &str) -> u32 {
        self.builder.file(TraceFile { path: Some(path.to_owned()), ..TraceFile::default() })
    }

    /// Sets the kind of a file.
    pub(super) fn kind(&mut self, file: u32, kind: TraceFileKind) {
        if let Some(known) = self.builder.known_file(file) {
            known.kind = kind;
        }
    }

    /// The most events that are kept.
    pub(super) fn most_events(&self) -> usize {
        self.most_events
    }

    /// Counts events that are not kept.
    pub(super) fn leave_out(&mut self, events: u64) {
        self.left_out += events;
    }

    /// Adds an event at a time of the file's clock.
    pub(super) fn event(
        &mut self,
        t_ns: Nanos,
        took_ns: Option<Nanos>,
        task: Option<u32>,
        action: TraceAction,
    ) {
        if self.events == self.most_events {
            self.left_out += 1;
            return;
        }
        self.events += 1;
        self.builder.event(t_ns.saturating_since(self.start), took_ns, task, action);
    }

    /// The trace, with times counted from its first event.
    pub(super) fn finish(mut self) -> Trace {
        let damaged = self.builder.source().damaged;
        if let Some(first) = self.first_damaged {
            let lines = if damaged == 1 { "line" } else { "lines" };
            let first = count(first);
            self.limit(format!(
                "{} {lines} can't be read, the first at line {first}.",
                count(damaged)
            ));
        }
        if self.left_out > 0 {
            self.lacks(self.left_out);
            self.limit(left_out(self.left_out, self.most_events));
        }
        let (clocks, drawn) = (self.clocks, self.drawn);
        let mut trace = self.builder.finish();
        let frames = drawn.unwrap_or_default();
        let first = trace.events.first().map_or(frames.0, |event| event.t_ns);
        trace.source.clocks = clocks.at(first);
        trace.events.make_earlier(first.0);
        for frame in &mut trace.late_frames {
            // No wait is known of the time before the first event.
            let end = frame.t_ns.plus(frame.took_ns).saturating_since(first);
            frame.t_ns = frame.t_ns.saturating_since(first);
            frame.took_ns = end.saturating_since(frame.t_ns);
        }
        trace.source.lasted_ns = lasted(&trace.events);
        if trace.events.is_empty() {
            trace.source.lasted_ns = frames.1.saturating_since(first);
        }
        trace
    }
}
