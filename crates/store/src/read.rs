//! Reads, verifies and judges run files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flashlag_explain::{LagVerdict, failed};
use flashlag_schema::verify::{Discrepancy, verify_read};
use flashlag_schema::{Check, Phase, Run, StoredHistogram};
use flashlag_share::Scrubber;
use flashlag_units::InOrder;
use flashlag_views::strip;
use sha2::{Digest, Sha256};

use crate::copies::find_copies;
use crate::entry::{Entry, Measured};
use crate::files::run_files;
use crate::rows::{PhaseRow, RunFacts, RunRow, short};
use crate::standing::Standing;

/// The largest file to read: a run file has some hundred kilobytes, a long one some megabytes.
pub const MOST_BYTES: u64 = 256 << 20;

/// Reads every run file below a folder, on all CPUs, and finds copies. A file that is not a run of
/// this version becomes an entry with the reason.
pub fn read_folder(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = read_files(folder, &run_files(folder)?);
    find_copies(&mut entries);
    Ok(entries)
}

/// Reads files below `folder` on all CPUs, in the order of `paths`, without searching for copies.
pub fn read_files(folder: &Path, paths: &[PathBuf]) -> Vec<Entry> {
    let workers =
        std::thread::available_parallelism().map_or(1, usize::from).min(paths.len().max(1));
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Entry)>> = Mutex::new(Vec::with_capacity(paths.len()));
    let work = || {
        while let Some((at, path)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            paths.get(at).map(|path| (at, path))
        } {
            let entry = read_file(folder, path);
            // A panic in another thread can't leave an incomplete entry.
            done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((at, entry));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.order_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, entry)| entry).collect()
}

/// Reads one file below `folder`.
pub fn read_file(folder: &Path, path: &Path) -> Entry {
    let name = name_in(folder, path);
    match bytes_of(path) {
        Ok(bytes) => entry_of(name, &bytes),
        Err(error) => unreadable(name, String::new(), 0, format!("cannot be read: {error}")),
    }
}

/// The name of a file in tables: relative to the folder, without control characters.
pub(crate) fn name_in(folder: &Path, path: &Path) -> String {
    let name = path.strip_prefix(folder).unwrap_or(path);
    flashlag_units::harmless(&name.to_string_lossy())
}

/// The contents of a file, if it is not too large.
pub(crate) fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        Err(io::Error::other(format!("it is larger than {} MB", MOST_BYTES >> 20)))
    } else {
        Ok(bytes)
    }
}

/// The entry of a file's contents.
pub(crate) fn entry_of(name: String, bytes: &[u8]) -> Entry {
    let sha = hex(&Sha256::digest(bytes));
    let size = bytes.len() as u64;
    let Ok(text) = std::str::from_utf8(bytes) else {
        return unreadable(name, sha, size, "not a run file: it is not text".to_owned());
    };
    match Run::from_json(text) {
        Ok(run) => measured(name, sha, text, &run),
        // The texts of a refused file are as private as a run's.
        Err(error) => {
            unreadable(name, sha, size, short(&Scrubber::default().public(&error.to_string())))
        }
    }
}

fn unreadable(file: String, file_sha256: String, file_bytes: u64, reason: String) -> Entry {
    let run = RunRow {
        file,
        file_sha256,
        file_bytes,
        standing: Standing::Unreadable,
        reason: Some(reason),
        run: None,
        measurement_sha256: None,
        copy_of: None,
        shared: false,
        facts: None,
    };
    Entry { run, phases: Vec::new(), private: Vec::new() }
}

fn measured(file: String, file_sha256: String, text: &str, run: &Run) -> Entry {
    let mut discrepancies = verify_read(run, text);
    discrepancies.extend(flashlag_explain::verify(run));
    let file_bytes = text.len() as u64;
    let public = match Public::of(run) {
        Ok(public) => public,
        Err(reason) => return unreadable(file, file_sha256, file_bytes, reason),
    };
    let id = match &run.shared {
        Some(shared) => short(&shared.original_sha256),
        // Compute the checksum instead of trusting the file's.
        None => run.checksum(),
    };
    let phases = phases(run, &public.texts, &file, &id);
    let verdict = phases.iter().filter(|it| it.row.decides).filter_map(|it| it.row.verdict).max();
    let facts = RunFacts::of(&public.run, verdict);
    let (standing, reason) = standing(&public, &discrepancies);
    let row = RunRow {
        file,
        file_sha256,
        file_bytes,
        standing,
        reason,
        run: Some(id),
        measurement_sha256: Some(measurement(run)),
        copy_of: None,
        shared: run.shared.is_some(),
        facts: Some(facts),
    };
    Entry { run: row, phases, private: public.removed }
}

