//! Which fields of a run are free text, according to the run's JSON Schema: every other text is one
//! of a fixed list of words.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::Value;

/// Paths of the free-text fields: with `[]` for each list, and `*` for a name that is itself free.
pub fn fields() -> &'static BTreeSet<String> {
    // Computed once: many runs are shared at a time, and the schema has 150 KB.
    static FIELDS: OnceLock<BTreeSet<String>> = OnceLock::new();
    FIELDS.get_or_init(of_schema)
}

fn of_schema() -> BTreeSet<String> {
    let schema: Value =
        serde_json::from_slice(flashlag_schema::RUN_JSON_SCHEMA.as_bytes()).unwrap_or_default();
    let mut search = Search { definitions: &schema["$defs"], found: BTreeSet::new() };
    search.node(&schema, "", &[]);
    search.found
}

struct Search<'s> {
    definitions: &'s Value,
    found: BTreeSet<String>,
}

impl Search<'_> {
    /// Searches a schema node for a field; `within` are the definitions that contain the node.
    fn node(&mut self, node: &Value, field: &str, within: &[&str]) {
        let Some(node) = node.as_object() else { return };
        let name = node.get("$ref").and_then(Value::as_str).and_then(|r| r.rsplit('/').next());
        if let Some(name) = name.filter(|name| !within.contains(name)) {
            let definitions = self.definitions;
            self.node(&definitions[name], field, &[within, &[name]].concat());
        }
        for parts in ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| node.get(*key)?.as_array())
        {
            parts.iter().for_each(|part| self.node(part, field, within));
        }
        let is_text = node.get("type").is_some_and(|kind| {
            kind == "string"
                || kind.as_array().is_some_and(|kinds| kinds.contains(&"string".into()))
        });
        if is_text && !node.contains_key("enum") && !node.contains_key("const") {
            self.found.insert(field.to_owned());
        }
        let below = |name: &str| below(field, name);
        let members = node.get("properties").and_then(Value::as_object);
        members.into_iter().flatten().for_each(|(name, member)| {
            self.node(member, &below(name), within);
        });
        if let Some(member) = node.get("additionalProperties") {
            self.node(member, &below("*"), within);
        }
        let listed = node.get("prefixItems").and_then(Value::as_array).into_iter().flatten();
        let items = node.get("items").into_iter().chain(listed);
        items.for_each(|item| self.node(item, &format!("{field}[]"), within));
    }
}

/// The path of a member.
pub fn below(field: &str, name: &str) -> String {
    if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") }
}
