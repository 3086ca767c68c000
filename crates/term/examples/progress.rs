//! Live progress of an invented run of ten seconds: `cargo run --example progress`; with `panic`
//! it ends in a panic, to see that the message is readable.

use std::time::{Duration, Instant};

use flashlag_spec::scenario::Scenario;
use flashlag_stats::{OpTimes, Recorder, RecorderConfig};
use flashlag_term::{Progress, ProgressMode};
use flashlag_units::{Bytes, Nanos};

const FILL: &str = include_str!("../../../scenarios/fill.toml");

fn main() {
    let title = "flashlag 0.1.0  fill on /data/sample  (f2fs, 32 GB eMMC)";
    let progress = Progress::new(ProgressMode::of_stderr(false), title);
    if let Ok(scenario) = Scenario::parse(FILL, &[]) {
        progress.scenario(&scenario);
    }
    let total = Bytes(320_000_000);
    progress.plan(total, Some(Nanos::from_secs(10)));
    progress.storage(Bytes(400_000_000));
    progress.preparing("writing the test file");
    std::thread::sleep(Duration::from_secs(1));
    progress.phase_started("fill: fill_rand_4k", Some(Nanos::from_secs(10)), Some(total));
    let mut recorder = Recorder::new(RecorderConfig {
        start: Nanos::ZERO,
        interval: Nanos::from_millis(250),
        stall_over: Nanos::from_millis(100),
        live: Some(progress.live()),
    });
    let (began, mut now, mut op) = (Instant::now(), Nanos::ZERO, 0u64);
    while began.elapsed() < Duration::from_secs(9) {
        op += 1;
        // Slower and less even as it fills.
        let slow = if op.is_multiple_of(97) { 20 + op / 20 } else { 1 };
        let started = now;
        now = now.plus(Nanos::from_micros(800 * slow));
        std::thread::sleep(now.saturating_since(Nanos::from(began.elapsed())).into());
        let bytes = Bytes(65_536);
        recorder.set_filled(Bytes(80_000_000 + op * bytes.0));
        let (intended, flush_from) = (None, None);
        recorder.record(OpTimes { intended, started, flush_from, ended: now, bytes });
    }
    assert!(std::env::args().all(|word| word != "panic"), "asked to panic");
    progress.note("the fill ended: this was an example");
    progress.finished();
}
