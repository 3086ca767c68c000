use std::collections::BTreeMap;

use flashlag_units::{Bytes, Nanos};

use super::card::check_card;
use super::error::ScenarioError;
use super::fault::{Combination, ScenarioFault};
use super::file_save::{FileSave, check_file};
use super::pace::Arrivals;
use super::replay::check_replay;
use super::types::{Io, IoOperation, JournalMode, Save, Statement, Step, Test, Until};
use crate::words::{Durability, EngineKind};

/// Checks that the parts are consistent, and drops steps that do nothing (`repeat = 0`, `idle =
/// 0`).
pub(super) fn validate(
    tests: &[(usize, Test)],
    steps: &mut Vec<(usize, Step)>,
) -> Result<(), ScenarioError> {
    let mut by_name: BTreeMap<&str, &Test> = BTreeMap::new();
    let mut phases: BTreeMap<String, &str> = BTreeMap::new();
    for (line, test) in tests {
        let wrong = |fault: ScenarioFault| ScenarioError::File { line: *line, fault };
        let of_test = |fault: ScenarioFault| {
            wrong(ScenarioFault::Test { test: test.name().to_owned(), fault: Box::new(fault) })
        };
        check_name(test.name()).map_err(wrong)?;
        if by_name.insert(test.name(), test).is_some() {
            return Err(wrong(ScenarioFault::SameName(test.name().to_owned())));
        }
        for phase in test.phase_names() {
            check_name(&phase).map_err(wrong)?;
            if let Some(other) = phases.insert(phase.clone(), test.name()) {
                let (test, other) = (test.name().to_owned(), other.to_owned());
                return Err(wrong(ScenarioFault::SameResult { phase, test, other }));
            }
        }
        match test {
            Test::Io(io) => check_io(io),
            Test::Save(save) => check_save(save),
            Test::FileSave(save) => check_file_save(save),
            Test::Replay(replay) => check_replay(replay),
            Test::Card(card) => check_card(card),
        }
        .map_err(of_test)?;
    }
    for (line, test) in tests {
        if let Some(background) = test.background() {
            check_background(background, &by_name).map_err(|fault| ScenarioError::File {
                line: *line,
                fault: ScenarioFault::Test { test: test.name().to_owned(), fault: Box::new(fault) },
            })?;
        }
    }
    if steps.is_empty() {
        return Err(ScenarioError::File { line: 1, fault: ScenarioFault::NoStep });
    }
    for (line, step) in steps.iter() {
        check_step(step, &by_name).map_err(|fault| ScenarioError::File { line: *line, fault })?;
    }
    steps.retain(|(_, step)| match step {
        Step::Measure { repeat, .. } => *repeat > 0,
        Step::Idle { time } => time.0.0 > 0,
        _ => true,
    });
    Ok(())
}

fn check_name(name: &str) -> Result<(), ScenarioFault> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fine) {
        return Err(ScenarioFault::Name(name.to_owned()));
    }
    Ok(())
}

fn check_io(io: &Io) -> Result<(), ScenarioFault> {
    let block = io.block.0.0;
    if block == 0 || !block.is_multiple_of(512) || block > 64 << 20 {
        return Err(range("block", io.block.0, "a multiple of 512 B, 64 MiB at most"));
    }
    if let Some(span) = io.span
        && span.0.0 < block
    {
        return Err(ScenarioFault::Span { span: span.0, block: io.block.0 });
    }
    if !io.begin().0.is_multiple_of(4096) {
        return Err(range("offset", io.begin(), "a multiple of 4 KiB"));
    }
    if io.offset.is_some() && io.span.is_none() {
        return Err(Combination::OffsetWithoutSpan.into());
    }
    within_reason("min_ops", io.min_ops, MOST_OPS)?;
    check_time("time", io.time.map(|time| time.0))?;
    if !(1..=256).contains(&io.queue_depth) {
        return Err(range("queue_depth", io.queue_depth, "1 to 256"));
    }
    check_threads(io)?;
    check_mixed(io)?;
    if io.queue_depth > 1 && io.engine == EngineKind::Psync {
        return Err(Combination::PsyncDepth.into());
    }
    if matches!(io.engine, EngineKind::Sqlite | EngineKind::Fio) {
        return Err(Combination::Engine.into());
    }
    let durable = io.durable != Durability::None;
    if io.operation == IoOperation::Read && durable {
        return Err(Combination::DurableRead.into());
    }
    check_think(io.think.map(|think| think.0), &io.arrivals)?;
    check_arrivals(&io.arrivals)
}

