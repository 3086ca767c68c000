//! The scenario of a forecast: fills and ages a device as its plan says, then measures it.

use std::fmt::Write;

use flashlag_schema::Phase;
use flashlag_spec::scenario::{JournalMode, Scenario, Step, Stretch};
use flashlag_spec::target::FilesystemKind;
use flashlag_units::{Bytes, Nanos};

use super::maintenance::{ANDROID, Moment};
use super::parse::{journal_name, synchronous_name};
use super::plan::{DAY, MOST_DAYS, Plan, READ_FILE, READ_GROWN, ROUNDS_A_DAY};
use super::situation::Situation;
use crate::SimulationError;

/// Saves through SQLite, in the journal mode of the plan: WAL without a change of it.
pub const SAVE: &str = "save";
/// The same saves with SQLite's default journal.
pub const SAVE_ROLLBACK: &str = "save_rollback";
/// Prefix of the tests that simulate a day's use and give no figure.
const DAY_PREFIX: &str = "day_";
/// Nanoseconds of an hour.
const HOUR: u64 = 3_600_000_000_000;
const MIB: u64 = 1 << 20;
/// Size of the file under test on a new device; on a small device a twentieth of its room.
const SPAN: u64 = 256 << 20;
/// Free space that every fill leaves.
pub(super) const LEAVE: Bytes = Bytes::from_mb(64);

/// The writes over a file before it is read.
const WRITE_FILE: &str = "write_file";
const WRITE_GROWN: &str = "write_grown";
/// Size of that file on a large device.
const FILE: u64 = 16 << 20;

/// A night.
const REST: &str = "\n[[step]]\nidle = \"8h\"\n";
/// The fill whose files are deleted before the use begins.
const OLD: &str = "old_files";
/// The test whose rounds make a used device steady.
pub(super) const SETTLE: &str = "settle";

/// The scenario that makes a device as full and as old as the plan says, and measures it. `room` is
/// the space that its filesystem has for files.
pub(super) fn scenario(situation: &Situation, room: Bytes) -> Result<Scenario, SimulationError> {
    let plan = &situation.plan;
    let span = SPAN.min(room.0 / 20) / MIB * MIB;
    if span == 0 {
        return Err(SimulationError::TooSmall { capacity: situation.capacity()? });
    }
    let aged = if plan.age > Nanos::ZERO { 4 * span } else { span };
    let stored = plan.full.map_or(0, |full| (room.0 as f64 * full) as u64 / MIB * MIB).max(aged);
    let mut text = String::from("name = \"forecast\"\nabout = \"A device as it would be.\"\n");
    tests(&mut text, situation, stored);
    // The first test creates the file that all of them use: as large as the largest span.
    let first = [spanned(stored), sized(MIB)];
    io(&mut text, "lay_out", "write", "sequential", "1MiB", &first);
    if plan.untrimmed {
        old_files(&mut text);
    }
    let state = if plan.is_used() { "filled" } else { "new" };
    let _ = write!(text, "\n[[step]]\nmeasure = [\"lay_out\"]\nstate = \"{state}\"\n");
    if plan.untrimmed {
        // The room that the stored data leaves free held other data before.
        let _ = write!(text, "\n[[step]]\nfill = \"{OLD}\"\n\n[[step]]\ndelete = true\n");
    }
    if plan.age > Nanos::ZERO {
        use_tests(&mut text, plan, span, stored);
        days(&mut text, plan);
    }
    if plan.settles() {
        // A night between: a write cache still holds what was stored first, and would go on to.
        text.push_str(REST);
        rounds(&mut text, plan, stored, ROUNDS_A_DAY * MOST_DAYS);
    }
    text.push_str(REST);
    let mut names = vec!["seq_read_256k", "seq_write_256k", "rand_read_4k", "rand_write_4k"];
    let has_files = situation.mount.filesystem != FilesystemKind::Raw;
    let saves = plan.saves && has_files;
    if saves {
        names.push(SAVE);
    }
    let file = FILE.min(span);
    // What comes after saves would be another figure without them.
    let after_saves = plan.saves || !has_files;
    // Nothing was overwritten in a new file yet: so it is read before the tests write.
    let at = if plan.settles() { names.len() } else { 0 };
    if at == 0 || after_saves {
        let of = &[spanned(file)];
        names.splice(at..at, file_tests(&mut text, plan.settles(), WRITE_FILE, READ_FILE, of));
    }
    if after_saves && plan.days() > 0 && room.0.saturating_sub(stored) >= 4 * file {
        let grown = [spanned(file), "grown = true".to_owned()];
        names.extend(file_tests(&mut text, true, WRITE_GROWN, READ_GROWN, &grown));
    }
    // The last test, so that no other figure depends on it.
    if saves && plan.rollback {
        names.push(SAVE_ROLLBACK);
    }
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let _ = write!(text, "\n[[step]]\nmeasure = [{}]\nstate = \"{state}\"\n", names.join(", "));
    if plan.ends_with_use() {
        rounds(&mut text, plan, stored, ROUNDS_A_DAY);
    }
    Ok(Scenario::parse(&text, &[])?)
}

