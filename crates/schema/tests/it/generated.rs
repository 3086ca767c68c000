//! The files in `generated`, which the program carries, are in step with the types. To write them
//! anew: `FLASHLAG_UPDATE_DOCS=1 cargo test -p flashlag-schema --test it generated`.
#![allow(clippy::unwrap_used)]

use flashlag_schema::history::{HISTORY_JSON_SCHEMA, history_json_schema};
use flashlag_schema::{RUN_JSON_SCHEMA, run_json_schema, written_json_schema};

fn in_step(name: &str, carried: &str, generated: &str) {
    if std::env::var_os("FLASHLAG_UPDATE_DOCS").is_some() {
        let path = format!("{}/generated/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, generated).unwrap();
    } else {
        assert!(carried == generated, "{name} is not in step: see the head of this test");
    }
}

#[test]
fn the_json_schema_of_a_run_file_is_that_of_its_types() {
    let generated = serde_json::to_string_pretty(&run_json_schema()).unwrap();
    in_step("run.schema.json", &RUN_JSON_SCHEMA, &format!("{generated}\n"));
}

#[test]
fn the_json_schema_of_a_history_is_that_of_its_types() {
    let generated = serde_json::to_string_pretty(&history_json_schema()).unwrap();
    in_step("history.schema.json", &HISTORY_JSON_SCHEMA, &format!("{generated}\n"));
}

/// The program does not carry it; the types of the Python package are made of it.
#[test]
fn the_json_schema_of_all_that_is_written_is_that_of_its_types() {
    let generated = serde_json::to_string_pretty(&written_json_schema()).unwrap();
    let carried = include_str!("../../generated/written.schema.json");
    in_step("written.schema.json", carried, &format!("{generated}\n"));
}

#[test]
fn the_list_of_kinds_of_findings_has_each_of_them_once_in_their_order() {
    let schema: serde_json::Value = serde_json::to_value(run_json_schema()).unwrap();
    let kinds = schema["$defs"]["FindingId"]["oneOf"].as_array().unwrap();
    let of_type: Vec<&serde_json::Value> = kinds.iter().map(|kind| &kind["const"]).collect();
    let listed = flashlag_schema::finding::FindingId::ALL.map(|id| serde_json::json!(id));
    assert_eq!(of_type, listed.iter().collect::<Vec<_>>());
}
