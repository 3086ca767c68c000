//! The stored form leaves out what is none, and nothing else.

use flashlag_schema::trace::{TraceSource, TraceUnmatched};
use flashlag_schema::{Phase, Time};
use flashlag_spec::{Operation, State};
use flashlag_stats::Histogram;
use flashlag_testing::closed_loop_phase;
use flashlag_units::Nanos;
use serde_json::{Value, json};

#[test]
fn a_source_without_losses_says_nothing_of_them() {
    let source = TraceSource::default();
    let stored = serde_json::to_value(&source).unwrap();
    for key in ["damaged", "left_out", "unmatched", "cut_off"] {
        assert_eq!(stored.get(key), None, "{key}");
    }
    let lossy = TraceSource {
        damaged: 3,
        left_out: 4,
        unmatched: TraceUnmatched { begins: 0, ends: 5 },
        cut_off: true,
        ..source
    };
    let stored = serde_json::to_value(&lossy).unwrap();
    assert_eq!(stored["damaged"], json!(3));
    assert_eq!(stored["left_out"], json!(4));
    assert_eq!(stored["unmatched"], json!({"begins": 0, "ends": 5}));
    assert_eq!(serde_json::from_value::<TraceSource>(stored).unwrap(), lossy);
}

#[test]
fn one_thread_and_no_time_stopped_are_what_a_file_means_that_says_nothing() {
    let operation = Operation::RandomRead;
    let mut phase = closed_loop_phase("read", State::New, operation, &Histogram::new());
    for threads in [1, 3] {
        phase.threads = threads;
        let stored = serde_json::to_value(&phase).unwrap();
        let said = (threads > 1).then_some(json!(threads));
        assert_eq!(stored.get("threads"), said.as_ref());
        assert_eq!(serde_json::from_value::<Phase>(stored).unwrap(), phase);
    }
    for stopped in [0, 9] {
        let time = Time { stopped_ns: Nanos(stopped), ..Time::default() };
        let stored: Value = serde_json::to_value(time).unwrap();
        assert_eq!(stored.get("stopped_ns").is_some(), stopped > 0);
        assert_eq!(serde_json::from_value::<Time>(stored).unwrap(), time);
    }
}
