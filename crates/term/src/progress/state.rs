use std::time::Instant;

use flashlag_schema::{Operation, Phase};
use flashlag_stats::live::{Live, Snapshot};
use flashlag_units::{Bytes, Nanos};

use super::frame;
use super::levels::{Level, Levels};
use super::plan::{Kind, Plan};
use crate::style::Style;

/// What is known of the run under way.
#[derive(Debug)]
pub(super) struct State {
    pub(super) style: Style,
    /// Redrawn in place, in columns; else lines of text.
    pub(super) in_columns: bool,
    pub(super) started: Instant,
    pub(super) plan: Plan,
    pub(super) total: Bytes,
    pub(super) estimated: Option<Nanos>,
    pub(super) current: Option<Current>,
    /// What is done between phases.
    pub(super) preparing: Option<String>,
    storage: Bytes,
    levels: Levels,
    /// Expected time of the phases that are done.
    expected_done: Nanos,
    written_done: Bytes,
}

/// The phase under way.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) label: String,
    pub(super) kind: Kind,
    pub(super) expected: Option<Nanos>,
    pub(super) limit: Option<Bytes>,
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
            levels: Levels::default(),
            expected_done: Nanos::ZERO,
            written_done: Bytes::ZERO,
        }
    }

    pub(super) fn plan(&mut self, total: Bytes, estimated: Option<Nanos>) {
        self.total = total;
        self.estimated = estimated.filter(|time| *time > Nanos::ZERO);
    }

    pub(super) fn set_storage(&mut self, size: Bytes) {
        self.storage = size;
    }

    /// Takes a new width; a few columns less than none are never drawn.
    pub(super) fn resize(&mut self, width: Option<usize>) {
        if let Some(width) = width {
            self.style = self.style.with_width(width);
        }
    }

    pub(super) fn begin(&mut self, label: &str, expected: Option<Nanos>, limit: Option<Bytes>) {
        let kind = self.plan.kind(label);
        self.current = Some(Current { label: label.to_owned(), kind, expected, limit });
        self.preparing = None;
        self.levels = Levels::default();
    }

    /// Ends the phase under way; the line that stays.
    pub(super) fn finish(&mut self, phase: &Phase) -> String {
        if let Some(current) = self.current.take() {
            let expected = current.expected.unwrap_or(phase.elapsed_ns);
            self.expected_done = self.expected_done.plus(expected);
        }
        if !matches!(phase.operation, Operation::SequentialRead | Operation::RandomRead) {
            self.written_done = self.written_done.plus(phase.bytes);
        }
        frame::finished(self, phase)
    }

    /// A fill level that was passed, or the end of the last one.
    pub(super) fn level(&mut self, live: &Live, last: bool) -> Option<String> {
        let limit = self.current.as_ref()?.limit;
        let snapshot = live.snapshot();
        if snapshot.filled == Bytes::ZERO {
            return None;
        }
        // Where the storage's size is not known, the level is a share of the fill.
        let (filled, size) = match (self.storage, limit) {
            (Bytes::ZERO, Some(limit)) => (snapshot.bytes, limit),
            (Bytes::ZERO, None) => return None,
            (size, _) => (snapshot.filled, size),
        };
        let level: Level = self.levels.observe(live, filled, size, last)?;
        Some(frame::level(self, &level))
    }

    /// Bytes written so far, by finished phases and by this one.
    pub(super) fn written(&self, live: &Snapshot) -> Bytes {
        let current = self.current.as_ref().map(|current| current.kind.written(live.bytes));
        self.written_done.plus(current.unwrap_or_default())
    }

    /// How much of the run is done, 0 to 1, and how long the rest will take where that can be
    /// said. By time where an estimate was given, else by bytes.
    pub(super) fn done(&self, live: &Snapshot, now: Instant) -> Option<(f64, Option<Nanos>)> {
        let Some(estimated) = self.estimated else {
            let total = self.total.0 as f64;
            let written = self.written(live).0 as f64;
            return (total > 0.0).then(|| ((written / total).min(1.0), None));
        };
        let current = self.current.as_ref();
        let expected = current.and_then(|current| current.expected).unwrap_or_default();
        let part = current.map(|current| current.part(live)).unwrap_or_default();
        let done = self.expected_done.as_secs_f64() + part * expected.as_secs_f64();
        let fraction = (done / estimated.as_secs_f64()).min(1.0);
        let spent = now.saturating_duration_since(self.started).as_secs_f64();
        // Before a few seconds are done the pace is a guess.
        let left = (done >= 3.0 && spent > 0.0).then(|| {
            let pace = (spent / done).clamp(0.05, 50.0);
            let seconds = (estimated.as_secs_f64() - done).max(0.0) * pace;
            Nanos((seconds * 1e9) as u64)
        });
        Some((fraction, left))
    }
}

impl Current {
    /// How much of the phase is done, 0 to 1. A fill ends by bytes alone; another test at
    /// whichever of its limits comes first.
    fn part(&self, live: &Snapshot) -> f64 {
        let share = |part: u64, whole: u64| {
            if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
        };
        let by_bytes = share(live.bytes.0, self.limit.unwrap_or_default().0);
        let by_time = share(live.elapsed.0, self.expected.unwrap_or_default().0);
        let is_fill = live.filled > Bytes::ZERO && self.limit.is_some();
        if is_fill { by_bytes } else { by_bytes.max(by_time) }
    }
}
