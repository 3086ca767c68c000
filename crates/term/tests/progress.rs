//! Progress on a terminal that is emulated, and in a pipe.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flashlag_schema::scenario::Scenario;
use flashlag_stats::live::Live;
use flashlag_stats::{OpTimes, Recorder, RecorderConfig};
use flashlag_term::{Progress, Style};
use flashlag_units::{Bytes, Nanos};
use indicatif::{InMemoryTerm, ProgressDrawTarget};

const QUICK: &str = include_str!("../../../scenarios/quick.toml");

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
    check(&progress, &term);
    drop(progress);
    term
}

#[test]
fn a_long_wait_is_told_while_the_phase_runs() {
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
    progress.phase_started("fill: fill_rand_4k", None, Some(Bytes(20_000_000_000)));
    let pause = || std::thread::sleep(Duration::from_millis(250));
    drive(&progress.live(), None, true, &mut { pause });
    wait_for("the fill levels", || pipe.text().contains("to 60 %"));
    progress.note("a note\nof two lines");
    progress.finished();
    let text = pipe.text();
    assert!(text.ends_with('\n'));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert!(text.contains("writes, p50 2.0 ms, p99 "), "{text}");
    assert!(text.contains("a note of two lines\n"), "{text}");
}

#[test]
fn quiet_prints_nothing_and_survives_everything() {
    let progress = Progress::new(flashlag_term::ProgressMode::Quiet, "title");
    progress.phase_started("fill: x", None, None);
    progress.note("note");
    progress.plan(Bytes::ZERO, None);
    progress.finished();
}
