//! The page of a device: its tests over all its runs, as drawings and figures; then its runs.

use askama::Template;
use flashlag_explain::Figures;
use flashlag_report::parts::{
    LatencyAxis, Markup, StripMarks, strip_axis, strip_head, strip_key, strip_row, strip_style,
};
use flashlag_units::{InOrder, Nanos};
use flashlag_views::{RULES, format};

use crate::frame::Page;
use crate::model::{Device, Row, Site};
use crate::pool::{Pool, TestKey};
use crate::{Options, words};

mod distributions;
mod runs;

use distributions::Drawing;
use runs::RunLine;

/// Most rows in a test's drawing; the data table has all.
const MOST_ROWS: usize = 40;

#[derive(Template)]
#[template(path = "device.html")]
struct Body {
    name: String,
    facts: Vec<String>,
    lede: String,
    head: Markup,
    axis: Markup,
    key: Markup,
    rules: &'static str,
    groups: Vec<Group>,
    drawings: Vec<Drawing>,
    runs: Vec<RunLine>,
    /// The sentence about runs that the page leaves out and only the data has.
    more_runs: Option<String>,
}

/// A test with a row for each set-up.
struct Group {
    title: String,
    rows: Vec<Line>,
    more: Option<String>,
}

struct Line {
    label: String,
    mini: String,
    svg: Markup,
    cells: Vec<String>,
    verdict: (&'static str, &'static str),
}

/// The page of a device.
pub(crate) fn page(site: &Site<'_>, at: usize, options: &Options) -> String {
    let device = &site.devices[at];
    let rows: Vec<&Row> = device.rows.iter().map(|row| &site.rows[*row]).collect();
    let tests = tests_of(&rows);
    let measured = measured(site, &rows, &tests);
    let values = measured.iter().flat_map(|(_, lines)| lines).flat_map(|(_, figures, ..)| {
        [figures.p50, figures.p99, figures.p999, figures.max].into_iter().flatten()
    });
    let axis = LatencyAxis::covering(values);
    let groups = measured.iter().map(|(test, lines)| group(&axis, test, lines));
    let (lines, more_runs) = runs::lines(site, device);
    let body = Body {
        name: device.name.clone(),
        facts: facts(site, device),
        lede: lede(device, &rows),
        head: strip_head(&axis),
        axis: strip_axis(&axis),
        key: strip_key(),
        rules: RULES,
        groups: groups.collect(),
        drawings: distributions::all(site, &rows, &tests),
        runs: lines,
        more_runs,
    };
    let page = Page {
        title: format!("{}: how its storage lags, over all runs", device.name),
        root: "../",
        style: strip_style(&axis),
        body: Markup::of(&body),
        script: None,
    };
    page.html(site, options)
}

/// Tests; those that decide a verdict come first.
fn tests_of(rows: &[&Row]) -> Vec<TestKey> {
    let mut tests: Vec<(bool, TestKey)> = Vec::new();
    for pool in rows.iter().flat_map(|row| &row.pools) {
        match tests.iter_mut().find(|(_, key)| *key == pool.key) {
            Some((decides, _)) => *decides |= pool.decides,
            None => tests.push((pool.decides, pool.key.clone())),
        }
    }
    tests.order_by_key(|(decides, key)| (!decides, !key.is_durable_write(), !key.is_plain_save()));
    tests.into_iter().map(|(_, key)| key).collect()
}

type Measured<'a> = (&'a Row, Figures, &'a Pool, (&'static str, &'static str), Option<String>);

/// The figures of each test in each set-up.
fn measured<'a>(
    site: &Site<'_>,
    rows: &[&'a Row],
    tests: &'a [TestKey],
) -> Vec<(&'a TestKey, Vec<Measured<'a>>)> {
    let of_row = |row: &'a Row, test: &TestKey| {
        let pool = row.pools.iter().find(|pool| pool.key == *test)?;
        let figures = pool.figures(site.entries);
        let range = pool
            .p99_range(site.entries)
            .map(|(least, most)| format!("{} to {}", format::ms(least), format::ms(most)));
        Some((row, figures, pool, words::verdict(pool.verdict(site.entries)), range))
    };
    let lines = |test: &'a TestKey| {
        let lines: Vec<Measured<'a>> = rows.iter().filter_map(|row| of_row(row, test)).collect();
        (test, lines)
    };
    tests.iter().map(lines).collect()
}

fn group(axis: &LatencyAxis, test: &TestKey, lines: &[Measured<'_>]) -> Group {
    let more = lines.len().saturating_sub(MOST_ROWS);
    Group {
        title: test.name(),
        rows: lines.iter().take(MOST_ROWS).map(|measured| line(axis, measured)).collect(),
        more: (more > 0).then(|| format!("{} more are in the data", format::count(more as u64))),
    }
}

fn line(axis: &LatencyAxis, (row, figures, pool, verdict, range): &Measured<'_>) -> Line {
    let label = row.set_up.in_words();
    // The verdict says which part is overloaded.
    let part = |of: fn(&Figures) -> Option<Nanos>| match of(figures) {
        Some(value) => format::ms(value),
        None if figures.overloaded || figures.n == 0 => format::NONE.to_owned(),
        None => "few".to_owned(),
    };
    let (p99, p999, max) = (part(|f| f.p99), part(|f| f.p999), part(|f| f.max));
    let late = words::late(Some(figures));
    let mut runs: Vec<usize> = pool.members.iter().map(|(run, _)| *run).collect();
    runs.dedup();
    let runs = format::count(runs.len() as u64);
    let range = range.clone().unwrap_or_else(|| format::NONE.to_owned());
    Line {
        mini: if figures.overloaded {
            format!("n = {}", format::count(figures.n))
        } else {
            format!("median {}, p99 {p99}, longest {max} ms; late {late}", part(|f| f.p50))
        },
        svg: strip_row(axis, figures, StripMarks::Solid, &label),
        cells: vec![p99, range, p999, max, late, format::count(figures.n), runs],
        verdict: *verdict,
        label,
    }
}

/// Facts of the device, from its first run.
fn facts(site: &Site<'_>, device: &Device) -> Vec<String> {
    let Some(facts) = device.facts(site) else { return Vec::new() };
    let kind = facts.kind.as_deref().map(|kind| words::kind(Some(kind)));
    let size = facts.size_bytes.map(|bytes| words::size(Some(bytes)));
    let simulated = facts.is_simulated().then(|| {
        let profile = facts.profile.as_deref().unwrap_or("a profile");
        format!("simulated by the profile {profile}")
    });
    let model = facts.model.clone().filter(|model| *model != device.name && simulated.is_none());
    let machine = facts.machine.clone().filter(|it| *it != device.name && simulated.is_none());
    [kind, size, model, machine, simulated].into_iter().flatten().collect()
}

fn lede(device: &Device, rows: &[&Row]) -> String {
    let runs = words::counted(device.runs.len(), "run");
    match rows {
        [only] => {
            format!("{runs}, {}: {}.", only.set_up.in_words(), words::verdict(only.verdict).0)
        }
        rows => {
            let verdicts: Vec<_> = rows.iter().filter_map(|row| row.verdict).collect();
            let range = match (verdicts.iter().min(), verdicts.iter().max()) {
                (Some(best), Some(worst)) if best == worst => format!(": {} in each", best.name()),
                (Some(best), Some(worst)) => format!(": {} to {}", best.name(), worst.name()),
                _ => String::new(),
            };
            format!("{runs} in {}{range}.", words::counted(rows.len(), "set-up"))
        }
    }
}
