//! The sections of a report, each from one run; a section without data is left out.

pub(crate) mod changes;
pub(crate) mod distribution;
mod environment;
pub(crate) mod fill;
mod findings;
pub(crate) mod first;
mod lifecycle;
mod published;
mod reproduce;
mod saves;
pub(crate) mod stalls;
mod tests;
mod trust;
mod waits;

pub(crate) use trust::status_name;

use flashlag_schema::{CheckId, Run};
use flashlag_units::Nanos;
use flashlag_views::{Failure, Figures, format};

use crate::Options;
use crate::markup::Markup;

/// A part of the page. Its heading states the result.
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) heading: String,
    /// Method, beside it.
    pub(crate) side: Vec<String>,
    pub(crate) body: Markup,
}

/// Every section that this run has data for, in order.
pub(crate) fn all(run: &Run, options: &Options) -> Vec<Section> {
    // Without rows for the picture, what happened over time is what the run was made for.
    let (over_time, later) = match flashlag_views::strip(run).groups.is_empty() {
        true => ([changes::section(run), stalls::section(run)], [None, None]),
        false => ([None, None], [changes::section(run), stalls::section(run)]),
    };
    let [first, second] = over_time;
    let [third, fourth] = later;
    // What to do, and what was found, before the details of it.
    let sections = [
        tests::section(run),
        findings::section(run),
        first,
        second,
        lifecycle::section(run),
        lifecycle::by_size(run),
        fill::section(run),
        third,
        saves::section(run),
        distribution::section(run),
        fourth,
        waits::section(run),
        trust::section(run),
        environment::section(run),
        reproduce::section(run, options),
        published::section(run),
    ];
    sections.into_iter().flatten().collect()
}

/// More rows than this stand close together.
pub(crate) const DENSE: usize = 16;

/// A cell of a table of figures.
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Whether it says that there are too few values.
    pub(crate) few: bool,
}

impl Cell {
    /// Milliseconds, or that n is too small.
    pub(crate) fn ms(value: Option<Nanos>, n: u64) -> Cell {
        Cell { text: format::ms_of(value, n), few: value.is_none() }
    }

    /// The same of a row; of a schedule that was not kept there is no figure, however many values.
    pub(crate) fn of(value: Option<Nanos>, figures: &Figures) -> Cell {
        match figures.overloaded {
            true => Cell::text(format::NONE.to_owned()),
            false => Cell::ms(value, figures.n),
        }
    }

    pub(crate) fn text(text: String) -> Cell {
        Cell { text, few: false }
    }
}

/// Median, p90, p99, p99.9 and maximum as cells.
pub(crate) fn percentile_cells(figures: &Figures) -> Vec<Cell> {
    let values = [figures.p50, figures.p90, figures.p99, figures.p999, figures.max];
    values.into_iter().map(|value| Cell::of(value, figures)).collect()
}

/// A link to the check that keeps a row from being judged.
pub(crate) struct Flag {
    pub(crate) href: String,
    pub(crate) claim: String,
}

impl Flag {
    /// The first failed check that covers the row but not the whole run, which the headline says.
    pub(crate) fn of(run: &Run, failures: &[Failure]) -> Option<Flag> {
        let covers_all = |failure: &&Failure| {
            let same = run.trust.checks.iter().filter(|check| check.id == failure.id);
            same.into_iter().any(|check| check.phases.is_empty() && check.claim == failure.claim)
        };
        let failure = failures.iter().find(|failure| !covers_all(failure))?;
        Some(Flag { href: check_anchor(failure.id), claim: failure.claim.clone() })
    }
}

/// Where a check is on the page.
pub(crate) fn check_anchor(id: CheckId) -> String {
    let name = format!("{id:?}");
    let mut anchor = "check".to_owned();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            anchor.push('-');
        }
        anchor.push(letter.to_ascii_lowercase());
    }
    anchor
}
