//! Progress on a terminal that is emulated, and in a pipe.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flashlag_spec::scenario::Scenario;
use flashlag_stats::live::Live;
use flashlag_stats::{OpTimes, Recorder, RecorderConfig};
use flashlag_term::{Progress, Style};
use flashlag_units::{Bytes, Nanos};
use indicatif::{InMemoryTerm, ProgressDrawTarget};

const QUICK: &str = include_str!("../../../../scenarios/quick.toml");

/// A pipe that remembers.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Pipe {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A phase that runs through `live`: 4 KiB writes of 2 ms, each hundredth of 40 ms, of which
/// `long` is one; the storage fills from 10 GB by 1 % of 32 GB a second where `fills`.
fn drive(live: &Arc<Live>, long: Option<Nanos>, fills: bool, between: &mut dyn FnMut()) {
    let mut recorder = Recorder::new(RecorderConfig {
        start: Nanos::ZERO,
        interval: Nanos::from_secs(1),
        stall_over: Nanos::from_millis(100),
        live: Some(live.clone()),
    });
    let mut now = Nanos::ZERO;
    for op in 0..20_000u64 {
        let slow = if op % 100 == 99 { 40 } else { 2 };
        let latency = match long {
            Some(long) if op == 19_990 => long,
            _ => Nanos::from_millis(slow),
        };
        let started = now;
        now = now.plus(latency);
        if fills {
            recorder.set_filled(Bytes(10_000_000_000 + now.0 / 1_000_000_000 * 320_000_000));
        }
        let (intended, flush_from, bytes) = (None, None, Bytes(4096));
        recorder.record(OpTimes { intended, started, flush_from, ended: now, bytes });
        if op % 2000 == 0 {
            between();
        }
    }
}

fn wait_for(what: &str, mut seen: impl FnMut() -> bool) {
    for _ in 0..100 {
        if seen() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("never seen within 5 s: {what}");
}

fn on_terminal(width: u16, check: impl Fn(&Progress, &InMemoryTerm)) -> InMemoryTerm {
    let term = InMemoryTerm::new(24, width);
    let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
    let style = Style { width: width.into(), ..Style::PLAIN };
    let title = "flashlag 0.1.0  quick on /data/local/tmp/flashlag  (f2fs, 32 GB eMMC)";
    let progress = Progress::on_target(style, title, Arc::new(Live::default()), target);
    progress.scenario(&Scenario::parse(QUICK, &[]).unwrap());
    progress.plan(Bytes(1_500_000_000), Some(Nanos::from_secs(56)));
    progress.storage(Bytes(32_000_000_000));
    check(&progress, &term);
    drop(progress);
    term
}

#[test]
fn a_long_wait_is_reported_while_the_phase_runs() {
    for width in [60, 80, 120] {
        on_terminal(width, |progress, term| {
            let (expected, limit) = (Nanos::from_secs(12), Bytes(300_000_000));
            progress.phase_started("new: rand_write_4k", Some(expected), Some(limit));
            drive(&progress.live(), Some(Nanos::from_millis(4600)), false, &mut || {});
            wait_for("the stall", || term.contents().contains("write took 4.6 s"));
            let screen = term.contents();
            // How long is left depends on how long this test takes.
            let left =
                screen.split("    about ").nth(1).and_then(|rest| rest.split(" left").next());
            let still = left.map_or(screen.clone(), |left| screen.replace(left, "SOME TIME"));
            insta::assert_snapshot!(format!("live_{width}"), still);
            let longest = screen.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest < width.into(), "{longest} of {width} columns:\n{screen}");
        });
    }
}

#[test]
fn what_is_redrawn_is_gone_after_the_end_and_what_was_finished_stays() {
    let term = on_terminal(80, |progress, term| {
        progress.phase_started("new: rand_write_4k", Some(Nanos::from_secs(12)), None);
        drive(&progress.live(), None, false, &mut || {});
        wait_for("the drawing", || term.contents().contains("Ctrl-C"));
        progress.note("trim skipped: the filesystem takes none");
    });
    let screen = term.contents();
    assert!(!screen.contains("Ctrl-C") && !screen.contains("p50"), "{screen}");
    assert!(screen.contains("flashlag 0.1.0") && screen.contains("trim skipped"), "{screen}");
}

