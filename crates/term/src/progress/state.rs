use std::sync::Arc;
use std::time::Instant;

use flashlag_schema::Phase;
use flashlag_spec::Operation;
use flashlag_stats::live::{Live, Snapshot};
use flashlag_units::{Bytes, Nanos, ratio};
use flashlag_views::{FillLevel, fill_levels};

use super::pace::Pace;
use super::plan::{Kind, Plan};
use crate::style::Style;

/// The state of the run.
#[derive(Debug)]
pub(super) struct State {
    pub(super) style: Style,
    /// Whether the display is redrawn in place, in columns; otherwise it is a log of lines.
    pub(super) in_columns: bool,
    pub(super) started: Instant,
    pub(super) plan: Plan,
    pub(super) total: Bytes,
    pub(super) estimated: Option<Nanos>,
    pub(super) current: Option<Current>,
    /// The activity between phases.
    pub(super) preparing: Option<String>,
    storage: Bytes,
    /// Announcements for the next phase.
    next: Next,
    /// Expected time of the finished phases.
    expected_done: Nanos,
    written_done: Bytes,
    /// The largest share of the run shown as done so far.
    shown: f64,
}

/// The current phase.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) title: String,
    pub(super) label: String,
    pub(super) kind: Kind,
    pub(super) expected: Option<Nanos>,
    pub(super) limit: Option<Bytes>,
    /// Set for a fill.
    pub(super) fills: Option<Pace>,
    /// The size of the storage that it fills, if it is known.
    storage: Option<Bytes>,
    beside: Option<Arc<Live>>,
    /// Whether its bytes are already in the run's sum.
    counted: bool,
    /// The last tenth that a log has a line for.
    tenth: u64,
}

/// The end of a phase.
pub(super) struct Ending {
    pub(super) title: String,
    /// The levels of a fill, from the emptiest; none for other phases.
    pub(super) levels: Vec<FillLevel>,
}

/// Announcements for a phase that has not begun.
#[derive(Debug, Default)]
struct Next {
    fills: bool,
    storage: Option<Bytes>,
    beside: Option<Arc<Live>>,
}

impl State {
    pub(super) fn new(style: Style, in_columns: bool) -> State {
        State {
            style,
            in_columns,
            started: Instant::now(),
            plan: Plan::default(),
            total: Bytes::ZERO,
            estimated: None,
            current: None,
            preparing: None,
            storage: Bytes::ZERO,
            next: Next::default(),
            expected_done: Nanos::ZERO,
            written_done: Bytes::ZERO,
            shown: 0.0,
        }
    }

    pub(super) fn plan(&mut self, total: Bytes, estimated: Option<Nanos>) {
        self.total = total;
        self.estimated = estimated.filter(|time| *time > Nanos::ZERO);
    }

    pub(super) fn set_storage(&mut self, size: Bytes) {
        self.storage = size;
    }

    /// Sets the bytes that the run has written.
    pub(super) fn wrote(&mut self, total: Bytes) {
        self.written_done = total;
        if let Some(current) = &mut self.current {
            current.counted = true;
        }
    }

    /// Announces that the next phase has a background writer.
    pub(super) fn beside(&mut self, live: &Arc<Live>) {
        self.next.beside = Some(Arc::clone(live));
    }

    /// Announces that the next phase fills storage of that size.
    pub(super) fn filling(&mut self, storage: Option<Bytes>) {
        (self.next.fills, self.next.storage) = (true, storage);
    }

    /// Takes the new width, if it is known.
    pub(super) fn resize(&mut self, width: Option<usize>) {
        if let Some(width) = width {
            self.style = self.style.with_width(width);
        }
    }

    pub(super) fn begin(&mut self, label: &str, expected: Option<Nanos>, limit: Option<Bytes>) {
        let Next { fills, storage, beside } = std::mem::take(&mut self.next);
        self.current = Some(Current {
            title: self.plan.title(label),
            label: label.to_owned(),
            kind: self.plan.kind(label),
            expected,
            limit,
            fills: fills.then(|| Pace::new(Instant::now())),
            storage,
            beside,
            counted: false,
            tenth: 0,
        });
        self.preparing = None;
    }

    /// Ends the current phase.
    pub(super) fn finish(&mut self, phase: &Phase) -> Ending {
        let current = self.current.take();
        let title = match &current {
            Some(current) => current.title.clone(),
            None => self.plan.title(&phase.label()),
        };
        if let Some(current) = &current {
            let expected = current.expected.unwrap_or(phase.elapsed_ns);
            self.expected_done = self.expected_done.plus(expected);
        }
        let filled = current.filter(|current| current.fills.is_some());
        let levels = filled.and_then(|current| fill_levels(phase, current.storage));
        let levels = levels.map(|(_, levels)| levels).unwrap_or_default();
        Ending { title, levels }
    }

