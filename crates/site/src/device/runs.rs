//! The runs of a device as a table.

use flashlag_units::InOrder;
use flashlag_views::format;

use crate::model::{Device, Site};
use crate::pool::TestKey;
use crate::setup::filesystem;
use crate::words;

/// Most runs on a page: the latest ones.
const MOST: usize = 500;

/// A run in words.
pub(super) struct RunLine {
    pub(super) file: String,
    pub(super) began: String,
    pub(super) filesystem: String,
    pub(super) age: String,
    pub(super) filled: String,
    pub(super) scenario: String,
    pub(super) system: String,
    pub(super) verdict: (&'static str, &'static str),
    pub(super) cells: Vec<String>,
}

/// The latest runs of a device, and a sentence about how many more there are.
pub(super) fn lines(site: &Site<'_>, device: &Device) -> (Vec<RunLine>, Option<String>) {
    let began =
        |run: &usize| site.entries[*run].run.facts.as_ref().and_then(|facts| facts.started.clone());
    let mut runs = device.runs.clone();
    runs.order_by_key(|run| std::cmp::Reverse(began(run)));
    let more = runs.len().saturating_sub(MOST);
    let more =
        (more > 0).then(|| format!("{} older runs are in the data.", format::count(more as u64)));
    (runs.into_iter().take(MOST).filter_map(|run| line(site, run)).collect(), more)
}

fn line(site: &Site<'_>, run: usize) -> Option<RunLine> {
    let entry = site.entries.get(run)?;
    let facts = entry.run.facts.as_ref()?;
    let or_dash = |text: Option<&String>| text.cloned().unwrap_or_else(|| format::NONE.to_owned());
    let figures = |wanted: fn(&TestKey) -> bool| {
        let all = entry.phases.iter().map(|it| &it.row).filter(|row| wanted(&TestKey::of(row)));
        all.map(|row| &row.figures).max_by_key(|figures| (figures.p99, figures.n))
    };
    let write = figures(TestKey::is_durable_write);
    let save = figures(TestKey::is_plain_save);
    let filled = facts.filled_percent.map(|percent| format!("{percent}%"));
    Some(RunLine {
        file: entry.run.file.clone(),
        began: or_dash(facts.started.as_ref()).chars().take(10).collect(),
        filesystem: filesystem(facts, format::NONE),
        age: or_dash(facts.age.as_ref()),
        filled: or_dash(filled.as_ref()),
        scenario: facts.scenario.clone(),
        system: or_dash(facts.system.as_ref().or(facts.kernel.as_ref())),
        verdict: words::verdict(facts.verdict),
        cells: vec![
            words::ms(write, |f| f.p50),
            words::ms(write, |f| f.p99),
            words::ms(save, |f| f.p99),
            words::late(save),
        ],
    })
}