/// A run's head without private parts, the removed fields, and a scrubber for other texts.
struct Public {
    run: Run,
    removed: Vec<String>,
    texts: Scrubber,
}

impl Public {
    /// Skip phases and findings: the tables contain few of their texts.
    fn of(run: &Run) -> Result<Public, String> {
        let head = head_of(run);
        let (shared, texts) = flashlag_share::shared_with_scrubber(&head)
            .map_err(|error| short(&error.to_string()))?;
        let removed = match run.shared {
            Some(_) => Vec::new(),
            None => shared.removed.into_iter().map(|removed| removed.field).collect(),
        };
        Ok(Public { run: shared.run, removed, texts })
    }
}

/// The run without its phases and findings, copied field by field, since phases are megabytes.
fn head_of(run: &Run) -> Run {
    Run {
        schema: run.schema.clone(),
        flashlag: run.flashlag.clone(),
        scenario: run.scenario.clone(),
        target: run.target.clone(),
        label: run.label.clone(),
        command: run.command.clone(),
        started: run.started.clone(),
        simulated_ns: run.simulated_ns,
        status: run.status.clone(),
        options: run.options.clone(),
        environment: run.environment.clone(),
        conditions: run.conditions.clone(),
        phases: Vec::new(),
        skipped: run.skipped.clone(),
        downgrades: run.downgrades.clone(),
        cards: run.cards.clone(),
        trust: run.trust.clone(),
        findings: None,
        lag: run.lag,
        wear: run.wear.clone(),
        shared: run.shared.clone(),
        integrity: run.integrity.clone(),
    }
}

/// The tests of a run.
fn phases(run: &Run, texts: &Scrubber, file: &str, id: &str) -> Vec<Measured> {
    let rows: Vec<(usize, Option<LagVerdict>)> = strip(run)
        .groups
        .iter()
        .flat_map(|group| &group.rows)
        .map(|row| (row.phase, row.judgement.verdict()))
        .collect();
    let measured = |(index, phase): (usize, &Phase)| {
        let mut row = PhaseRow::of(run, (index, phase), (file, id), texts);
        row.decides = rows.iter().any(|(at, _)| *at == index);
        let histogram = phase.response_histogram.as_ref().unwrap_or(&phase.histogram).clone();
        Measured { row, histogram }
    };
    run.phases.iter().enumerate().map(measured).collect()
}

/// Whether a run counts; the reason, without private parts.
fn standing(public: &Public, discrepancies: &[Discrepancy]) -> (Standing, Option<String>) {
    let run = &public.run;
    if let Some(first) = discrepancies.first() {
        let first = public.texts.public(&format!("verification: {first}"));
        let reason = match discrepancies.len() {
            1 => first,
            many => format!("{first}; and {} more", many - 1),
        };
        return (Standing::Unverified, Some(short(&reason)));
    }
    let failed: Vec<&Check> = failed(run).collect();
    match failed.first() {
        None if run.trust.verdict == flashlag_spec::Verdict::Trusted => (Standing::Good, None),
        None => {
            (Standing::Untrusted, Some("nothing was measured, or nothing was checked".to_owned()))
        }
        Some(first) => {
            let more = match failed.len() {
                1 => String::new(),
                many => format!("; and {} more", many - 1),
            };
            let reason = format!("failed check, {}: {}{more}", first.claim, first.detail);
            (Standing::Untrusted, Some(short(&reason)))
        }
    }
}

/// A hash of the measurement: tests, times and histograms, which are the same in all copies.
fn measurement(run: &Run) -> String {
    let mut hash = Sha256::new();
    let mut number = |value: u64| hash.update(value.to_le_bytes());
    number(run.phases.len() as u64);
    for phase in &run.phases {
        let times = [phase.began_ns.0, phase.elapsed_ns.0, phase.ops, phase.bytes.0];
        times.into_iter().for_each(&mut number);
        numbers_of(&phase.histogram, &mut number);
    }
    // Two seeds of a simulation may give the same figures: these are repeats, not copies.
    if run.target.profile.is_some() {
        number(run.scenario.seed);
    }
    // Two profiles may be equal models: their simulations have the same figures and are not copies.
    let profile = run.target.profile.as_ref().map(|profile| profile.name.clone());
    for name in run.phases.iter().map(Phase::label).chain(profile) {
        hash.update(name.as_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize())
}

fn numbers_of(histogram: &StoredHistogram, number: &mut impl FnMut(u64)) {
    let StoredHistogram { index, count, min_ns, max_ns, sum_ns, .. } = histogram;
    number(index.len() as u64);
    index.iter().for_each(|index| number(u64::from(*index)));
    count.iter().for_each(|count| number(*count));
    [min_ns.0, max_ns.0, sum_ns.0].into_iter().for_each(number);
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
