//! What a run will write, before it writes it.

#[cfg(not(target_family = "wasm"))]
use flashlag_engine::card::CardPlan;
use flashlag_spec::replay::ReplayLevel;
use flashlag_spec::scenario::{
    Durability, FileSave, Io, IoOperation, JournalMode, Pattern, Replay, Save, SavePace, Scenario,
    Statement, Test,
};
use flashlag_units::{Bytes, Nanos};

use crate::role::Role;
use crate::task::{Task, tasks};

/// An upper estimate of a run's cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Most bytes that are written: as many as the tests' limits allow, or what the fastest storage
    /// could write.
    pub written: Bytes,
    /// Duration on storage of ordinary speed.
    pub time: Nanos,
    /// Size of the file under test: the largest that a test needs.
    pub test_file: Bytes,
    /// Size of the background's file: the largest that a background needs.
    pub beside_file: Bytes,
    /// Space for the files of replayed system calls: the most that a replay needs.
    pub replay_files: Bytes,
    /// Size of the file that grows alternating with a second one: the largest that a test needs.
    pub grown_file: Bytes,
    /// Space for the databases or files of saves, which are removed after each test: the most that a test is sure
    /// to need.
    pub saved_files: Bytes,
}

impl Estimate {
    /// Space of the files that are laid out before their tests, whatever ends these early.
    pub fn files(&self) -> Bytes {
        let tests = self.test_file.plus(self.beside_file);
        let tests = tests.plus(Role::Grown.to_write(self.grown_file));
        Bytes(tests.0.saturating_add(self.replay_files.0))
    }

    /// Space that the run needs to do all its tests.
    pub fn room(&self) -> Bytes {
        self.files().plus(self.saved_files)
    }
}

/// A speed that no storage exceeds, for tests without a limit in bytes.
const FASTEST_SEQUENTIAL: u64 = 3_000_000_000;
const FASTEST_RANDOM: u64 = 1_000_000_000;
const FASTEST_DURABLE_4K: u64 = 100_000_000;
/// Size of a background's file without a span.
const BACKGROUND_SPAN: Bytes = Bytes::from_mb(100);
/// Ordinary write speed, of a phone, for the duration of a fill.
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
            #[cfg(not(target_family = "wasm"))]
            Task::Measure { test: Test::Card(card), .. } => card_cost(card, fillable),
            Task::Measure { test, .. } => {
                let (written, time) = test_cost(test);
                if let Test::Io(io) = test {
                    let file = if io.grown { &mut total.grown_file } else { &mut total.test_file };
                    *file = io.end().max(*file);
                }
                total.saved_files = saved_files(test).max(total.saved_files);
                if let Test::Replay(replay) = test {
                    let facts = replay.facts.unwrap_or_default();
                    let file = match facts.level {
                        ReplayLevel::Calls => &mut total.replay_files,
                        ReplayLevel::Blocks => &mut total.test_file,
                    };
                    *file = facts.room.max(*file);
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
        total.written = Bytes(total.written.0.saturating_add(written.0));
        total.time = total.time.plus(time);
    }
    // The background's file is in the cost of the tests.
    let grown = Role::Grown.to_write(total.grown_file);
    total.written = total.written.plus(total.test_file).plus(grown);
    total.time = total.time.plus(growth_time(grown));
    total
}

/// Duration of writing this many bytes in durable 4 KiB writes on storage of ordinary speed.
fn growth_time(bytes: Bytes) -> Nanos {
    const ORDINARY_DURABLE_WRITE: u64 = 2_000_000;
    Nanos((bytes.0 / PAGE).saturating_mul(ORDINARY_DURABLE_WRITE))
}

/// Duration of a fill of this size on storage of ordinary speed.
pub(crate) fn fill_time(fillable: Bytes) -> Nanos {
    Nanos::from_secs(fillable.0 / ORDINARY_FILL)
}