/// Rounds of durable writes over all that is stored.
fn rounds(text: &mut String, plan: &Plan, stored: u64, count: u64) {
    let durable = "durable = \"fdatasync\"".to_owned();
    let each = [spanned(stored), sized(plan.round().0), durable];
    io(text, SETTLE, "write", "random", "4KiB", &each);
    for _ in 0..count {
        let _ = write!(text, "\n[[step]]\nmeasure = [\"{SETTLE}\"]\nstate = \"filled\"\n");
    }
}

fn spanned(bytes: u64) -> String {
    format!("span = \"{bytes}B\"")
}

fn sized(bytes: u64) -> String {
    format!("bytes = \"{bytes}B\"")
}

fn io(text: &mut String, name: &str, operation: &str, pattern: &str, block: &str, more: &[String]) {
    let _ = write!(
        text,
        "\n[[io]]\nname = \"{name}\"\noperation = \"{operation}\"\npattern = \"{pattern}\"\n\
         block = \"{block}\"\n{}\n",
        more.join("\n")
    );
}

/// The tests after the use.
fn tests(text: &mut String, situation: &Situation, span: u64) {
    let limits = |bytes: u64| vec![spanned(span), sized(bytes), "time = \"10m\"".to_owned()];
    let large = 100 << 20;
    io(text, "seq_read_256k", "read", "sequential", "256KiB", &limits(large));
    io(text, "seq_write_256k", "write", "sequential", "256KiB", &limits(large));
    io(text, "rand_read_4k", "read", "random", "4KiB", &limits(20 << 20));
    let mut durable = limits(40 << 20);
    durable.push("durable = \"fdatasync\"".to_owned());
    io(text, "rand_write_4k", "write", "random", "4KiB", &durable);
    let plan = &situation.plan;
    if plan.saves && situation.mount.filesystem != FilesystemKind::Raw {
        let rollback = plan.rollback.then_some((SAVE_ROLLBACK, JournalMode::Delete));
        for (name, journal) in [(SAVE, plan.journal)].into_iter().chain(rollback) {
            let _ = write!(
                text,
                "\n[[save]]\nname = \"{name}\"\nstatement = \"update\"\njournal = \"{}\"\n\
                 synchronous = \"{}\"\nrows = 1000\nsaves = 2000\ntime = \"10m\"\n",
                journal_name(journal),
                synchronous_name(plan.synchronous),
            );
        }
    }
}

/// Reads a file sequentially; on a used device after random writes over all of it, twice, so that a
/// file in one piece and one in many have the same history. Returns the tests' names.
fn file_tests(
    text: &mut String,
    is_used: bool,
    write: &'static str,
    read: &'static str,
    of: &[String],
) -> Vec<&'static str> {
    let mut names = Vec::new();
    if is_used {
        let durable = "durable = \"fdatasync\"".to_owned();
        let over = [of, &[sized(2 * FILE), durable]].concat();
        io(text, write, "write", "random", "4KiB", &over);
        names.push(write);
    }
    io(text, read, "read", "sequential", "256KiB", &[of, &[sized(FILE)]].concat());
    names.push(read);
    names
}

/// The files that are deleted before the use begins.
fn old_files(text: &mut String) {
    io(text, OLD, "write", "sequential", "1MiB", &[]);
}

