use std::collections::BTreeMap;

use flashlag_units::{Bytes, Nanos, did_you_mean};

use super::error::ScenarioError;
use super::types::{Arrivals, Io, IoOperation, Save, Step, Test, Until};
use crate::words::{Durability, EngineKind};

/// Checks that the parts fit together, and drops steps that do nothing (`repeat = 0`, `idle = 0`).
pub(super) fn validate(
    tests: &[(usize, Test)],
    steps: &mut Vec<(usize, Step)>,
) -> Result<(), ScenarioError> {
    let mut by_name: BTreeMap<&str, &Test> = BTreeMap::new();
    let mut phases: BTreeMap<String, &str> = BTreeMap::new();
    for (line, test) in tests {
        let wrong = |message: String| ScenarioError::Meaning { line: *line, message };
        check_name(test.name()).map_err(wrong)?;
        if by_name.insert(test.name(), test).is_some() {
            return Err(wrong(format!("two tests are named `{}`", test.name())));
        }
        for phase in test.phase_names() {
            check_name(&phase).map_err(wrong)?;
            if let Some(other) = phases.insert(phase.clone(), test.name()) {
                let name = test.name();
                return Err(wrong(format!("`{phase}` of `{name}` is also a result of `{other}`")));
            }
        }
        match test {
            Test::Io(io) => check_io(io),
            Test::Save(save) => check_save(save),
        }
        .map_err(|message| wrong(format!("{}: {message}", test.name())))?;
    }
    for (line, test) in tests {
        if let Some(background) = test.background() {
            check_background(background, &by_name).map_err(|message| ScenarioError::Meaning {
                line: *line,
                message: format!("{}: {message}", test.name()),
            })?;
        }
    }
    if steps.is_empty() {
        let message = "no [[step]]: nothing would be done".to_owned();
        return Err(ScenarioError::Meaning { line: 1, message });
    }
    for (line, step) in steps.iter() {
        check_step(step, &by_name)
            .map_err(|message| ScenarioError::Meaning { line: *line, message })?;
    }
    steps.retain(|(_, step)| match step {
        Step::Measure { repeat, .. } => *repeat > 0,
        Step::Idle { time } => time.0.0 > 0,
        _ => true,
    });
    Ok(())
}

fn check_name(name: &str) -> Result<(), String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fine) {
        return Err(format!("`{name}` is no test name: letters, digits and _, 64 at most"));
    }
    Ok(())
}

fn check_io(io: &Io) -> Result<(), String> {
    let block = io.block.0.0;
    if block == 0 || !block.is_multiple_of(512) || block > 64 << 20 {
        return Err(format!("block = {} must be a multiple of 512 B, 64 MiB at most", io.block.0));
    }
    if let Some(span) = io.span
        && span.0.0 < block
    {
        return Err(format!("span = {} is less than one block of {}", span.0, io.block.0));
    }
    if !io.begin().0.is_multiple_of(4096) {
        return Err(format!("offset = {} must be a multiple of 4 KiB", io.begin()));
    }
    if io.offset.is_some() && io.span.is_none() {
        return Err("an offset needs a span: a fill takes what there is".to_owned());
    }
    within_reason("min_ops", io.min_ops, MOST_OPS)?;
    check_time("time", io.time.map(|time| time.0))?;
    if !(1..=256).contains(&io.queue_depth) {
        return Err(format!("queue_depth = {} must be 1 to 256", io.queue_depth));
    }
    check_threads(io)?;
    check_mixed(io)?;
    if io.queue_depth > 1 && io.engine == EngineKind::Psync {
        return Err("psync has one operation in flight: use engine = \"io_uring\"".to_owned());
    }
    if matches!(io.engine, EngineKind::Sqlite | EngineKind::Fio) {
        return Err("engine must be auto, psync, io_uring or null".to_owned());
    }
    let durable = io.durable != Durability::None;
    if io.operation == IoOperation::Read && durable {
        return Err("a read can't be durable".to_owned());
    }
    check_arrivals(&io.arrivals)
}

fn check_threads(io: &Io) -> Result<(), String> {
    if !(1..=64).contains(&io.threads) {
        return Err(format!("threads = {} must be 1 to 64", io.threads));
    }
    if io.threads == 1 {
        return Ok(());
    }
    if io.in_flight() > 1024 {
        let (threads, depth) = (io.threads, io.queue_depth);
        return Err(format!("threads × queue_depth = {threads} × {depth} must be 1024 at most"));
    }
    if io.until == Until::Steady {
        return Err("until = \"steady\" needs threads = 1: it is decided in one thread".to_owned());
    }
    let each = io.span.map(|span| span.0.0 / u64::from(io.threads));
    match each {
        Some(each) if each < io.block.0.0 => Err(format!(
            "each of {} threads has {} of the span, less than one block of {}",
            io.threads,
            Bytes(each),
            io.block.0
        )),
        _ => Ok(()),
    }
}

