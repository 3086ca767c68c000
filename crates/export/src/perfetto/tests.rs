use flashlag_schema::trace::{TraceDevice, TraceStall, TraceStalled, TraceStalls, TraceTask};
use flashlag_units::Bytes;

use super::*;

fn event(t: u64, took: Option<u64>, action: TraceAction) -> TraceEvent {
    TraceEvent { t_ns: Nanos(t), took_ns: took.map(Nanos), task: Some(0), action }
}

fn request(t: u64, took: u64) -> TraceEvent {
    let block = TraceAction::Block {
        device: 0,
        operation: BlockOperation::Write,
        offset: 8,
        bytes: Bytes(512),
        flags: Default::default(),
        queued_ns: None,
        file: None,
    };
    event(t, Some(took), block)
}

fn exported(trace: &Trace, stalls: TraceStalls) -> Vec<Value> {
    let mut text = Vec::new();
    write(&mut text, trace, &TraceLedger { stalls, ..TraceLedger::default() }).unwrap();
    let mut all: Value = serde_json::from_slice(&text).unwrap();
    match all["traceEvents"].take() {
        Value::Array(events) => events,
        other => panic!("{other}"),
    }
}

fn sample() -> Trace {
    let name = "a\"\u{1b}]0;x\u{7}<script>".to_owned();
    Trace {
        tasks: vec![TraceTask { tid: Some(7), pid: Some(5), process: Some(name), thread: None }],
        files: vec![TraceFile { path: Some("/x\"y".to_owned()), ..TraceFile::default() }],
        devices: vec![TraceDevice { name: "8,0".to_owned(), below: None }],
        events: vec![
            event(1_000, Some(1_500), TraceAction::Sync { file: 0, data_only: false }),
            request(1_100, 300),
            request(1_200, 300),
            request(1_400, 100),
        ]
        .into(),
        ..Trace::default()
    }
}

#[test]
fn every_event_is_a_slice_with_its_times_and_overlapping_requests_stand_side_by_side() {
    let events = exported(&sample(), TraceStalls::default());
    let slices: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(slices.len(), 4);
    assert_eq!((slices[0]["ts"].as_f64(), slices[0]["dur"].as_f64()), (Some(1.0), Some(1.5)));
    assert_eq!((&slices[0]["pid"], &slices[0]["tid"]), (&json!(5), &json!(7)));
    let lanes: Vec<u64> = slices[1..].iter().filter_map(|slice| slice["tid"].as_u64()).collect();
    assert_eq!(lanes, [0, 1, 0]);
    assert!(events.iter().any(|event| event["name"] == "process_name"));
}

#[test]
fn a_stall_is_marked_at_its_event() {
    let stall = TraceStall {
        t_ns: Nanos(1_000),
        took_ns: Nanos(1_500),
        event: 0,
        what: TraceStalled::Sync,
        task: None,
        file: None,
    };
    let events = exported(&sample(), TraceStalls { count: 1, listed: vec![stall] });
    let marks: Vec<&Value> = events.iter().filter(|event| event["cat"] == "stall").collect();
    assert_eq!(marks.len(), 1);
    assert_eq!((&marks[0]["name"], marks[0]["ts"].as_f64()), (&json!("stall: fsync"), Some(1.0)));
}

#[test]
fn a_trace_without_events_is_json_too() {
    assert!(exported(&Trace::default(), TraceStalls::default()).is_empty());
}
