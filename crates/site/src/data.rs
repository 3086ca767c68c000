//! The data for the pages' scripts, as JSON.

use flashlag_explain::{Figures, LagVerdict};
use flashlag_units::Nanos;
use serde_json::{Value, json};

use crate::cells::cells;
use crate::model::{Row, Site};
use crate::words;

/// The table's rows, each a list in the order of the table's columns.
pub(crate) fn table(site: &Site<'_>) -> Value {
    Value::Array(site.rows.iter().map(|row| table_row(site, row)).collect())
}

fn table_row(site: &Site<'_>, row: &Row) -> Value {
    let device = &site.devices[row.device];
    let facts = device.facts(site);
    let cells: Vec<Value> =
        cells(row).into_iter().map(|it| json!([it.text, it.key, it.is_time])).collect();
    json!([
        device.slug,
        device.name,
        words::kind(facts.and_then(|facts| facts.kind.as_deref())),
        facts.and_then(|facts| facts.size_bytes),
        words::size(facts.and_then(|facts| facts.size_bytes)),
        row.set_up.filesystem,
        row.set_up.age,
        row.set_up.fill,
        row.set_up.state,
        row.runs.len(),
        verdict(row.verdict),
        cells,
    ])
}

/// A verdict's index in the order of verdicts; null without one.
fn verdict(verdict: Option<LagVerdict>) -> Option<usize> {
    let verdict = verdict?;
    LagVerdict::ALL.iter().position(|known| *known == verdict)
}

fn nanos(value: Option<Nanos>) -> Option<u64> {
    value.map(|value| value.0)
}

/// What can be compared: every row of the table, and every run of a row that has several.
pub(crate) fn comparison(site: &Site<'_>) -> Value {
    let mut tests: Vec<String> = Vec::new();
    let mut places = std::collections::HashMap::new();
    let mut subjects = Vec::new();
    let mut place = |name: String| {
        *places.entry(name.clone()).or_insert_with(|| {
            tests.push(name);
            tests.len() - 1
        })
    };
    for row in &site.rows {
        let device = &site.devices[row.device];
        let name = format!("{}: {}", device.name, row.set_up.in_words());
        let figures: Vec<Value> = row
            .pools
            .iter()
            .map(|pool| {
                let range = pool.p99_range(site.entries);
                figures_of(place(pool.key.name()), &pool.figures(site.entries), range)
            })
            .collect();
        let whole = words::counted(row.runs.len(), "run");
        subjects.push(json!([name, whole, device.slug, figures]));
        for run in row.runs.iter().filter(|_| row.runs.len() > 1) {
            let measured = row.pools.iter().flat_map(|pool| {
                let own = pool.members.iter().filter(|(entry, _)| entry == run);
                own.map(|(entry, phase)| {
                    (pool.key.name(), &site.entries[*entry].phases[*phase].row)
                })
            });
            let figures: Vec<Value> = measured
                .map(|(name, phase)| figures_of(place(name), &phase.figures, None))
                .collect();
            subjects.push(json!([name, site.entries[*run].run.file, device.slug, figures]));
        }
    }
    json!({ "tests": tests, "subjects": subjects })
}

fn figures_of(test: usize, figures: &Figures, range: Option<(Nanos, Nanos)>) -> Value {
    let Figures { n, p50, p90, p99, p999, max, .. } = figures;
    let times = [*p50, *p90, *p99, *p999, *max].map(nanos);
    let range = range.map(|(least, most)| [least.0, most.0]);
    json!([test, n, times, figures.late_share(), range, figures.overloaded])
}