/// The writes of a day of use.
fn use_tests(text: &mut String, plan: &Plan, span: u64, stored: u64) {
    let fifth = plan.daily.0 / 5;
    let half = |bytes: u64| sized((bytes / 2).max(4096));
    io(text, "day_random", "write", "random", "4KiB", &[spanned(stored), half(fifth)]);
    let sequential = [spanned(4 * span), half(2 * fifth)];
    io(text, "day_sequential", "write", "sequential", "256KiB", &sequential);
    let files = sized((2 * fifth).max(MIB));
    io(text, "day_files", "write", "sequential", "1MiB", &[files]);
}

/// Whether a phase belongs to a day of use.
pub(super) fn is_of_a_day(phase: &Phase) -> bool {
    phase.name.starts_with(DAY_PREFIX)
}

/// Whether a phase is a round of writes that makes a used device steady.
pub(super) fn is_settling(phase: &Phase) -> bool {
    phase.name == SETTLE
}

/// The days of use in a plan's scenario, and the rounds of writes after them.
pub(super) fn stretches(plan: &Plan, scenario: &Scenario) -> (Option<Stretch>, Option<Stretch>) {
    let steps = |wanted: &dyn Fn(&Step) -> bool| -> Vec<usize> {
        (0..scenario.steps.len()).filter(|index| wanted(&scenario.steps[*index])).collect()
    };
    let days = (plan.days() > 0).then(|| {
        let of_a_day = |step: &Step| matches!(step, Step::Fill { test, .. } if test != OLD);
        let mut begin = steps(&of_a_day);
        // All days but the first begin by deleting the files of the day before.
        for step in begin.iter_mut().skip(1) {
            *step -= 1;
        }
        // The step after the last day deletes its files.
        let end = scenario.steps.iter().rposition(|step| matches!(step, Step::Delete));
        Stretch { begin, end: end.unwrap_or(scenario.steps.len()), scatter: false }
    });
    let settles = |step: &Step| matches!(step, Step::Measure { tests, .. } if tests.iter().any(|test| test == SETTLE));
    let rounds = steps(&settles);
    let last = rounds.last().copied();
    // Deleted files lie in blocks of their own, as they were written.
    let scatter = !plan.untrimmed;
    let rounds = last.map(|last| Stretch { begin: rounds, end: last + 1, scatter });
    (days, rounds)
}

/// The steps of all days: use, rest at noon, use, rest at night; fstrim by the maintenance rules.
fn days(text: &mut String, plan: &Plan) {
    const USE: &str =
        "\n[[step]]\nmeasure = [\"day_random\", \"day_sequential\"]\nstate = \"filled\"\n";
    let mut last: Option<u64> = None;
    for day in 0..plan.days() {
        let start = day * DAY;
        // On every third day the battery is lower at noon.
        let noon_battery = if day % 3 == 2 { 60 } else { 85 };
        if day > 0 {
            text.push_str("\n[[step]]\ndelete = true\n");
        }
        text.push_str("\n[[step]]\nfill = \"day_files\"\n");
        let rests = [
            (start + 12 * HOUR, 2, noon_battery, false),
            (start + 23 * HOUR, 8, noon_battery - 45, true),
        ];
        for (begin, hours, battery, charging) in rests {
            let _ = write!(text, "{USE}\n[[step]]\nidle = \"{hours}h\"\n");
            let end = begin + hours * HOUR;
            // A night on the charger fills the battery long before it ends.
            let battery = if charging { (battery + 60).min(100) } else { battery };
            let moment = Moment {
                untouched: Nanos(hours * HOUR),
                since_last: last.map(|last| Nanos(end - last)),
                battery,
                charging,
            };
            if plan.idle_maintenance && ANDROID.runs(moment) {
                text.push_str("\n[[step]]\ntrim = true\n");
                last = Some(end);
            }
        }
    }
    if plan.days() > 0 {
        text.push_str("\n[[step]]\ndelete = true\n");
        if plan.idle_maintenance {
            // The night after: the last deletions are trimmed, as they were every night before.
            let _ = write!(text, "{REST}\n[[step]]\ntrim = true\n");
        }
    }
}