#[test]
fn a_pipe_gets_whole_lines_without_control_characters() {
    let pipe = Pipe::default();
    let style = Style { color: true, ..Style::PLAIN };
    let title = "flashlag 0.1.0  fill on \u{1b}[31m/tmp/x\r";
    let live = Arc::new(Live::default());
    let progress = Progress::to_writer(style, title, live, Box::new(pipe.clone()));
    progress.storage(Bytes(32_000_000_000));
    progress.preparing("writing the test file");
    progress.filling(Some(Bytes(32_000_000_000)));
    progress.phase_started("fill: fill_rand_4k", None, Some(Bytes(81_920_000)));
    let pause = || std::thread::sleep(Duration::from_millis(250));
    drive(&progress.live(), None, true, &mut { pause });
    wait_for("how far the fill is", || pipe.text().contains(" of 82 MB after "));
    progress.note("a note\nof two lines");
    progress.finished();
    let text = pipe.text();
    assert!(text.ends_with('\n'));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert!(text.contains("a note of two lines\n"), "{text}");
}

/// The fill of the sample, and the size of its storage.
fn sample_fill() -> (flashlag_schema::Run, usize) {
    let run = flashlag_testing::sample::lifecycle();
    let fill = run.phases.iter().position(|phase| phase.name == "fill_rand_4k").unwrap();
    (run, fill)
}

fn after_the_fill(style: Style) -> (String, flashlag_schema::Run) {
    let (run, fill) = sample_fill();
    let pipe = Pipe::default();
    let live = Arc::new(Live::default());
    let progress = Progress::to_writer(style, "title", live, Box::new(pipe.clone()));
    progress.filling(run.environment.filesystem.total_bytes.value().copied());
    progress.phase_started("fill: fill_rand_4k", None, Some(run.phases[fill].bytes));
    progress.phase_finished(&run.phases[fill]);
    progress.finished();
    (pipe.text(), run)
}

#[test]
fn the_levels_of_a_fill_are_those_of_its_summary() {
    let (text, run) = after_the_fill(Style::PLAIN);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("up to ")).collect();
    let levels = &flashlag_views::fill_curves(&run)[0].levels;
    assert_eq!(lines.len(), levels.len(), "{text}");
    for (line, level) in lines.iter().zip(levels) {
        let (n, full) = (level.figures.n, flashlag_views::format::share(level.full));
        let n = flashlag_views::format::count(n);
        assert!(line.starts_with(&format!("up to {full} full: {n} writes")), "{line}");
        assert!(line.contains(&format!("p99 {}", level.figures.p99.unwrap())), "{line}");
        assert!(!line.contains("0 ns"), "{line}");
    }
}

#[test]
fn no_number_of_a_finished_line_is_cut_at_any_width() {
    let (run, fill) = sample_fill();
    for width in (60..130).step_by(5) {
        let term = on_terminal(width, |progress, _| {
            progress.filling(run.environment.filesystem.total_bytes.value().copied());
            progress.phase_started("fill: fill_rand_4k", None, None);
            progress.phase_finished(&run.phases[fill]);
        });
        let screen = term.contents();
        assert!(screen.contains("full"), "{width}: {screen}");
        let cut = screen
            .lines()
            .filter(|line| line.contains("up to "))
            .any(|line| line.contains('…') || line.ends_with("longest") || line.contains("0 ns"));
        assert!(!cut, "{width}: {screen}");
    }
}