fn test_cost(test: &Test) -> (Bytes, Nanos) {
    match test {
        Test::Io(io) => io_cost(io),
        Test::Save(save) => save_cost(save),
        Test::FileSave(save) => file_save_cost(save),
        Test::Replay(replay) => replay_cost(replay),
        // By the free space.
        Test::Card(_) => (Bytes::ZERO, Nanos::ZERO),
    }
}

/// What the proof of a card writes, and how long it takes to write and to read back.
#[cfg(not(target_family = "wasm"))]
fn card_cost(card: &flashlag_spec::scenario::Card, fillable: Bytes) -> (Bytes, Nanos) {
    let plan =
        if card.quick { CardPlan::places(fillable, card.places) } else { CardPlan::all(fillable) };
    let time = fill_time(plan.most());
    (plan.most(), time.plus(time))
}

/// What a replay writes, its files included, and how long it takes. The file of block requests is a test's.
fn replay_cost(replay: &Replay) -> (Bytes, Nanos) {
    let facts = replay.facts.unwrap_or_default();
    let files = match facts.level {
        ReplayLevel::Calls => facts.laid_out,
        ReplayLevel::Blocks => Bytes::ZERO,
    };
    // A replay at full speed is assumed to take as long as durable writes on ordinary storage.
    let time = replay.due(facts.lasts).unwrap_or(Nanos(facts.ops.saturating_mul(2_000_000)));
    (Bytes(files.0.saturating_add(facts.written.0)), time)
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
    let by_time = bytes_in(fastest, time).min(between_rests(io, time));
    let written = io.bytes.map_or(by_time, |bytes| bytes.0.min(by_time));
    (written, time)
}

/// Bytes that a test moves at most if each operation is followed by its think time.
fn between_rests(io: &Io, time: Nanos) -> Bytes {
    let think = io.think.map(|think| think.0).unwrap_or_default();
    match time.0.checked_div(think.0) {
        Some(rests) => {
            let ops = rests.saturating_add(1).saturating_mul(u64::from(io.in_flight()));
            Bytes(ops.saturating_mul(io.block.0.0))
        }
        None => Bytes(u64::MAX),
    }
}

/// Bytes that a mixed test writes at most of `moved` bytes: its expected share and five standard
/// deviations, which a random draw exceeds once in a million tests.
fn written_of(io: &Io, moved: Bytes) -> Bytes {
    let block = io.block.0.0.max(1);
    let writes = 1.0 - f64::from(io.read_percent.unwrap_or_default()) / 100.0;
    let ops = (moved.0 / block) as f64;
    let most = ops * writes + 5.0 * (ops * writes * (1.0 - writes)).sqrt();
    Bytes((most.ceil() as u64).saturating_mul(block).min(moved.0))
}

fn save_cost(save: &Save) -> (Bytes, Nanos) {
    let (saves, time) = most_saves(&save.pace());
    // Rows of one transaction share pages, but never more than if each were a save.
    let rows = u64::from(save.statements);
    let bytes_per_save = (PAGES_PER_SAVE * PAGE + 2 * save.row.0.0).saturating_mul(rows);
    let databases = u64::from(save.databases);
    (Bytes(saves.saturating_mul(bytes_per_save).saturating_mul(databases)), time)
}

/// Space for what a test of saves is sure to store at once.
fn saved_files(test: &Test) -> Bytes {
    match test {
        Test::Save(save) => databases(save),
        // The new file is written beside the old one.
        Test::FileSave(save) => save.size.0.plus(save.written_at_once()),
        Test::Io(_) | Test::Replay(_) | Test::Card(_) => Bytes::ZERO,
    }
}