    /// Takes a reading of the current phase. Returns the phase if a log needs a line for it: a fill of
    /// real storage, at each tenth of the bytes that it will write.
    pub(super) fn observe(&mut self, live: &Snapshot, now: Instant) -> Option<&Current> {
        let logged = !self.in_columns && self.storage > Bytes::ZERO;
        let current = self.current.as_mut()?;
        let limit = current.limit?;
        current.fills.as_mut()?.observe(live.bytes, limit, now);
        let tenth = u128::from(live.bytes.0) * 10 / u128::from(limit.0.max(1));
        let tenth = u64::try_from(tenth).unwrap_or(10).min(10);
        if tenth <= current.tenth {
            return None;
        }
        current.tenth = tenth;
        self.current.as_ref().filter(|_| logged)
    }

    /// Bytes written so far: by finished phases, by this one, and by its background writer.
    pub(super) fn written(&self, live: &Snapshot) -> Bytes {
        let Some(current) = self.current.as_ref().filter(|current| !current.counted) else {
            return self.written_done;
        };
        let own = current.kind.written(live.bytes.max(live.written));
        let beside = current.beside.as_ref().map_or(Bytes::ZERO, |live| live.snapshot().bytes);
        self.written_done.plus(own).plus(beside)
    }

    /// The maximum that the run may write; `None` if it exceeds the capacity, which limits it anyway.
    pub(super) fn written_at_most(&self) -> Option<Bytes> {
        (self.total > Bytes::ZERO && self.total <= self.storage).then_some(self.total)
    }

    /// The share of the run that is done, 0 to 1, and the remaining time, if it can be estimated. Both
    /// follow from the remaining time: that of the current phase by its own progress, that of later
    /// ones by the plan.
    pub(super) fn done(&mut self, live: &Snapshot, now: Instant) -> Option<(f64, Option<Nanos>)> {
        let estimated = self.estimated?;
        let current = self.current.as_ref();
        let expected = current.and_then(|current| current.expected).unwrap_or_default();
        let left = current.map_or(expected, |current| current.left(live, now));
        let later = estimated.saturating_since(self.expected_done).saturating_since(expected);
        let left = left.plus(later).as_secs_f64();
        let spent = now.saturating_duration_since(self.started).as_secs_f64();
        // A test that ended early counts as its whole part of the plan.
        let part = current.map_or(0.0, |current| current.part(live)) * expected.as_secs_f64();
        let spent = spent.max(self.expected_done.as_secs_f64() + part);
        let fraction = if spent + left > 0.0 { spent / (spent + left) } else { 0.0 };
        // The bar never goes back.
        self.shown = self.shown.max(fraction).min(1.0);
        // Before a few seconds are done the pace is a guess.
        let left = (spent >= 3.0).then_some(Nanos((left * 1e9) as u64));
        Some((self.shown, left))
    }
}

impl Current {
    /// The share of the phase that is done, 0 to 1: of a fill by bytes, of another test by the limit that
    /// comes first.
    fn part(&self, live: &Snapshot) -> f64 {
        let share = |part: u64, whole: u64| ratio(part, whole).unwrap_or_default().min(1.0);
        let by_bytes = share(live.bytes.0, self.limit.unwrap_or_default().0);
        let by_time = share(live.elapsed.0, self.expected.unwrap_or_default().0);
        if self.fills.is_some() { by_bytes } else { by_bytes.max(by_time) }
    }

    /// The remaining time of the phase: of a fill by the pace of its latest tenth, of another test until
    /// the limit that comes first.
    fn left(&self, live: &Snapshot, now: Instant) -> Nanos {
        let expected = self.expected.unwrap_or_default();
        if let (Some(pace), Some(limit)) = (&self.fills, self.limit) {
            return pace.left(live.bytes, limit, now).unwrap_or(expected);
        }
        let by_time = expected.saturating_since(live.elapsed);
        let by_bytes = self.limit.filter(|_| live.bytes > Bytes::ZERO).map(|limit| {
            let rate = live.elapsed.as_secs_f64() / live.bytes.0 as f64;
            Nanos((limit.saturating_minus(live.bytes).0 as f64 * rate * 1e9) as u64)
        });
        by_bytes.map_or(by_time, |by_bytes| by_bytes.min(by_time))
    }
}

/// The kind of a stored phase.
pub(super) fn kind_of(phase: &Phase) -> Kind {
    match phase.operation {
        Operation::SequentialRead | Operation::RandomRead | Operation::ReplayRead => Kind::Read,
        Operation::SequentialWrite | Operation::RandomWrite | Operation::ReplayWrite => Kind::Write,
        Operation::ReplaySync | Operation::ReplayNames | Operation::ReplayDiscard => Kind::Unknown,
        Operation::Save => Kind::Save,
    }
}
