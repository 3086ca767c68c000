//! The model behind the pages: devices, their set-ups, and the runs that do not count.

use std::collections::{BTreeMap, HashMap, HashSet};

use flashlag_explain::{Figures, LagVerdict};
use flashlag_store::{Entry, RunFacts, Standing};
use flashlag_units::InOrder;

use crate::pool::{Pool, TestKey};
use crate::setup::SetUp;
use crate::words::{self, slug};

/// What a site says in addition to its runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Its name, above every page.
    pub title: Option<String>,
}

/// A site before it is drawn.
#[derive(Debug)]
pub struct Site<'a> {
    pub(crate) entries: &'a [Entry],
    pub(crate) devices: Vec<Device>,
    /// Rows of the table, the best verdict first.
    pub(crate) rows: Vec<Row>,
    /// Entries that do not count, the worst first.
    pub(crate) apart: Vec<usize>,
}

/// A device, over all its runs that count.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) name: String,
    /// File name without ending.
    pub(crate) slug: String,
    /// Its runs, as indices of entries.
    pub(crate) runs: Vec<usize>,
    /// Its rows, as indices into `Site::rows`.
    pub(crate) rows: Vec<usize>,
}

/// A device in one set-up, over all its runs that count.
#[derive(Debug)]
pub(crate) struct Row {
    /// Index of the device.
    pub(crate) device: usize,
    pub(crate) set_up: SetUp,
    /// Its runs, as indices of entries.
    pub(crate) runs: Vec<usize>,
    pub(crate) pools: Vec<Pool>,
    /// The verdict of the median run.
    pub(crate) verdict: Option<LagVerdict>,
    /// Durable 4 KiB writes.
    pub(crate) write: Option<Figures>,
    /// The slowest kind of saves, by p99.
    pub(crate) save: Option<Figures>,
}

/// Identity of a device: name, kind, size, and the profile of a virtual one.
type Identity = (String, Option<String>, Option<u64>, Option<String>);

impl Device {
    pub(crate) fn path(&self) -> String {
        format!("device/{}.html", self.slug)
    }

    /// The facts of its first run.
    pub(crate) fn facts<'a>(&self, site: &Site<'a>) -> Option<&'a RunFacts> {
        site.entries.get(*self.runs.first()?)?.run.facts.as_ref()
    }
}

impl<'a> Site<'a> {
    /// The site of all entries of a folder, with copies already found.
    pub fn of(entries: &'a [Entry]) -> Site<'a> {
        let mut by_device: BTreeMap<Identity, Vec<usize>> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.is_good()) {
            if let Some(facts) = &entry.run.facts {
                by_device.entry(identity(facts)).or_default().push(at);
            }
        }
        let mut site = Site { entries, devices: Vec::new(), rows: Vec::new(), apart: Vec::new() };
        let mut slugs = HashSet::new();
        let names = names(by_device.keys());
        for (name, runs) in names.into_iter().zip(by_device.into_values()) {
            let slug = slug(&name, &mut slugs);
            let device = site.devices.len();
            site.rows.extend(rows_of(entries, device, &runs));
            site.devices.push(Device { name, slug, runs, rows: Vec::new() });
        }
        let devices = &site.devices;
        // Rows without a verdict come last; equal ones are sorted by the slowest one in a hundred
        // writes.
        site.rows.sort_by_cached_key(|row| {
            let p99 = row.write.as_ref().or(row.save.as_ref()).and_then(|figures| figures.p99);
            let name = devices[row.device].name.to_lowercase();
            (row.verdict.is_none(), row.verdict, p99.is_none(), p99, name, row.set_up.clone())
        });
        for (at, row) in site.rows.iter().enumerate() {
            site.devices[row.device].rows.push(at);
        }
        let bad = entries.iter().enumerate().filter(|(_, entry)| !entry.is_good());
        site.apart = bad.map(|(at, _)| at).collect();
        site.apart.order_by_key(|at| (entries[*at].run.standing, *at));
        site
    }

    /// How many entries have a standing.
    pub(crate) fn count(&self, standing: Standing) -> usize {
        self.entries.iter().filter(|entry| entry.run.standing == standing).count()
    }