fn check_threads(io: &Io) -> Result<(), ScenarioFault> {
    if !(1..=64).contains(&io.threads) {
        return Err(range("threads", io.threads, "1 to 64"));
    }
    if io.threads == 1 {
        return Ok(());
    }
    if io.in_flight() > 1024 {
        let (threads, depth) = (io.threads, io.queue_depth);
        return Err(range("threads × queue_depth", format!("{threads} × {depth}"), "1024 at most"));
    }
    if io.until == Until::Steady {
        return Err(Combination::SteadyThreads.into());
    }
    let each = io.span.map(|span| span.0.0 / u64::from(io.threads));
    match each {
        Some(each) if each < io.block.0.0 => Err(ScenarioFault::ThreadSpan {
            threads: io.threads,
            each: Bytes(each),
            block: io.block.0,
        }),
        _ => Ok(()),
    }
}

/// No test and no idle wait may be longer.
const LONGEST: Nanos = Nanos::from_secs(10 * 366 * 86_400);
/// More operations no test makes.
const MOST_OPS: u64 = 1_000_000_000_000;
/// Rows to change if a scenario gives no number.
pub const FIRST_ROWS: u64 = 1000;
/// Larger no journal grows.
const MOST_JOURNAL: Bytes = Bytes(1 << 40);
/// More rows no database begins with.
const MOST_ROWS: u64 = 100_000_000;

/// A number or a time that no storage survives is a typing error.
fn within_reason(name: &'static str, value: Option<u64>, most: u64) -> Result<(), ScenarioFault> {
    match value {
        Some(value) if value > most => Err(range(name, value, format!("{most} at most"))),
        _ => Ok(()),
    }
}

fn check_mixed(io: &Io) -> Result<(), ScenarioFault> {
    if io.operation != IoOperation::Mixed {
        return match io.read_percent {
            None => Ok(()),
            Some(_) => Err(Combination::ReadPercent.into()),
        };
    }
    match io.read_percent {
        Some(1..=99) => {}
        Some(other) => return Err(range("read_percent", other, "1 to 99")),
        None => return Err(Combination::MixedWithoutPercent.into()),
    }
    if io.until == Until::Steady {
        return Err(Combination::SteadyMixed.into());
    }
    if io.background.is_some() {
        return Err(Combination::MixedBackground.into());
    }
    Ok(())
}

fn check_time(name: &'static str, time: Option<Nanos>) -> Result<(), ScenarioFault> {
    match time {
        Some(time) if time > LONGEST => Err(range(name, time, "ten years at most")),
        _ => Ok(()),
    }
}

fn check_save(save: &Save) -> Result<(), ScenarioFault> {
    within_reason("rows", Some(save.rows), MOST_ROWS)?;
    within_reason("saves", save.saves, MOST_OPS)?;
    within_reason("min_saves", save.min_saves, MOST_OPS)?;
    check_time("time", save.time.map(|time| time.0))?;
    if !(1..=64).contains(&save.databases) {
        return Err(range("databases", save.databases, "1 to 64"));
    }
    if save.row.0 > Bytes::from_mib(1) {
        return Err(range("row", save.row.0, "1 MiB at most"));
    }
    if save.saves.is_none() && save.time.is_none() {
        return Err(Combination::EndlessSaves.into());
    }
    check_statements(save)?;
    check_journal(save)?;
    check_think(save.think.map(|think| think.0), &save.arrivals)?;
    check_arrivals(&save.arrivals)
}

fn check_file_save(save: &FileSave) -> Result<(), ScenarioFault> {
    within_reason("saves", save.saves, MOST_OPS)?;
    within_reason("min_saves", save.min_saves, MOST_OPS)?;
    check_time("time", save.time.map(|time| time.0))?;
    check_file(save)?;
    if save.saves.is_none() && save.time.is_none() {
        return Err(Combination::EndlessSaves.into());
    }
    check_think(save.think.map(|think| think.0), &save.arrivals)?;
    check_arrivals(&save.arrivals)
}

fn check_journal(save: &Save) -> Result<(), ScenarioFault> {
    let is_rolled_back =
        matches!(save.journal, JournalMode::Delete | JournalMode::Truncate | JournalMode::Persist);
    if save.atomic == Some(true) && !is_rolled_back {
        return Err(Combination::AtomicJournal.into());
    }
    match save.wal_autocheckpoint {
        None => {}
        Some(_) if save.journal != JournalMode::Wal => {
            return Err(Combination::CheckpointWithoutLog.into());
        }
        Some(1..=1000) => {}
        Some(pages) => return Err(range("wal_autocheckpoint", pages, "1 to 1000")),
    }
    match save.journal_size_limit {
        Some(limit) if limit.0 > MOST_JOURNAL => {
            Err(range("journal_size_limit", limit.0, "1 TiB at most"))
        }
        _ => Ok(()),
    }
}

