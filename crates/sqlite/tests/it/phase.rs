//! When a phase ends, what it records, and what it leaves out.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{count_rows, done, is_sound, job, open, save};
use flashlag_device::NoWaitMeter;
use flashlag_engine::ThreadWaitMeter;
use flashlag_spec::scenario::{Arrivals, JournalMode, Save, Schedule, Statement};
use flashlag_sqlite::{SaveWatch, run};
use flashlag_stats::live::Live;
use flashlag_stats::{Percentile, Recorder};
use flashlag_units::{Bytes, Nanos, Text};
use tempfile::TempDir;

fn endless(statement: Statement, journal: JournalMode) -> Save {
    Save { saves: None, ..save(statement, journal, 100, 0) }
}

fn at(per_second: f64, schedule: Schedule) -> Arrivals {
    Arrivals { per_second: Some(per_second), schedule }
}

fn millis(millis: u64) -> Text<Nanos> {
    Text(Nanos::from_millis(millis))
}

#[test]
fn time_ends_it_and_min_saves_stretch_it_four_times_at_most() {
    let directory = TempDir::new().unwrap();
    let mut save = endless(Statement::Insert, JournalMode::Memory);
    save.time = Some(millis(100));
    let saved = done(&job(&save, directory.path()));
    assert!(!saved.cut_short && saved.recorded.latency.count() > 0);
    assert!(saved.recorded.elapsed >= Nanos::from_millis(100));
    save.min_saves = Some(u64::MAX);
    let saved = done(&job(&save, directory.path()));
    assert!(saved.recorded.elapsed >= Nanos::from_millis(400), "{}", saved.recorded.elapsed);
    save.min_saves = Some(1);
    // A machine may stand still for longer, but not each time.
    let mut elapsed = (0..5).map(|_| done(&job(&save, directory.path())).recorded.elapsed);
    assert!(elapsed.any(|elapsed| elapsed < Nanos::from_millis(400)));
}

#[test]
fn the_stop_flag_ends_it_cleanly_even_while_it_waits_for_the_schedule() {
    for arrivals in [Arrivals::default(), at(0.001, Schedule::Poisson)] {
        let directory = TempDir::new().unwrap();
        let mut save = endless(Statement::Update, JournalMode::Wal);
        save.arrivals = arrivals;
        let stop = AtomicBool::new(false);
        let began = Instant::now();
        let saved = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(150));
                stop.store(true, Ordering::Relaxed);
            });
            run(&job(&save, directory.path()), SaveWatch::new(&stop, Some(NoWaitMeter))).unwrap()
        });
        assert!(saved.cut_short && saved.error.is_none());
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert!(is_sound(&open(directory.path(), 0)));
    }
}

#[test]
fn a_stop_before_the_first_row_is_a_phase_of_nothing() {
    let directory = TempDir::new().unwrap();
    let save = save(Statement::Delete, JournalMode::Delete, 1_000_000, 10);
    let stop = AtomicBool::new(true);
    let watch = SaveWatch::new(&stop, None::<ThreadWaitMeter>);
    let saved = run(&job(&save, directory.path()), watch).unwrap();
    assert!(saved.cut_short && saved.error.is_none() && saved.time.is_none());
    assert_eq!(saved.recorded.latency.count(), 0);
}

#[test]
fn a_word_from_the_watch_ends_it_and_is_a_note() {
    let directory = TempDir::new().unwrap();
    let save = endless(Statement::Insert, JournalMode::Memory);
    let stop = AtomicBool::new(false);
    let mut calls = 0;
    let mut tell = |recorder: &mut Recorder| {
        recorder.set_temperature(31_000);
        calls += 1;
        if calls < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break("enough".to_owned()) }
    };
    let live = Arc::new(Live::default());
    let watch = SaveWatch {
        live: Some(Arc::clone(&live)),
        on_interval: Some(&mut tell),
        ..SaveWatch::new(&stop, Some(NoWaitMeter))
    };
    let saved = run(&job(&save, directory.path()), watch).unwrap();
    assert!(saved.cut_short && saved.notes.contains(&"enough".to_owned()));
    assert_eq!(saved.recorded.intervals[1].temperature_millicelsius, Some(31_000));
    assert!(live.snapshot().ops > 0 && live.snapshot().intervals >= 3);
}

#[test]
fn an_open_loop_keeps_its_schedule_and_counts_response_from_it() {
    for schedule in [Schedule::Fixed, Schedule::Poisson] {
        let directory = TempDir::new().unwrap();
        let mut save = endless(Statement::Update, JournalMode::Memory);
        (save.arrivals, save.time) = (at(200.0, schedule), Some(millis(500)));
        let saved = done(&job(&save, directory.path()));
        let recorded = &saved.recorded;
        // About a hundred slots. One whose save began late is both in the latencies and missed.
        let saves = recorded.latency.count();
        assert!(saves <= 150, "{schedule:?}: {saves} saves, seed 7");
        assert!(saves + recorded.missed_slots >= 50, "{schedule:?}: {saves} saves, seed 7");
        assert_eq!(recorded.response.count(), recorded.latency.count());
        let sums = (recorded.response.sum(), recorded.latency.sum());
        assert!(sums.0 >= sums.1, "{schedule:?}: {sums:?}");
    }
}

