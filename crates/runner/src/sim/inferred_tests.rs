//! Compares inferred causes of stalls with the true ones of simulations, which the rules can't see.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use flashlag_schema::{CauseBasis, Phase, Run, StallCause, StallRecord, Time, WaitPart};
use flashlag_spec::scenario::Scenario;
use flashlag_units::{Bytes, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use super::*;
use crate::events::{Event, Observer};
use crate::target::Target as On;

/// Every mix: tests of writes, reads and saves, alone and in parallel to a writer, with rests, on a
/// new, a filled and an emptied device.
const MIXES: &str = r#"
name = "mixes"

[settings]
span = "24MB"
beside = "1MiB"
time = "6s"
rest = "400ms"

[[io]]
name = "durable"
operation = "write"
pattern = "random"
block = "4KiB"
span = "$span"
time = "$time"
durable = "fdatasync"

[[io]]
name = "rested"
operation = "write"
pattern = "random"
block = "4KiB"
span = "$span"
time = "30s"
durable = "fdatasync"
think = "$rest"

[[io]]
name = "large"
operation = "write"
pattern = "sequential"
block = "256KiB"
span = "$span"
time = "$time"

[[io]]
name = "reads"
operation = "read"
pattern = "random"
block = "4KiB"
span = "$span"
time = "$time"
background = "stream"

[[io]]
name = "beside"
operation = "write"
pattern = "random"
block = "4KiB"
span = "$span"
time = "$time"
durable = "fdatasync"
background = "stream"

[[io]]
name = "synced"
operation = "write"
pattern = "random"
block = "16KiB"
span = "$span"
time = "$time"
durable = "fsync"
background = "bursts"

[[io]]
name = "stream"
operation = "write"
pattern = "sequential"
block = "$beside"
span = "$span"
time = "60s"

[[io]]
name = "bursts"
operation = "write"
pattern = "random"
block = "$beside"
span = "$span"
time = "60s"
queue_depth = 4
arrivals = { per_second = 3.0, schedule = "poisson" }

[[io]]
name = "level"
operation = "write"
pattern = "sequential"
block = "1MiB"

[[save]]
name = "wal"
journal = "wal"
rows = 200
time = "$time"
arrivals = { per_second = 20.0, schedule = "poisson" }
background = "bursts"

[[save]]
name = "delete"
journal = "delete"
rows = 200
time = "$time"

[[step]]
measure = ["durable", "rested", "large", "reads", "beside", "synced", "wal", "delete"]
state = "new"

[[step]]
fill = "level"

[[step]]
measure = ["durable", "rested", "large", "reads", "beside", "synced", "wal", "delete"]
state = "filled"

[[step]]
delete = true

[[step]]
measure = ["delete", "durable", "synced", "beside"]
state = "deleted"
"#;

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

/// A simulated run with samples of what a kernel would count.
fn simulated(target: &str, settings: &[(&str, &str)], seed: u64) -> Option<Run> {
    let target = SimTarget::parse(target).ok()?;
    let settings: Vec<(String, String)> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = Scenario::parse(MIXES, &settings).expect("the scenario of this test");
    let on = On::Simulated(target.clone());
    let leave = Some(Bytes::from_mib(16));
    let request = Request { leave, ..Request::new(scenario, on, seed) };
    let work = prepare(request, &target).ok()?;
    work.world.stack.sample_every(Nanos::from_millis(100));
    finish(work, &mut Silent).ok()
}

/// A phase as a run on a directory would record it: without the model's own causes of stalls, but
/// with the split of time that a scheduler would count.
fn hidden(phase: &Phase) -> Phase {
    let mut shown = phase.clone();
    for interval in &mut shown.intervals {
        interval.waited.clear();
    }
    for stall in &mut shown.stalls {
        *stall = hidden_stall(stall);
    }
    shown
}

fn hidden_stall(stall: &StallRecord) -> StallRecord {
    let of = |cause: StallCause| part(&stall.waited, cause);
    let (on_cpu_ns, runnable_ns) = (of(StallCause::Executing), of(StallCause::Cpu));
    let blocked_ns = stall.ns.saturating_since(on_cpu_ns.plus(runnable_ns));
    let time = Some(Time { on_cpu_ns, runnable_ns, blocked_ns, stopped_ns: Nanos::ZERO });
    let cause = StallCause::known(&[], time.as_ref());
    StallRecord {
        cause,
        cause_basis: CauseBasis::Measured,
        time,
        waited: Vec::new(),
        ..stall.clone()
    }
}

fn part(parts: &[WaitPart], cause: StallCause) -> Nanos {
    parts.iter().find(|part| part.cause == cause).map_or(Nanos::ZERO, |part| part.ns)
}

fn small(profile: &str, mount: &str, sizes: &[u64]) -> Option<String> {
    let mut all = sizes.iter().map(|mib| format!("sim:{profile}+{mount},size={mib}MiB"));
    all.find(|text| SimTarget::parse(text).is_ok())
}

/// The named cause and the true one.
#[derive(Debug, Default)]
struct Table {
    /// Counts of stalls with an inferred or measured cause, by the named cause and the true one.
    cells: BTreeMap<(String, String), u64>,
    right: u64,
    wrong: u64,
    unnamed: u64,
}

/// Whether the cause stays open, so that none is named.
fn is_open(cause: StallCause) -> bool {
    matches!(cause, StallCause::Storage | StallCause::Mixed | StallCause::Unknown)
}

/// The word for a cause in a run file.
fn word(cause: StallCause) -> String {
    serde_json::to_value(cause).unwrap().as_str().unwrap().to_owned()
}

impl Table {
    fn add(&mut self, named: StallCause, truth: StallCause) {
        *self.cells.entry((word(named), word(truth))).or_default() += 1;
        match (is_open(named), named == truth) {
            (true, _) => self.unnamed += 1,
            (false, true) => self.right += 1,
            (false, false) => self.wrong += 1,
        }
    }

    fn plus(&mut self, other: &Table) {
        for (cell, count) in &other.cells {
            *self.cells.entry(cell.clone()).or_default() += count;
        }
        self.right += other.right;
        self.wrong += other.wrong;
        self.unnamed += other.unnamed;
    }

    fn named(&self) -> u64 {
        self.right + self.wrong
    }

    /// The share that is right, and the lower bound of its 95 % Wilson interval.
    fn precision(&self) -> (f64, f64) {
        let (n, z) = (self.named().max(1) as f64, 1.96f64);
        let share = self.right as f64 / n;
        let middle = share + z * z / (2.0 * n);
        let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        (share, (middle - half) / (1.0 + z * z / n))
    }

    fn coverage(&self) -> f64 {
        self.named() as f64 / (self.named() + self.unnamed).max(1) as f64
    }

    /// As a table in Markdown: a row for each named cause, a column for each true one.
    fn markdown(&self) -> String {
        let of = |pick: fn(&(String, String)) -> &String| -> BTreeSet<String> {
            self.cells.keys().map(|cell| pick(cell).clone()).collect()
        };
        let (rows, columns) = (of(|cell| &cell.0), of(|cell| &cell.1));
        let header: Vec<String> = columns.iter().cloned().collect();
        let mut text = format!("| named \\ true | {} |\n", header.join(" | "));
        let _ = writeln!(text, "|---|{}", "--:|".repeat(columns.len()));
        for row in &rows {
            let count = |column: &String| {
                let count = self.cells.get(&(row.clone(), column.clone()));
                count.map_or_else(String::new, u64::to_string)
            };
            let cells: Vec<String> = columns.iter().map(count).collect();
            let _ = writeln!(text, "| {row} | {} |", cells.join(" | "));
        }
        let (share, bound) = self.precision();
        let _ = writeln!(
            text,
            "\n{} stalls, {} named ({:.1} %); of those {} right: {:.1} %, lower bound {:.1} %",
            self.named() + self.unnamed,
            self.named(),
            self.coverage() * 100.0,
            self.right,
            share * 100.0,
            bound * 100.0
        );
        let of_inferred = |right: bool| -> u64 {
            let counted = self.cells.iter().filter(|((named, truth), _)| {
                let measured = ["cpu", "executing", "stopped", "storage", "mixed", "unknown"];
                !measured.contains(&named.as_str()) && (named == truth) == right
            });
            counted.map(|(_, count)| count).sum()
        };
        let _ =
            writeln!(text, "inferred: {} right, {} wrong", of_inferred(true), of_inferred(false));
        text
    }
}

/// Adds to one stall in four a time for which the thread waited for a CPU, or was stopped: a
/// simulated filesystem never runs on a busy machine. The true cause is then the largest part.
fn contended(stall: &mut StallRecord, shown: &mut StallRecord, random: &mut Pcg64Mcg) {
    if !random.random_bool(0.25) {
        return;
    }
    let more = Nanos(random.random_range(0..stall.ns.0.saturating_mul(3).max(1)));
    let stopped = random.random_bool(0.3);
    let cause = if stopped { StallCause::Stopped } else { StallCause::Cpu };
    match stall.waited.iter_mut().find(|part| part.cause == cause) {
        Some(part) => part.ns = part.ns.plus(more),
        None => stall.waited.push(WaitPart { cause, ns: more }),
    }
    stall.ns = stall.ns.plus(more);
    stall.cause = StallCause::known(&stall.waited, None);
    let Some(time) = &mut shown.time else { return };
    let part = if stopped { &mut time.stopped_ns } else { &mut time.runnable_ns };
    *part = part.plus(more);
    shown.ns = shown.ns.plus(more);
    shown.cause = StallCause::known(&[], shown.time.as_ref());
    if let Some(around) = &mut shown.around {
        around.window_ns = around.window_ns.plus(more);
    }
}

/// Named against true causes of the stalls of a run whose truth is hidden.
fn judged(run: &Run, kind: &str, seed: u64) -> Table {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut shown = run.clone();
    shown.environment.device.kind = Reading::Value(kind.to_owned());
    let mut truths: Vec<Vec<StallCause>> = Vec::new();
    for (phase, seen) in run.phases.iter().zip(&mut shown.phases) {
        let mut phase = phase.clone();
        *seen = hidden(&phase);
        for (stall, seen) in phase.stalls.iter_mut().zip(&mut seen.stalls) {
            contended(stall, seen, &mut random);
        }
        truths.push(phase.stalls.iter().map(|stall| stall.cause).collect());
    }
    let mut table = Table::default();
    for (index, truths) in truths.iter().enumerate() {
        let mut phase = shown.phases[index].clone();
        flashlag_explain::infer::name_causes(&mut phase, &shown);
        for (stall, truth) in phase.stalls.iter().zip(truths) {
            if std::env::var_os("FLASHLAG_TEST_WRONG").is_some()
                && !is_open(stall.cause)
                && stall.cause != *truth
            {
                eprintln!(
                    "{} {}: {:?}, truly {truth:?}: {stall:?}",
                    run.target.name,
                    phase.label(),
                    stall.cause
                );
            }
            table.add(stall.cause, *truth);
        }
    }
    table
}

/// The kind of device that a directory on it would show.
fn kind_of(profile: &str) -> &'static str {
    match profile {
        sd if sd.starts_with("sd-") => "sd",
        ufs if ufs.starts_with("ufs") || ufs.starts_with("pixel-2016") => "ufs",
        ufs if ufs.starts_with("pixel") || ufs.starts_with("moto-z") => "ufs",
        _ => "emmc",
    }
}

