//! The JSON Schema accepts what is written and refuses what is not a run.
#![allow(clippy::unwrap_used)]

use flashlag_schema::run_json_schema;
use flashlag_testing::small_run;
use serde_json::{Value, json};

fn valid(value: &Value) -> bool {
    jsonschema::validator_for(&run_json_schema()).unwrap().is_valid(value)
}

fn run() -> Value {
    serde_json::to_value(small_run()).unwrap()
}

#[test]
fn the_schema_is_a_valid_one_and_accepts_a_run() {
    assert!(jsonschema::meta::is_valid(&run_json_schema()));
    let validator = jsonschema::validator_for(&run_json_schema()).unwrap();
    let run = run();
    let errors: Vec<String> = validator.iter_errors(&run).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn a_broken_run_is_refused() {
    type Change = fn(&mut Value);
    let changes: &[(&str, Change)] = &[
        ("another version", |run| run["schema"] = json!("flashlag.run/2")),
        ("no phases", |run| drop(run.as_object_mut().unwrap().remove("phases"))),
        ("an unknown field", |run| run["extra"] = json!(1)),
        ("a count as text", |run| run["phases"][0]["ops"] = json!("12")),
        ("a negative time", |run| run["phases"][0]["elapsed_ns"] = json!(-1)),
        ("a time with a fraction", |run| run["phases"][0]["latency_ns"]["p50"] = json!(1.5)),
        ("an unknown operation", |run| run["phases"][0]["operation"] = json!("format")),
        ("a reading of the wrong type", |run| {
            run["environment"]["device"]["queue"]["fua"] = json!("yes");
        }),
        ("a reading that is neither", |run| run["wear"]["block_bytes"] = json!({ "why": "x" })),
        ("a null for a figure", |run| run["wear"]["block_bytes"] = Value::Null),
        ("another grouping power", |run| {
            run["phases"][0]["histogram"]["grouping_power"] = json!(7);
        }),
    ];
    for (what, change) in changes {
        let mut broken = run();
        change(&mut broken);
        assert!(!valid(&broken), "accepted: {what}");
    }
}

#[test]
fn a_reading_is_its_value_or_the_reason_why_there_is_none() {
    let mut run = run();
    run["environment"]["device"]["queue"]["fua"] = json!(true);
    run["environment"]["memory_bytes"] = json!({ "unavailable": "not told" });
    assert!(valid(&run));
    run["environment"]["memory_bytes"] = json!({ "unavailable": "not told", "value": 3 });
    assert!(!valid(&run), "either, not both");
}
