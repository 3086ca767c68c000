//! Collects discrepancies, with the path to each.

use std::fmt::{self, Debug};

use flashlag_units::Nanos;

use crate::histogram::LatencySummary;

/// A figure that does not follow from the rest of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discrepancy {
    /// Where: `phases[3].latency_ns.p99`.
    pub path: String,
    pub stored: String,
    /// The recomputed value, or the condition that must hold.
    pub recomputed: String,
}

impl fmt::Display for Discrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: stored {}, recomputed {}", self.path, self.stored, self.recomputed)
    }
}

#[derive(Debug, Default)]
pub(super) struct Figures {
    prefix: String,
    found: Vec<Discrepancy>,
}

impl Figures {
    pub(super) fn found(self) -> Vec<Discrepancy> {
        self.found
    }

    /// The path of everything that `verify` finds begins with `step`.
    pub(super) fn within(&mut self, step: String, verify: impl FnOnce(&mut Figures)) {
        let outer = self.prefix.clone();
        self.prefix = self.path(&step);
        verify(self);
        self.prefix = outer;
    }

    fn path(&self, at: &str) -> String {
        if self.prefix.is_empty() { at.to_owned() } else { format!("{}.{at}", self.prefix) }
    }

    pub(super) fn differs(
        &mut self,
        at: &str,
        stored: impl Into<String>,
        recomputed: impl Into<String>,
    ) {
        let (stored, recomputed) = (stored.into(), recomputed.into());
        self.found.push(Discrepancy { path: self.path(at), stored, recomputed });
    }

    pub(super) fn same<T: PartialEq + Debug>(&mut self, at: &str, stored: &T, recomputed: &T) {
        if stored != recomputed {
            self.differs(at, format!("{stored:?}"), format!("{recomputed:?}"));
        }
    }

    /// The condition between a stored number and another.
    pub(super) fn holds(
        &mut self,
        at: &str,
        stored: u64,
        relation: &str,
        bound: u64,
        holds: impl FnOnce(u64, u64) -> bool,
    ) {
        if !holds(stored, bound) {
            self.differs(at, stored.to_string(), format!("{relation} {bound}"));
        }
    }

    pub(super) fn at_most(&mut self, at: &str, stored: u64, bound: u64) {
        self.holds(at, stored, "at most", bound, |stored, bound| stored <= bound);
    }

    /// Each figure of a summary under its own path.
    pub(super) fn summary(&mut self, at: &str, stored: &LatencySummary, found: &LatencySummary) {
        let figures: [(&str, Option<Nanos>, Option<Nanos>); 6] = [
            ("p50", stored.p50, found.p50),
            ("p90", stored.p90, found.p90),
            ("p99", stored.p99, found.p99),
            ("p999", stored.p999, found.p999),
            ("max", stored.max, found.max),
            ("mean", stored.mean, found.mean),
        ];
        for (name, stored, found) in figures {
            self.time(&format!("{at}.{name}"), stored, found);
        }
        if stored.absent != found.absent {
            let text = |absent: &Option<String>| absent.clone().unwrap_or("absent".to_owned());
            self.differs(&format!("{at}.absent"), text(&stored.absent), text(&found.absent));
        }
    }

    pub(super) fn time(&mut self, at: &str, stored: Option<Nanos>, found: Option<Nanos>) {
        if stored != found {
            let text = |time: Option<Nanos>| {
                time.map_or("absent".to_owned(), |time| format!("{} ns", time.0))
            };
            self.differs(at, text(stored), text(found));
        }
    }
}