const MOUNTS: [&str; 5] = ["ext4", "f2fs", "btrfs", "ext4,discard", "ext4,encrypt,fuse"];
/// Larger devices take minutes and hardly stall.
const SIZES: [u64; 4] = [256, 512, 1024, 2048];
/// Settings that make one mix unlike another.
const SETTINGS: [&[(&str, &str)]; 3] = [
    &[],
    &[("beside", "256KiB"), ("span", "48MB"), ("rest", "1500ms")],
    &[("beside", "2MiB"), ("span", "16MB"), ("rest", "100ms"), ("time", "9s")],
];

/// Every mix of some profiles.
fn table_of(profiles: &[&str], seeds: std::ops::RangeInclusive<u64>, mounts: &[&str]) -> Table {
    let mut table = Table::default();
    for profile in profiles {
        for mount in mounts {
            let Some(target) = small(profile, mount, &SIZES) else { continue };
            for seed in seeds.clone() {
                let settings = SETTINGS[(seed % 3) as usize];
                let Some(run) = simulated(&target, settings, seed) else { continue };
                table.plus(&judged(&run, kind_of(profile), seed));
            }
        }
    }
    table
}

#[test]
fn of_the_causes_that_are_named_nearly_all_are_true_where_the_truth_is_hidden() {
    let table = table_of(&["nexus7-2012", "sd-a1", "nexus5-2013"], 100..=101, &["ext4", "f2fs"]);
    println!("{}", table.markdown());
    let (share, _) = table.precision();
    assert!(table.named() > 200, "{} named", table.named());
    assert!(share >= 0.95, "{share}");
}