#[test]
fn a_schedule_that_is_too_fast_misses_slots_and_its_response_grows() {
    let directory = TempDir::new().unwrap();
    let mut save = endless(Statement::Update, JournalMode::Delete);
    (save.arrivals, save.time) = (at(1e6, Schedule::Fixed), Some(millis(200)));
    let recorded = done(&job(&save, directory.path())).recorded;
    assert!(recorded.missed_slots > 100_000, "{}", recorded.missed_slots);
    let median = |histogram: &flashlag_stats::Histogram| histogram.quantile(Percentile::P50);
    assert!(median(&recorded.response) > median(&recorded.latency));
}

#[test]
fn time_is_split_without_waits_for_the_schedule() {
    let Ok(meter) = ThreadWaitMeter::open() else {
        return flashlag_need::skip("the kernel keeps no scheduler statistics");
    };
    let directory = TempDir::new().unwrap();
    let mut save = endless(Statement::Update, JournalMode::Off);
    (save.arrivals, save.time) = (at(50.0, Schedule::Fixed), Some(millis(400)));
    let stop = AtomicBool::new(false);
    let watch = SaveWatch::new(&stop, Some(meter));
    let saved = run(&job(&save, directory.path()), watch).unwrap();
    let (time, recorded) = (saved.time.unwrap(), saved.recorded);
    // Twenty saves of well under a millisecond each: hardly any of 400 ms is theirs, unless the
    // machine is so busy that they wait.
    let saves = recorded.response.sum().0;
    assert!(time.total().0 <= saves + recorded.elapsed.0 / 4, "{time:?} of {}", recorded.elapsed);
    assert!(recorded.waits.occupied().map(|(_, class)| class.ops).sum::<u64>() > 0);
}

#[test]
fn every_stall_has_its_split() {
    let Ok(meter) = ThreadWaitMeter::open() else {
        return flashlag_need::skip("the kernel keeps no scheduler statistics");
    };
    let directory = TempDir::new().unwrap();
    let save = save(Statement::Insert, JournalMode::Delete, 10, 50);
    let mut job = job(&save, directory.path());
    job.stall_over = Nanos(1);
    let stop = AtomicBool::new(false);
    let recorded = run(&job, SaveWatch::new(&stop, Some(meter))).unwrap().recorded;
    assert_eq!(recorded.stalls_seen, 50);
    for stall in &recorded.stalls {
        let split = stall.split.unwrap();
        assert_eq!(split.total(), stall.length, "{stall:?}");
    }
}

#[test]
fn what_sqlite_writes_is_counted_and_more_than_the_rows() {
    let directory = TempDir::new().unwrap();
    let saved =
        done(&job(&save(Statement::Update, JournalMode::Delete, 100, 50), directory.path()));
    let Some(written) = saved.page_bytes.value() else {
        return flashlag_need::skip(saved.page_bytes.reason().unwrap_or_default());
    };
    // A page in the journal and a page in the database, at the least.
    assert!(*written >= Bytes(50 * 2 * 4096), "{written}");
    assert!(*saved.write_calls.value().unwrap() >= 100);
    assert!(saved.prepared_bytes.value().unwrap() > &Bytes::ZERO);
    assert!(saved.database_bytes >= Bytes(4096 * 4));
}

#[test]
fn pauses_to_put_rows_back_are_in_no_figure() {
    let directory = TempDir::new().unwrap();
    // Rows are put back whenever half are gone.
    let save = save(Statement::Delete, JournalMode::Memory, 2_000, 2_500);
    let began = Instant::now();
    let saved = done(&job(&save, directory.path()));
    let wall = Nanos::from(began.elapsed());
    assert_eq!((saved.top_ups.count, saved.recorded.latency.count()), (2, 2_500));
    assert!(saved.top_ups.took > Nanos::ZERO);
    assert!(saved.recorded.elapsed.plus(saved.top_ups.took) <= wall);
    let last = saved.recorded.intervals.last().unwrap().ends;
    assert!(last <= saved.recorded.elapsed);
    assert_eq!(
        count_rows(&open(directory.path(), 0)) + saved.recorded.latency.count(),
        2_000 + saved.top_ups.rows
    );
}

#[test]
fn a_phase_ends_before_its_caller_reads_counters() {
    use flashlag_device::{Clock, MonotonicClock};
    let directory = TempDir::new().unwrap();
    let save = save(Statement::Insert, JournalMode::Memory, 10, 50);
    let stop = AtomicBool::new(false);
    let mut read_at = Nanos::ZERO;
    let mut at_end = || {
        read_at = MonotonicClock.now();
        std::thread::sleep(Duration::from_millis(30));
    };
    let watch = SaveWatch { on_end: Some(&mut at_end), ..SaveWatch::new(&stop, Some(NoWaitMeter)) };
    let recorded = run(&job(&save, directory.path()), watch).unwrap().recorded;
    let ended = recorded.began.plus(recorded.elapsed).plus(recorded.behind);
    assert!(ended <= read_at, "{ended} is after {read_at}");
}