/// Databases with their rows, as far as their number is known before, and a journal or log.
fn databases(save: &Save) -> Bytes {
    /// SQLite's default; a page in the log has a header.
    const CHECKPOINT: u32 = 1000;
    const FRAME: u64 = PAGE + 24;
    let (saves, statements) = (save.saves.unwrap_or_default(), u64::from(save.statements));
    let inserted = match save.statement {
        Statement::Insert => saves.saturating_mul(statements),
        Statement::Update | Statement::Delete => 0,
    };
    let rows = save.rows.saturating_add(inserted).saturating_mul(save.row.0.0);
    let transaction = PAGES_PER_SAVE.saturating_mul(PAGE).saturating_mul(statements);
    let journal = match save.journal {
        JournalMode::Wal => {
            let pages = u64::from(save.wal_autocheckpoint.unwrap_or(CHECKPOINT)).min(saves);
            pages.saturating_mul(FRAME).saturating_add(transaction)
        }
        JournalMode::Memory | JournalMode::Off => 0,
        JournalMode::Delete | JournalMode::Truncate | JournalMode::Persist => transaction,
    };
    Bytes(rows.saturating_add(journal).saturating_mul(u64::from(save.databases)))
}

/// A save of a file writes it, and the filesystem the block with its inode.
fn file_save_cost(save: &FileSave) -> (Bytes, Nanos) {
    let (saves, time) = most_saves(&save.pace());
    let once = save.written_at_once().0.saturating_add(PAGE);
    let bytes_per_save = once.saturating_mul(u64::from(save.writes()));
    (Bytes(saves.saturating_mul(bytes_per_save).saturating_add(save.size.0.0)), time)
}

/// The most saves of a test, and how long they take.
fn most_saves(pace: &SavePace) -> (u64, Nanos) {
    let rests = Nanos(pace.think.0.saturating_mul(pace.saves.unwrap_or_default()));
    let time = pace.time.unwrap_or(Nanos::from_secs(30).plus(rests));
    let scheduled = pace.arrivals.per_second.map(|rate| (rate * time.as_secs_f64()) as u64);
    let between_rests = time.0.checked_div(pace.think.0).map(|rests| rests.saturating_add(1));
    let by_time = (10_000 * (time.0 / 1_000_000_000)).min(between_rests.unwrap_or(u64::MAX));
    (pace.saves.or(scheduled).unwrap_or(by_time), time)
}