/// Prints the tables of docs/explaining.md, and writes them there with `FLASHLAG_UPDATE_DOCS=1`. Rules were tuned
/// on the first profiles and seeds; the second are held out.
#[test]
#[ignore = "minutes: prints the whole table of named against true causes"]
fn named_against_true_causes() {
    let names: Vec<&str> =
        profile_names().filter(|name| !["zero", "zufs40-phone"].contains(name)).collect();
    let half = |odd: usize| -> Vec<&str> {
        let all = names.iter().enumerate();
        all.filter(|(index, _)| index % 2 == odd).map(|(_, name)| *name).collect()
    };
    let mut tables = String::new();
    for (title, odd, seeds) in [("Tuned on", 0, 1..=2), ("Held out", 1, 301..=303)] {
        let table = table_of(&half(odd), seeds.clone(), &MOUNTS);
        let (first, last) = (seeds.start(), seeds.end());
        let names = half(odd).join(", ");
        let markdown = table.markdown();
        tables += &format!("**{title}** (seeds {first} to {last} of {names}):\n\n{markdown}\n\n");
        println!("{title} (seeds {first} to {last} of {names}):\n\n{markdown}");
        let (share, bound) = table.precision();
        assert!(share >= 0.95, "{share}, lower bound {bound}");
    }
    if flashlag_testing::documents_are_renewed() {
        let made = format!("\n\n{}\n\n", tables.trim());
        flashlag_testing::between_marks("docs/explaining.md", "inferred", &made);
    }
}
