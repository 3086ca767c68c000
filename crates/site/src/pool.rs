//! One test over several runs: the sum of their histograms, and the spread of their figures.

use flashlag_explain::{Figures, LagVerdict, restored};
use flashlag_stats::Histogram;
use flashlag_store::{Entry, Measured, PhaseRow};
use flashlag_units::{Bytes, Nanos};
use flashlag_views::format;

/// What makes two tests comparable: all their parameters, without the state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestKey {
    /// The name for people.
    pub title: String,
    /// Operation, bytes, span, depth, threads, durability, background, and whether on a schedule.
    asked: (&'static str, u64, u64, u32, u32, &'static str, Option<String>, bool),
}

impl TestKey {
    /// The key of a test.
    pub fn of(row: &PhaseRow) -> TestKey {
        // The span of a save is its database, which grows with every save.
        let span = if row.operation == "save" { 0 } else { row.span_bytes };
        let PhaseRow { operation, block_bytes, queue_depth, threads, durable, .. } = row;
        TestKey {
            title: row.title.clone(),
            asked: (
                operation,
                *block_bytes,
                span,
                *queue_depth,
                *threads,
                durable,
                row.background.clone(),
                row.closed_loop,
            ),
        }
    }

    /// `4K rand write over 100 MB`; for saves, which have no span, only the title.
    pub fn name(&self) -> String {
        match self.asked.0 {
            "save" => self.title.clone(),
            _ => format!("{} over {}", self.title, format::size(Bytes(self.asked.2))),
        }
    }

    /// Whether it is one durable 4 KiB random write at a time.
    pub fn is_durable_write(&self) -> bool {
        let (operation, block, _, depth, threads, durable, beside, _) = &self.asked;
        let alone = beside.is_none() && depth.saturating_mul(*threads) <= 1;
        *operation == "random_write" && *block == 4096 && *durable != "none" && alone
    }

    /// Whether it is saves in a closed loop, without a background.
    pub fn is_plain_save(&self) -> bool {
        self.asked.0 == "save" && self.asked.6.is_none() && self.asked.7
    }
}

/// A test of several runs.
#[derive(Clone, Debug)]
pub struct Pool {
    pub key: TestKey,
    /// Each run's phases: index of the entry, and of the phase in it.
    pub members: Vec<(usize, usize)>,
    /// Whether it decides verdicts.
    pub decides: bool,
}

impl Pool {
    fn measured<'a>(&'a self, entries: &'a [Entry]) -> impl Iterator<Item = &'a Measured> {
        self.members.iter().filter_map(|(entry, phase)| entries.get(*entry)?.phases.get(*phase))
    }

    /// All waits of all runs as one histogram; overloaded schedules have none.
    pub fn histogram(&self, entries: &[Entry]) -> Histogram {
        let mut all = Histogram::new();
        for measured in self.measured(entries).filter(|it| !it.row.figures.overloaded) {
            if let Some(one) = restored(&measured.histogram) {
                all.merge(&one);
            }
        }
        all
    }

    /// The figures over all waits of all runs.
    pub fn figures(&self, entries: &[Entry]) -> Figures {
        let mut measured = self.measured(entries);
        if let (Some(only), None) = (measured.next(), measured.next()) {
            return only.row.figures.clone();
        }
        let histogram = self.histogram(entries);
        match histogram.count() {
            0 => Figures::of_overloaded(self.measured(entries).map(|it| it.row.figures.n).sum()),
            _ => Figures::of(&histogram),
        }
    }

    /// The smallest and the largest p99 of single phases; `None` if fewer than two have one.
    pub fn p99_range(&self, entries: &[Entry]) -> Option<(Nanos, Nanos)> {
        let each: Vec<Nanos> = self.measured(entries).filter_map(|it| it.row.figures.p99).collect();
        let (least, most) = (each.iter().min()?, each.iter().max()?);
        (each.len() > 1).then_some((*least, *most))
    }

    /// The verdict over all waits.
    pub fn verdict(&self, entries: &[Entry]) -> Option<LagVerdict> {
        let mut measured = self.measured(entries);
        match (measured.next(), measured.next()) {
            (Some(only), None) => only.row.verdict,
            _ => {
                if self.measured(entries).all(|it| it.row.figures.overloaded) {
                    Some(LagVerdict::Overloaded)
                } else {
                    LagVerdict::of(&self.histogram(entries))
                }
            }
        }
    }
}