#[test]
fn what_was_written_is_what_the_run_says_it_was_and_never_more_than_the_storage_holds() {
    on_terminal(100, |progress, term| {
        // The plan of 1.5 GB is more than there is.
        progress.storage(Bytes(500_000_000));
        progress.wrote(Bytes(104_857_600));
        let beside = Arc::new(Live::default());
        progress.beside(&beside);
        progress.phase_started("new: save_busy", Some(Nanos::from_secs(12)), None);
        drive(&progress.live(), None, false, &mut || {});
        drive(&beside, None, false, &mut || {});
        let own = progress.live().snapshot().bytes;
        let sum = Bytes(104_857_600).plus(own).plus(beside.snapshot().bytes);
        assert!(own > Bytes(70_000_000) && sum > Bytes(240_000_000), "{sum}");
        wait_for("the sum", || term.contents().contains(&format!("written {sum} ")));
        assert!(!term.contents().contains("at most"), "{}", term.contents());
        progress.live().set_written(Bytes(150_000_000));
        let sum = sum.minus(own).plus(Bytes(150_000_000));
        wait_for("its files", || term.contents().contains(&format!("written {sum} ")));
        progress.wrote(Bytes(400_000_000));
        wait_for("the run's own sum", || term.contents().contains("written 400 MB "));
    });
}

#[test]
fn live_percentiles_need_as_many_values_as_stored_ones() {
    on_terminal(100, |progress, term| {
        progress.phase_started("new: rand_write_4k", Some(Nanos::from_secs(12)), None);
        let mut recorder = Recorder::new(RecorderConfig {
            start: Nanos::ZERO,
            interval: Nanos::from_secs(1),
            stall_over: Nanos::from_millis(100),
            live: Some(progress.live()),
        });
        // 486 writes: a median, but no p99.
        for op in 0..486u64 {
            let (started, ended) = (Nanos::from_millis(op * 10), Nanos::from_millis(op * 10 + 2));
            let (intended, flush_from, bytes) = (None, None, Bytes(4096));
            recorder.record(OpTimes { intended, started, flush_from, ended, bytes });
        }
        let recorded = recorder.finish(Nanos::from_secs(5));
        assert_eq!(recorded.latency.percentile(flashlag_stats::Percentile::P99), None);
        wait_for("the count", || term.contents().contains("486 writes"));
        let row = term.contents();
        let row = row.lines().find(|line| line.contains("486 writes")).unwrap().to_owned();
        assert!(row.contains("p50  2.0 ms") && row.trim_end().ends_with("p99       -"), "{row}");
    });
}

#[test]
fn time_left_of_a_fill_that_stalls_grows_while_its_bar_stands_still() {
    let at = |text: &str, what: &str| -> Option<u64> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let place = words.iter().position(|word| *word == what)?;
        words[place - 2].parse().ok()
    };
    on_terminal(100, |progress, term| {
        // By the plan it takes a second; it writes 80 of 800 MB, then nothing more.
        progress.plan(Bytes(800_000_000), Some(Nanos::from_secs(1)));
        progress.filling(Some(Bytes(32_000_000_000)));
        let limit = Some(Bytes(800_000_000));
        progress.phase_started("fill: fill_rand_4k", Some(Nanos::from_secs(1)), limit);
        drive(&progress.live(), None, true, &mut || {});
        wait_for("a guess", || at(&term.contents(), "left").is_some());
        let first = at(&term.contents(), "left").unwrap();
        assert!(term.contents().contains("filling: 8") && term.contents().contains(" of 800 MB"));
        wait_for("a longer one", || at(&term.contents(), "left").is_some_and(|left| left > first));
    });
}

#[test]
fn an_overloaded_schedule_has_no_percentile_in_its_line_either() {
    let run = flashlag_testing::sample::overloaded();
    let phase = run.phases.iter().find(|phase| flashlag_views::is_overloaded(phase)).unwrap();
    let pipe = Pipe::default();
    let live = Arc::new(Live::default());
    let progress = Progress::to_writer(Style::PLAIN, "title", live, Box::new(pipe.clone()));
    progress.phase_started(&phase.label(), None, None);
    progress.phase_finished(phase);
    progress.finished();
    let text = pipe.text();
    assert!(text.contains("overloaded: the queue grows") && !text.contains("p50"), "{text}");
}

#[test]
fn quiet_prints_nothing_and_survives_everything() {
    let progress = Progress::new(flashlag_term::ProgressMode::Quiet, "title");
    progress.phase_started("fill: x", None, None);
    progress.note("note");
    progress.plan(Bytes::ZERO, None);
    progress.finished();
}
