//! What a run will write, before it writes it.

use flashlag_schema::scenario::{Durability, Io, IoOperation, Pattern, Save, Scenario, Test};
use flashlag_units::{Bytes, Nanos};

use crate::task::{Task, tasks};

/// An upper estimate of a run's cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes to be written, at most, where limits say so; else from the fastest storage of its kind.
    pub written: Bytes,
    /// Time, on storage of ordinary speed.
    pub time: Nanos,
    /// The file under test: the largest that a test needs.
    pub test_file: Bytes,
    /// The file of what runs beside tests: the largest that one of those needs.
    pub beside_file: Bytes,
}

impl Estimate {
    /// What must fit beside all that is there already.
    pub fn files(&self) -> Bytes {
        self.test_file.plus(self.beside_file)
    }
}

/// Nothing that flashlag meets is faster; only used where a test has no limit in bytes.
const FASTEST_SEQUENTIAL: u64 = 3_000_000_000;
const FASTEST_RANDOM: u64 = 1_000_000_000;
const FASTEST_DURABLE_4K: u64 = 100_000_000;
/// The file of a background that names no span.
const BACKGROUND_SPAN: Bytes = Bytes::from_mb(100);
/// Ordinary speed for the time of a fill: a phone's.
const ORDINARY_FILL: u64 = 150_000_000;
/// A save rewrites about two pages in the database and as many in its journal.
const PAGES_PER_SAVE: u64 = 5;
const PAGE: u64 = 4096;

/// Adds up the tasks of a scenario. `fillable` is what a fill would write.
pub fn estimate(scenario: &Scenario, fillable: Bytes) -> Estimate {
    let io = |name: &str| match scenario.tests.get(name) {
        Some(Test::Io(io)) => Some(io),
        _ => None,
    };
    let mut total = Estimate::default();
    for task in &tasks(scenario) {
        let (written, time) = match task {
            Task::Measure { test, .. } => {
                let (written, time) = test_cost(test);
                if let Test::Io(io) = test {
                    total.test_file = total.test_file.max(io.end());
                }
                let beside = test.background().and_then(io);
                if let Some(io) = beside {
                    total.beside_file = total.beside_file.max(span_beside(io));
                }
                let beside = beside.map(|io| background_cost(io, time)).unwrap_or_default();
                (written.plus(beside), time)
            }
            Task::Fill { .. } => (fillable, fill_time(fillable)),
            Task::Delete | Task::Trim => (Bytes::ZERO, Nanos::from_secs(1)),
            Task::Idle(time) => (Bytes::ZERO, *time),
        };
        total.written = total.written.plus(written);
        total.time = total.time.plus(time);
    }
    // What lies beside the tests is in their own cost already.
    total.written = total.written.plus(total.test_file);
    total
}

/// How long a fill with this much takes, on storage of ordinary speed.
pub(crate) fn fill_time(fillable: Bytes) -> Nanos {
    Nanos::from_secs(fillable.0 / ORDINARY_FILL)
}

fn test_cost(test: &Test) -> (Bytes, Nanos) {
    match test {
        Test::Io(io) => io_cost(io),
        Test::Save(save) => save_cost(save),
    }
}

fn io_cost(io: &Io) -> (Bytes, Nanos) {
    let time = io.time.map_or(Nanos::from_secs(60), |time| time.0);
    if io.operation == IoOperation::Mixed {
        let (moved, time) = io_cost(&Io { operation: IoOperation::Write, ..io.clone() });
        return (written_of(io, moved), time);
    }
    let fastest = match (io.operation, io.durable, io.pattern) {
        (IoOperation::Read, ..) => return (Bytes::ZERO, time),
        (_, Durability::None, Pattern::Sequential) => FASTEST_SEQUENTIAL,
        (_, Durability::None, Pattern::Random) => FASTEST_RANDOM,
        _ => FASTEST_DURABLE_4K.max(io.block.0.0 * 10_000),
    };
    let by_time = bytes_in(fastest, time);
    let written = io.bytes.map_or(by_time, |bytes| bytes.0.min(by_time));
    (written, time)
}

/// What of `moved` bytes a mixed test writes, at most: which operations write is drawn, and a sum of
/// draws is off its mean by five standard deviations once in a million tests.
fn written_of(io: &Io, moved: Bytes) -> Bytes {
    let block = io.block.0.0.max(1);
    let writes = 1.0 - f64::from(io.read_percent.unwrap_or_default()) / 100.0;
    let ops = (moved.0 / block) as f64;
    let most = ops * writes + 5.0 * (ops * writes * (1.0 - writes)).sqrt();
    Bytes((most.ceil() as u64).saturating_mul(block).min(moved.0))
}

fn save_cost(save: &Save) -> (Bytes, Nanos) {
    let time = save.time.map_or(Nanos::from_secs(30), |time| time.0);
    let scheduled = save.arrivals.per_second.map(|rate| (rate * time.as_secs_f64()) as u64);
    let saves = save.saves.or(scheduled).unwrap_or(10_000 * (time.0 / 1_000_000_000));
    let bytes_per_save = PAGES_PER_SAVE * PAGE + 2 * save.row.0.0;
    let databases = u64::from(save.databases);
    (Bytes(saves.saturating_mul(bytes_per_save).saturating_mul(databases)), time)
}

/// The file of what runs beside a test.
pub(crate) fn span_beside(io: &Io) -> Bytes {
    io.span.map_or(BACKGROUND_SPAN, |span| span.0)
}

fn background_cost(io: &Io, time: Nanos) -> Bytes {
    if io.operation == IoOperation::Read {
        return Bytes::ZERO;
    }
    let file = span_beside(io);
    let rate = match io.arrivals.per_second {
        Some(rate) => (rate * io.block.0.0 as f64) as u64,
        None => FASTEST_SEQUENTIAL,
    };
    file.plus(bytes_in(rate, time))
}

fn bytes_in(per_second: u64, time: Nanos) -> Bytes {
    let bytes = u128::from(per_second) * u128::from(time.0) / 1_000_000_000;
    Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_writes_at_most_what_the_documentation_says() {
        let text = crate::builtin("quick").unwrap().text;
        let scenario = Scenario::parse(text, &[]).unwrap();
        let cost = estimate(&scenario, Bytes::ZERO);
        assert_eq!(cost.written.to_string(), "1.7 GB");
        assert_eq!((cost.test_file, cost.beside_file), (Bytes::from_mb(100), Bytes::from_mb(100)));
        assert!(cost.time < Nanos::from_secs(120), "{}", cost.time);
    }
}
