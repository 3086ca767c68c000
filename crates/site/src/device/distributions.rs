//! The distributions of a device's tests over all runs, grouped by the properties in which they
//! differ.

use std::collections::BTreeMap;

use flashlag_report::parts::{DistributionPlot, LatencyAxis, Markup, SeriesMark};
use flashlag_stats::Histogram;
use flashlag_units::InOrder;
use flashlag_views::format;

use crate::model::{Row, Site};
use crate::pool::TestKey;
use crate::setup::SetUp;

/// Most tests to draw.
const MOST_TESTS: usize = 6;
const HEIGHT: u32 = 230;

/// A drawing with its caption.
pub(super) struct Drawing {
    pub(super) title: String,
    pub(super) caption: String,
    pub(super) svg: Markup,
}

/// A property of set-ups, and its value in one.
type Property = (&'static str, fn(&SetUp) -> String);

const PROPERTIES: [Property; 3] = [
    ("filesystem", |it| it.filesystem.clone()),
    ("age", |it| it.age.clone()),
    ("fill", SetUp::fill_and_state),
];

/// A drawing of each test for each property that differs; a single one of all runs if none does.
pub(super) fn all(site: &Site<'_>, rows: &[&Row], tests: &[TestKey]) -> Vec<Drawing> {
    let decides = |test: &&TestKey| {
        let pools = rows.iter().flat_map(|row| &row.pools);
        pools.into_iter().any(|pool| pool.key == **test && pool.decides)
    };
    let tests = tests.iter().filter(decides).take(MOST_TESTS);
    tests.flat_map(|test| of_test(site, rows, test)).collect()
}

fn of_test(site: &Site<'_>, rows: &[&Row], test: &TestKey) -> Vec<Drawing> {
    let mut pooled: Vec<(&SetUp, Histogram)> = Vec::new();
    for row in rows {
        let pools = row.pools.iter().filter(|pool| pool.key == *test);
        pooled.extend(pools.map(|pool| (&row.set_up, pool.histogram(site.entries))));
    }
    pooled.retain(|(_, histogram)| histogram.count() > 0);
    let by = |of: fn(&SetUp) -> String| {
        let mut classes: BTreeMap<String, Histogram> = BTreeMap::new();
        for (set_up, histogram) in &pooled {
            classes.entry(of(set_up)).or_default().merge(histogram);
        }
        classes
    };
    let mut drawings: Vec<Drawing> = PROPERTIES
        .iter()
        .map(|(name, of)| (*name, by(*of)))
        .filter(|(_, classes)| classes.len() > 1)
        .map(|(name, classes)| drawing(test, Some(name), classes))
        .collect();
    if drawings.is_empty() && !pooled.is_empty() {
        drawings.push(drawing(test, None, by(|_| "all runs".to_owned())));
    }
    drawings
}

fn drawing(test: &TestKey, by: Option<&str>, classes: BTreeMap<String, Histogram>) -> Drawing {
    let all = classes.len();
    let mut classes: Vec<(String, Histogram)> = classes.into_iter().collect();
    classes.order_by_key(|(_, histogram)| std::cmp::Reverse(histogram.count()));
    classes.truncate(SeriesMark::COUNT);
    let most = classes.iter().map(|(_, histogram)| histogram.count()).max().unwrap_or(0);
    let ends = classes.iter().flat_map(|(_, it)| [it.min(), it.max()]).flatten();
    let mut plot = DistributionPlot::new(LatencyAxis::covering(ends), most, HEIGHT);
    for (index, (name, histogram)) in classes.iter().enumerate() {
        plot.add(short(name), SeriesMark::nth(index), histogram);
    }
    let name = test.name();
    let title = by.map_or_else(|| name.clone(), |by| format!("{name}, by {by}"));
    let counts: Vec<String> = classes
        .iter()
        .map(|(class, histogram)| format!("{class}: n = {}", format::count(histogram.count())))
        .collect();
    let left_out = match all - classes.len() {
        0 => String::new(),
        more => format!("; {more} with fewer values are in the data"),
    };
    let caption =
        format!("How long the longest 1 in 10, 100, 1,000 took. {}{left_out}.", counts.join("; "));
    let svg = plot.draw(&format!("{title}: {}", counts.join("; ")));
    Drawing { title, caption, svg }
}

/// A name that fits beside the drawing.
fn short(name: &str) -> String {
    const MOST: usize = 16;
    if name.chars().count() > MOST {
        name.chars().take(MOST - 1).chain(['…']).collect()
    } else {
        name.to_owned()
    }
}