/// Size of the file of a test's background.
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
        let text = crate::builtin("quick").unwrap().text();
        let scenario = Scenario::parse(text, &[]).unwrap();
        let cost = estimate(&scenario, Bytes::ZERO);
        assert_eq!(cost.written.to_string(), "1.7 GB");
        assert_eq!((cost.test_file, cost.beside_file), (Bytes::from_mb(100), Bytes::from_mb(100)));
        assert!(cost.time < Nanos::from_secs(120), "{}", cost.time);
    }

    /// A scenario of these tests that measures the one named `t`, and a disk that takes 1.5 GB.
    fn cost_of(tests: &str) -> Estimate {
        let text = format!("name = \"x\"\n{tests}[[step]]\nmeasure = [\"t\"]\n");
        estimate(&Scenario::parse(&text, &[]).unwrap(), Bytes::from_mb(1500))
    }

    /// What a test `t` of block I/O over 1 MB writes, and how long it takes.
    fn io(fields: &str) -> (u64, Nanos) {
        let cost = cost_of(&format!("[[io]]\nname = \"t\"\nspan = \"1MB\"\n{fields}\n"));
        assert_eq!(cost.test_file, Bytes::from_mb(1));
        (cost.written.0 - cost.test_file.0, cost.time)
    }

    #[test]
    fn a_file_that_grows_is_written_twice_over_a_page_at_a_time_and_lies_beside_the_others() {
        let test = |name: &str, span: &str, more: &str| {
            format!(
                "[[io]]\nname = \"{name}\"\noperation = \"read\"\npattern = \"sequential\"\n\
                 block = \"4KiB\"\nspan = \"{span}\"\ntime = \"1s\"\n{more}\n"
            )
        };
        let tests = test("t", "8192kB", "grown = true") + &test("u", "4096kB", "grown = true");
        let both = tests + &test("whole", "1MB", "");
        let text = format!("name = \"x\"\n{both}[[step]]\nmeasure = [\"*\"]\n");
        let cost = estimate(&Scenario::parse(&text, &[]).unwrap(), Bytes::ZERO);
        assert_eq!((cost.grown_file.0, cost.test_file.0), (8_192_000, 1_000_000));
        assert_eq!(cost.files().0, 2 * 8_192_000 + 1_000_000);
        assert_eq!(cost.written, cost.files(), "three tests that read write nothing else");
        // 4,000 durable writes of 4 KiB, 2 ms each.
        assert_eq!(cost.time, Nanos::from_secs(3 + 8));
    }

    #[test]
    fn databases_need_room_for_their_rows_and_log_as_far_as_their_number_is_known() {
        let files = |fields: &str| {
            cost_of(&format!(
                "[[save]]\nname = \"t\"\nstatement = \"insert\"\nrow = \"1000B\"\n{fields}\n"
            ))
            .room()
            .0
        };
        let transaction = 5 * 4096;
        // 2,000 rows, and a thousand pages in the log.
        assert_eq!(files("saves = 2000\njournal = \"wal\""), 2_000_000 + 1000 * 4120 + transaction);
        assert_eq!(files("saves = 10\njournal = \"wal\""), 10_000 + 10 * 4120 + transaction);
        assert_eq!(
            files("saves = 10\nstatements = 3\ndatabases = 2\njournal = \"delete\""),
            2 * (30_000 + 3 * transaction)
        );
        assert_eq!(files("saves = 10\njournal = \"off\""), 10_000);
        // How many there will be depends on the storage.
        assert_eq!(files("time = \"60s\"\njournal = \"delete\""), transaction);
    }

    #[test]
    fn a_test_without_a_limit_in_bytes_writes_as_the_fastest_storage_of_its_kind_does() {
        let second = Nanos::from_secs(1);
        let write = "operation = \"write\"\ntime = \"1s\"\n";
        for (fields, each_second) in [
            ("pattern = \"sequential\"\nblock = \"512KiB\"", 3_000_000_000),
            ("pattern = \"random\"\nblock = \"4KiB\"", 1_000_000_000),
            // Durable writes: 100 MB/s, or 10,000 a second where that is more.
            ("pattern = \"random\"\nblock = \"4KiB\"\ndurable = \"fdatasync\"", 100_000_000),
            ("pattern = \"random\"\nblock = \"64KiB\"\ndurable = \"fdatasync\"", 655_360_000),
            ("pattern = \"sequential\"\nblock = \"64KiB\"\ndurable = \"dsync\"", 655_360_000),
        ] {
            assert_eq!(io(&format!("{write}{fields}")), (each_second, second), "{fields}");
        }
        let read = "operation = \"read\"\npattern = \"random\"\nblock = \"4KiB\"\ntime = \"3s\"";
        assert_eq!(io(read), (0, Nanos::from_secs(3)));
    }

    #[test]
    fn a_limit_in_bytes_holds_unless_the_time_is_over_before() {
        let write =
            "operation = \"write\"\npattern = \"random\"\nblock = \"4KiB\"\ntime = \"1s\"\n";
        assert_eq!(io(&format!("{write}bytes = \"999MB\"")).0, 999_000_000);
        assert_eq!(io(&format!("{write}bytes = \"1001MB\"")).0, 1_000_000_000);
        let endless =
            "operation = \"write\"\npattern = \"random\"\nblock = \"4KiB\"\nbytes = \"7MB\"";
        assert_eq!(io(endless), (7_000_000, Nanos::from_secs(60)));
    }

    #[test]
    fn a_mixed_test_writes_its_share_and_five_standard_deviations_more_but_never_more_than_all() {
        // 30 of 100 on average; √(100·0.3·0.7) = 4.583, five of which are 22.9: 53 blocks.
        let mixed =
            "operation = \"mixed\"\npattern = \"random\"\nblock = \"4KiB\"\ntime = \"1s\"\n";
        let (written, _) = io(&format!("{mixed}read_percent = 70\nbytes = \"400KiB\""));
        assert_eq!(written, 53 * 4096);
        // 9.9 of 10 on average, and 1.6 more.
        let (written, _) = io(&format!("{mixed}read_percent = 1\nbytes = \"40KiB\""));
        assert_eq!(written, 10 * 4096);
    }

    fn save(fields: &str) -> (u64, Nanos) {
        let modes = "statement = \"insert\"\njournal = \"wal\"\nsynchronous = \"full\"";
        let cost = cost_of(&format!("[[save]]\nname = \"t\"\n{modes}\n{fields}\n"));
        assert!(cost.files() == Bytes::ZERO && cost.room() <= cost.written, "{cost:?}");
        (cost.written.0, cost.time)
    }

    #[test]
    fn a_save_writes_five_pages_and_its_row_twice_in_each_database() {
        let each = 5 * 4096 + 2 * 100;
        assert_eq!(save("saves = 7"), (7 * each, Nanos::from_secs(30)));
        assert_eq!(save("saves = 7\nrow = \"1KiB\"\ndatabases = 3").0, 7 * (20_480 + 2_048) * 3);
        // With a schedule, and without one as fast as 10,000 a second.
        let paced = "time = \"2s\"\narrivals = { per_second = 35.0 }";
        assert_eq!(save(paced), (70 * each, Nanos::from_secs(2)));
        assert_eq!(save("time = \"2s\"").0, 20_000 * each);
    }

    /// The estimate for a two-second test of reads with a background of these fields.
    fn beside(fields: &str) -> Estimate {
        cost_of(&format!(
            "[[io]]\nname = \"t\"\noperation = \"read\"\npattern = \"random\"\nblock = \"4KiB\"\n\
             span = \"1MB\"\ntime = \"2s\"\nbackground = \"b\"\n\
             [[io]]\nname = \"b\"\npattern = \"random\"\nblock = \"64KiB\"\n{fields}\n"
        ))
    }

    #[test]
    fn what_runs_beside_a_test_writes_its_file_and_by_its_schedule_for_as_long_as_the_test() {
        const FILES: u64 = 1_000_000 + 100_000_000;
        let paced = beside("operation = \"write\"\narrivals = { per_second = 10.0 }");
        assert_eq!(paced.written.0, FILES + 20 * 65_536);
        assert_eq!(paced.files().0, FILES);
        let free = beside("operation = \"write\"\nspan = \"9MB\"");
        assert_eq!(free.written.0, 1_000_000 + 9_000_000 + 6_000_000_000);
        assert_eq!(free.beside_file, Bytes::from_mb(9));
        assert_eq!(beside("operation = \"read\"").written.0, 1_000_000);
        assert_eq!(free.time, Nanos::from_secs(2));
    }

    #[test]
    fn steps_add_up_a_fill_by_what_it_can_write_and_a_trim_or_delete_by_a_second() {
        let text = "name = \"x\"\n[[io]]\nname = \"t\"\noperation = \"write\"\nspan = \"1MB\"\n\
                    pattern = \"sequential\"\nblock = \"512KiB\"\ntime = \"4s\"\nbytes = \"5MB\"\n\
                    [[step]]\nmeasure = [\"t\"]\nrepeat = 2\n[[step]]\nfill = \"t\"\n\
                    [[step]]\ndelete = true\n[[step]]\ntrim = true\n[[step]]\nidle = \"9s\"\n";
        let cost = estimate(&Scenario::parse(text, &[]).unwrap(), Bytes::from_mb(1500));
        assert_eq!(cost.written, Bytes::from_mb(1 + 2 * 5 + 1500));
        // 1,500 MB at 150 MB/s are ten seconds.
        assert_eq!(cost.time, Nanos::from_secs(2 * 4 + 10 + 1 + 1 + 9));
    }
}