fn check_statements(save: &Save) -> Result<(), ScenarioFault> {
    if !(1..=10_000).contains(&save.statements) {
        return Err(range("statements", save.statements, "1 to 10000"));
    }
    // Between transactions, deleted rows are inserted again once half of them are gone.
    let rows = if save.rows > 0 { save.rows } else { FIRST_ROWS };
    if save.statement == Statement::Delete && u64::from(save.statements) > rows.div_ceil(2) {
        return Err(Combination::DeletesAndRows.into());
    }
    Ok(())
}

fn check_think(think: Option<Nanos>, arrivals: &Arrivals) -> Result<(), ScenarioFault> {
    if think.is_some_and(|think| think > Nanos::ZERO) && arrivals.per_second.is_some() {
        return Err(Combination::ThinkOnSchedule.into());
    }
    check_time("think", think)
}

fn check_arrivals(arrivals: &Arrivals) -> Result<(), ScenarioFault> {
    match arrivals.per_second {
        Some(rate) if !(rate > 0.0 && rate <= 1e7) => {
            Err(range("arrivals.per_second", rate, "above 0 and at most 10 million"))
        }
        _ => Ok(()),
    }
}

fn check_background(name: &str, tests: &BTreeMap<&str, &Test>) -> Result<(), ScenarioFault> {
    let background = |must: &'static str| ScenarioFault::Background { name: name.to_owned(), must };
    match tests.get(name) {
        Some(Test::Io(io)) if io.operation == IoOperation::Mixed || io.threads > 1 => {
            Err(background("read or write, in one thread"))
        }
        Some(Test::Io(io)) if io.grown => Err(background("not be of a file that grew")),
        Some(Test::Io(io)) if io.background.is_none() => Ok(()),
        Some(_) => Err(background("be an [[io]] without a background")),
        None => Err(unknown_test(name, tests)),
    }
}

fn check_step(step: &Step, tests: &BTreeMap<&str, &Test>) -> Result<(), ScenarioFault> {
    let fill = |test: &str, must: &'static str| ScenarioFault::Fill { name: test.to_owned(), must };
    match step {
        Step::Measure { tests: names, repeat, .. } => {
            if *repeat > 1000 {
                return Err(range("repeat", repeat, "1000 at most"));
            }
            names.iter().try_for_each(|name| match tests.get(name.as_str()) {
                Some(Test::Io(io)) => check_measured(io),
                Some(Test::Save(_) | Test::FileSave(_) | Test::Replay(_) | Test::Card(_)) => Ok(()),
                None => Err(unknown_test(name, tests)),
            })
        }
        Step::Fill { test, .. } => match tests.get(test.as_str()) {
            Some(Test::Io(io)) if io.threads > 1 => Err(fill(test, "have threads = 1")),
            Some(Test::Io(io)) if io.think.is_some() => Err(fill(test, "have no think")),
            Some(Test::Io(io)) if io.grown => Err(fill(test, "not be of a file that grew")),
            Some(Test::Io(io)) if io.operation == IoOperation::Write => Ok(()),
            Some(_) => Err(fill(test, "be an [[io]] that writes")),
            None => Err(unknown_test(test, tests)),
        },
        Step::Idle { time } => check_time("idle", Some(time.0)),
        Step::Delete | Step::Trim => Ok(()),
    }
}

fn check_measured(io: &Io) -> Result<(), ScenarioFault> {
    let needs = |needs: &'static str| ScenarioFault::Measured { test: io.name.clone(), needs };
    if io.span.is_none() {
        return Err(needs("a span to be measured over"));
    }
    if io.bytes.is_none() && io.time.is_none() {
        return Err(needs("bytes or time, else it would never end"));
    }
    Ok(())
}

fn unknown_test(name: &str, tests: &BTreeMap<&str, &Test>) -> ScenarioFault {
    let known = tests.keys().map(|known| (*known).to_owned()).collect();
    ScenarioFault::NoTest { name: name.to_owned(), known }
}

fn range(key: &'static str, value: impl ToString, allowed: impl Into<String>) -> ScenarioFault {
    ScenarioFault::Range { key, value: value.to_string(), allowed: allowed.into() }
}