/// Longer than this no test runs, and no idle wait lasts.
const LONGEST: Nanos = Nanos::from_secs(10 * 366 * 86_400);
/// More operations no test makes.
const MOST_OPS: u64 = 1_000_000_000_000;
/// More rows no database begins with.
const MOST_ROWS: u64 = 100_000_000;

/// A number or a time that no storage outlives is a slip of the hand.
fn within_reason(name: &str, value: Option<u64>, most: u64) -> Result<(), String> {
    match value {
        Some(value) if value > most => Err(format!("{name} = {value} must be {most} at most")),
        _ => Ok(()),
    }
}

fn check_mixed(io: &Io) -> Result<(), String> {
    if io.operation != IoOperation::Mixed {
        return match io.read_percent {
            None => Ok(()),
            Some(_) => Err("read_percent belongs to operation = \"mixed\"".to_owned()),
        };
    }
    match io.read_percent {
        Some(1..=99) => {}
        Some(other) => return Err(format!("read_percent = {other} must be 1 to 99")),
        None => return Err("operation = \"mixed\" needs read_percent, 1 to 99".to_owned()),
    }
    if io.until == Until::Steady {
        return Err("until = \"steady\" is for reads or writes alone".to_owned());
    }
    if io.background.is_some() {
        return Err("a mixed test has no background: its halves run beside each other".to_owned());
    }
    Ok(())
}

fn check_time(name: &str, time: Option<Nanos>) -> Result<(), String> {
    match time {
        Some(time) if time > LONGEST => Err(format!("{name} = {time} must be ten years at most")),
        _ => Ok(()),
    }
}

fn check_save(save: &Save) -> Result<(), String> {
    within_reason("rows", Some(save.rows), MOST_ROWS)?;
    within_reason("saves", save.saves, MOST_OPS)?;
    within_reason("min_saves", save.min_saves, MOST_OPS)?;
    check_time("time", save.time.map(|time| time.0))?;
    if !(1..=64).contains(&save.databases) {
        return Err(format!("databases = {} must be 1 to 64", save.databases));
    }
    if save.row.0 > Bytes::from_mib(1) {
        return Err(format!("row = {} must be 1 MiB at most", save.row.0));
    }
    if save.saves.is_none() && save.time.is_none() {
        return Err("needs saves or time, else it would never end".to_owned());
    }
    check_arrivals(&save.arrivals)
}

fn check_arrivals(arrivals: &Arrivals) -> Result<(), String> {
    match arrivals.per_second {
        Some(rate) if !(rate > 0.0 && rate <= 1e7) => {
            Err(format!("arrivals.per_second = {rate} must be above 0 and at most 10 million"))
        }
        _ => Ok(()),
    }
}

fn check_background(name: &str, tests: &BTreeMap<&str, &Test>) -> Result<(), String> {
    match tests.get(name) {
        Some(Test::Io(io)) if io.operation == IoOperation::Mixed || io.threads > 1 => {
            Err(format!("background = \"{name}\" must read or write, in one thread"))
        }
        Some(Test::Io(io)) if io.background.is_none() => Ok(()),
        Some(_) => Err(format!("background = \"{name}\" must be an [[io]] without a background")),
        None => Err(unknown_test(name, tests)),
    }
}

fn check_step(step: &Step, tests: &BTreeMap<&str, &Test>) -> Result<(), String> {
    match step {
        Step::Measure { tests: names, repeat, .. } => {
            if *repeat > 1000 {
                return Err(format!("repeat = {repeat} must be 1000 at most"));
            }
            names.iter().try_for_each(|name| match tests.get(name.as_str()) {
                Some(Test::Io(io)) => check_measured(io),
                Some(Test::Save(_)) => Ok(()),
                None => Err(unknown_test(name, tests)),
            })
        }
        Step::Fill { test, .. } => match tests.get(test.as_str()) {
            Some(Test::Io(io)) if io.threads > 1 => {
                Err(format!("fill = \"{test}\" must have threads = 1"))
            }
            Some(Test::Io(io)) if io.operation == IoOperation::Write => Ok(()),
            Some(_) => Err(format!("fill = \"{test}\" must be an [[io]] that writes")),
            None => Err(unknown_test(test, tests)),
        },
        Step::Idle { time } => check_time("idle", Some(time.0)),
        Step::Delete | Step::Trim => Ok(()),
    }
}

fn check_measured(io: &Io) -> Result<(), String> {
    if io.span.is_none() {
        return Err(format!("{} needs a span to be measured over", io.name));
    }
    if io.bytes.is_none() && io.time.is_none() {
        return Err(format!("{} needs bytes or time, else it would never end", io.name));
    }
    Ok(())
}

fn unknown_test(name: &str, tests: &BTreeMap<&str, &Test>) -> String {
    let known: Vec<_> = tests.keys().copied().collect();
    let near = did_you_mean(name, known.iter().copied());
    format!("no test is named `{name}`; there are {}{near}", known.join(", "))
}
