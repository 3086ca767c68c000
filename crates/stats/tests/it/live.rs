//! What a watcher of a running phase can know.

use std::sync::Arc;

use flashlag_stats::live::Live;
use flashlag_stats::{BUCKETS, Histogram, OpTimes, Recorder, RecorderConfig};
use flashlag_units::{Bytes, Nanos};

#[test]
fn buckets_cover_every_value_and_no_more() {
    assert_eq!(Histogram::index_of(Nanos::MAX), BUCKETS - 1);
}

#[test]
fn a_watcher_can_tell_stretches_of_a_phase_apart_by_subtraction() {
    let live = Arc::new(Live::default());
    let mut recorder = Recorder::new(RecorderConfig {
        start: Nanos::ZERO,
        interval: Nanos::from_millis(10),
        stall_over: Nanos::from_secs(1),
        live: Some(live.clone()),
    });
    let mut now = Nanos::ZERO;
    let mut run = |latency: Nanos, times: u32| {
        for _ in 0..times {
            let started = now;
            now = now.plus(latency);
            let flush_from = None;
            let bytes = Bytes(4096);
            recorder.record(OpTimes { intended: None, started, flush_from, ended: now, bytes });
        }
    };
    run(Nanos::from_millis(1), 100);
    let before = live.buckets();
    run(Nanos::from_millis(5), 100);
    let stretch: Vec<u64> =
        live.buckets().iter().zip(&before).map(|(now, was)| now - was).collect();
    let fast = Histogram::index_of(Nanos::from_millis(1));
    let slow = Histogram::index_of(Nanos::from_millis(5));
    assert_eq!((stretch[fast], stretch[slow]), (0, 100));
    live.reset();
    assert_eq!(live.buckets().iter().sum::<u64>(), 0);
}

#[test]
fn a_watcher_sees_latencies_of_a_closed_loop_and_response_times_of_a_schedule() {
    let millis = Nanos::from_millis;
    for (behind, felt) in [(None, 1), (Some(4), 5)] {
        let live = Arc::new(Live::default());
        let mut recorder = Recorder::new(RecorderConfig {
            start: Nanos::ZERO,
            interval: millis(10),
            stall_over: Nanos::from_secs(1),
            live: Some(live.clone()),
        });
        for number in 10..110 {
            let started = millis(number);
            let intended = behind.map(|behind| millis(number - behind));
            let ended = millis(number + 1);
            let (flush_from, bytes) = (None, Bytes(4096));
            recorder.record(OpTimes { intended, started, flush_from, ended, bytes });
        }
        assert_eq!(live.snapshot().longest, millis(felt), "{behind:?} ms behind");
        let error = live.snapshot().median.0.abs_diff(millis(felt).0);
        assert!(error <= millis(felt).0 / 128, "{}", live.snapshot().median);
    }
}