    /// Whether any run that counts had a mount option that keeps a sync from flushing the device.
    pub(crate) fn is_any_without_flush(&self) -> bool {
        let mut good = self.entries.iter().filter(|entry| entry.is_good());
        good.any(|entry| entry.run.facts.as_ref().is_some_and(|facts| facts.no_flush.is_some()))
    }

    /// Whether every run that counts is simulated; `None` without any.
    pub(crate) fn is_simulated(&self) -> Option<bool> {
        let mut good = self.entries.iter().filter(|entry| entry.is_good()).peekable();
        good.peek()?;
        Some(good.all(|entry| entry.run.facts.as_ref().is_some_and(RunFacts::is_simulated)))
    }
}

/// A name for each device; if several share one, with what distinguishes them.
fn names<'i>(devices: impl Iterator<Item = &'i Identity> + Clone) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    devices.clone().for_each(|(name, ..)| *counts.entry(name).or_default() += 1);
    let name = |(name, kind, size, profile): &Identity| {
        if counts.get(name.as_str()).is_none_or(|count| *count < 2) {
            return name.clone();
        }
        let kind = kind.as_deref().map(|kind| words::kind(Some(kind)));
        let size = size.map(|size| words::size(Some(size)));
        let more: Vec<String> = match profile {
            Some(profile) => vec![profile.clone()],
            None => size.into_iter().chain(kind).collect(),
        };
        if more.is_empty() { name.clone() } else { format!("{name} ({})", more.join(" ")) }
    };
    devices.map(name).collect()
}

fn identity(facts: &RunFacts) -> Identity {
    (facts.device.clone(), facts.kind.clone(), facts.size_bytes, facts.profile.clone())
}

/// The rows of a device: one for each set-up.
fn rows_of(entries: &[Entry], device: usize, runs: &[usize]) -> Vec<Row> {
    let mut by_set_up: BTreeMap<SetUp, Vec<(usize, usize)>> = BTreeMap::new();
    for run in runs {
        let Some(facts) = &entries[*run].run.facts else { continue };
        for (at, phase) in entries[*run].phases.iter().enumerate() {
            by_set_up.entry(SetUp::of(facts, &phase.row)).or_default().push((*run, at));
        }
    }
    let row = |(set_up, phases): (SetUp, Vec<(usize, usize)>)| {
        let mut runs: Vec<usize> = phases.iter().map(|(run, _)| *run).collect();
        runs.dedup();
        let pools = pools_of(entries, &phases);
        let verdict = middle_verdict(entries, &phases);
        let figures_of = |wanted: fn(&TestKey) -> bool| {
            let found = pools.iter().filter(move |pool| wanted(&pool.key));
            found.map(|pool| pool.figures(entries)).max_by_key(|figures| (figures.p99, figures.n))
        };
        let write = figures_of(TestKey::is_durable_write);
        let save = figures_of(TestKey::is_plain_save);
        Row { device, set_up, runs, verdict, write, save, pools }
    };
    by_set_up.into_iter().map(row).collect()
}

/// The tests of these phases, in the order of their first occurrence.
fn pools_of(entries: &[Entry], phases: &[(usize, usize)]) -> Vec<Pool> {
    let mut places: HashMap<TestKey, usize> = HashMap::new();
    let mut pools: Vec<Pool> = Vec::new();
    for (run, at) in phases {
        let row = &entries[*run].phases[*at].row;
        let key = TestKey::of(row);
        let place = *places.entry(key.clone()).or_insert_with(|| {
            pools.push(Pool { key, members: Vec::new(), decides: false });
            pools.len() - 1
        });
        pools[place].members.push((*run, *at));
        pools[place].decides |= row.decides;
    }
    pools
}

/// The median over runs of the worst verdict of each run's deciding tests; with an even number, the
/// worse of the two in the middle.
fn middle_verdict(entries: &[Entry], phases: &[(usize, usize)]) -> Option<LagVerdict> {
    let mut by_run: BTreeMap<usize, LagVerdict> = BTreeMap::new();
    for (run, at) in phases {
        let row = &entries[*run].phases[*at].row;
        if let Some(verdict) = row.verdict.filter(|_| row.decides) {
            let worst = by_run.entry(*run).or_insert(verdict);
            *worst = (*worst).max(verdict);
        }
    }
    let mut verdicts: Vec<LagVerdict> = by_run.into_values().collect();
    verdicts.order();
    verdicts.get(verdicts.len() / 2).copied()
}
