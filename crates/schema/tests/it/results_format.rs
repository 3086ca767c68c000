//! `docs/results-format.md` lists every field of a run file, in step with the schema. To write the
//! list anew: `FLASHLAG_UPDATE_DOCS=1 cargo test -p flashlag-schema --test it results_format`.
#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::fmt::Write;

use flashlag_schema::run_json_schema;
use serde_json::{Map, Value};

const BEGIN: &str = "<!-- fields: begin (generated from the schema) -->\n";
const END: &str = "<!-- fields: end -->\n";

/// The text of a description, on one line.
fn words(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let lines: Vec<&str> = text.split_whitespace().collect();
    lines.join(" ").replace('|', "\\|")
}

/// The name of the type that a reference leads to.
fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"))
}

/// A type in words, and in `found` the types of ours that it names.
fn type_of(schema: &Value, definitions: &Map<String, Value>, found: &mut Vec<String>) -> String {
    if let Some(name) = referred(schema) {
        return named(name, definitions, found);
    }
    if let Some(either) = schema["anyOf"].as_array() {
        let known = either.iter().filter(|part| part["type"] != "null");
        return known
            .map(|part| type_of(part, definitions, found))
            .collect::<Vec<_>>()
            .join(" or ");
    }
    if let Some(parts) = schema["prefixItems"].as_array() {
        let parts: Vec<_> = parts.iter().map(|part| type_of(part, definitions, found)).collect();
        return format!("[{}]", parts.join(", "));
    }
    if schema["items"].is_object() {
        return format!("list of {}", type_of(&schema["items"], definitions, found));
    }
    if schema["additionalProperties"].is_object() {
        return format!("text → {}", type_of(&schema["additionalProperties"], definitions, found));
    }
    let plain = match &schema["type"] {
        Value::Array(types) => types[0].as_str().unwrap(),
        name => name.as_str().unwrap_or("value"),
    };
    let plain = if plain == "string" { "text" } else { plain };
    schema.get("const").map_or(plain.to_owned(), |value| format!("`{value}`"))
}

fn named(name: &str, definitions: &Map<String, Value>, found: &mut Vec<String>) -> String {
    match name {
        "Nanos" => return "integer, ns".to_owned(),
        "Bytes" => return "integer, bytes".to_owned(),
        _ => {}
    }
    if name.starts_with("ReadingOf") {
        let value = &definitions[name]["anyOf"][1];
        return format!("{}, or why not", type_of(value, definitions, found));
    }
    found.push(name.to_owned());
    format!("[{name}](#{})", name.to_lowercase())
}

/// Required fields in their order, then the optional ones.
fn fields(schema: &Value) -> Vec<(String, bool)> {
    let required: Vec<String> = schema["required"]
        .as_array()
        .map(|names| names.iter().map(|name| name.as_str().unwrap().to_owned()).collect())
        .unwrap_or_default();
    let optional = schema["properties"].as_object().unwrap().keys().cloned();
    let optional = optional.filter(|name| !required.contains(name)).collect::<Vec<_>>();
    let required = required.into_iter().map(|name| (name, true));
    required.chain(optional.into_iter().map(|name| (name, false))).collect()
}

fn table(schema: &Value, definitions: &Map<String, Value>, found: &mut Vec<String>) -> String {
    let mut text = "| field | type | meaning |\n|---|---|---|\n".to_owned();
    for (name, required) in fields(schema) {
        let field = &schema["properties"][&name];
        let kind = type_of(field, definitions, found);
        let mark = if required { "" } else { " ?" };
        writeln!(text, "| `{name}`{mark} | {kind} | {} |", words(field)).unwrap();
    }
    text
}

/// A type's part of the list.
fn section(schema: &Value, definitions: &Map<String, Value>, found: &mut Vec<String>) -> String {
    if schema["properties"].is_object() {
        return table(schema, definitions, found);
    }
    let mut text = "| value | meaning |\n|---|---|\n".to_owned();
    for variant in schema["oneOf"].as_array().into_iter().flatten() {
        // A variant with fields of its own is known by its `kind`.
        let value = variant["const"].as_str().or(variant["properties"]["kind"]["const"].as_str());
        let names = variant["properties"].as_object().into_iter().flat_map(Map::keys);
        let names: Vec<String> =
            names.filter(|name| *name != "kind").map(|name| format!("`{name}`")).collect();
        let with =
            if names.is_empty() { String::new() } else { format!(" With {}.", names.join(", ")) };
        writeln!(text, "| `{}` | {}{with} |", value.unwrap_or("?"), words(variant)).unwrap();
    }
    text
}

fn generated() -> String {
    let schema = run_json_schema();
    let definitions = schema["$defs"].as_object().unwrap();
    let mut queue = VecDeque::from(["Run".to_owned()]);
    let mut done: Vec<String> = Vec::new();
    let mut text = String::new();
    while let Some(name) = queue.pop_front() {
        if done.contains(&name) {
            continue;
        }
        let schema = if name == "Run" { &schema } else { &definitions[&name] };
        let mut found = Vec::new();
        let body = section(schema, definitions, &mut found);
        writeln!(text, "### {name}\n\n{}\n\n{body}", words(schema)).unwrap();
        queue.extend(found);
        done.push(name);
    }
    text
}

#[test]
fn the_document_lists_every_field_as_the_schema_has_it() {
    let path = format!("{}/../../docs/results-format.md", env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = document.split_once(BEGIN).expect("the mark of the list's begin");
    let (listed, tail) = rest.split_once(END).expect("the mark of the list's end");
    let now = format!("\n{}", generated());
    if std::env::var_os("FLASHLAG_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}{now}{END}{tail}")).unwrap();
        return;
    }
    assert!(
        listed == now,
        "docs/results-format.md is not in step with the schema: run\n  \
         FLASHLAG_UPDATE_DOCS=1 cargo test -p flashlag-schema --test results_format"
    );
}

#[test]
fn every_field_has_a_meaning_in_words() {
    let text = generated();
    let empty: Vec<&str> = text.lines().filter(|line| line.ends_with("|  |")).collect();
    assert_eq!(empty, Vec::<&str>::new());
}
