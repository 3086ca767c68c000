//! The JSON Schema accepts what is written and refuses what is not a run.
#![allow(clippy::unwrap_used)]

use flashlag_schema::RUN_JSON_SCHEMA;
use flashlag_testing::small_run;
use serde_json::{Value, json};

/// What the schema finds wrong with a run. Compiling checks the schema by its own meta-schema first.
fn checked(value: &Value) -> Result<(), String> {
    let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
    let schema = serde_json::from_str(&RUN_JSON_SCHEMA).unwrap();
    compiler.add_resource("run.json", schema).unwrap();
    let schema = compiler.compile("run.json", &mut schemas).expect("a schema that is valid");
    schemas.validate(value, schema).map_err(|error| format!("{error:#}"))
}

fn valid(value: &Value) -> bool {
    checked(value).is_ok()
}

fn run() -> Value {
    serde_json::to_value(small_run()).unwrap()
}

#[test]
fn the_schema_is_a_valid_one_and_accepts_a_run() {
    assert_eq!(checked(&run()), Ok(()));
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
    run["environment"]["memory_bytes"] = json!({ "unavailable": "not readable" });
    assert!(valid(&run));
    run["environment"]["memory_bytes"] = json!({ "unavailable": "not readable", "value": 3 });
    assert!(!valid(&run), "either, not both");
}
