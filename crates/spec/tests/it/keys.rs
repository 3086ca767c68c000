//! Every key of a scenario's file and of a profile's, taken from the types that parse those files,
//! so that the list matches the program.

use std::fmt::Write;

use flashlag_spec::{profile_json_schemas, scenario_json_schema};
use flashlag_units::{Bytes, Nanos};
use serde_json::{Map, Value};

/// One table of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTable {
    /// Its head in the file: `[[io]]`; empty for keys before any table.
    pub name: String,
    /// A description of the table.
    pub about: String,
    /// Its keys: those that must be given, then the others, by name.
    pub keys: Vec<Key>,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key as it is written: `queue_depth`.
    pub name: String,
    /// The type of its values, with the range: `integer, 1 to 256`.
    pub takes: String,
    /// The default; `None` for a key that must be given.
    pub default: Option<String>,
    /// The meaning.
    pub meaning: String,
}

/// The keys of a scenario's file.
pub fn scenario_keys() -> Vec<KeyTable> {
    Reader::new(scenario_json_schema())
        .tables("", |name, list| if list { format!("[[{name}]]") } else { format!("[{name}]") })
}

/// The keys of a profile's file: its head, then the parameters of the model.
pub fn profile_keys() -> Vec<KeyTable> {
    let named =
        |name: &str, list: bool| if list { format!("[[{name}]]") } else { format!("[{name}]") };
    let [head, model, parameter] = profile_json_schemas();
    let mut tables = Reader::new(head).tables("", named);
    let mut parameters = Reader::new(model).tables("", named);
    // The model itself is no table of the file, only its sections are.
    parameters.retain(|table| !table.name.is_empty());
    tables.extend(parameters);
    let mut each = Reader::new(parameter).tables("", named);
    each.iter_mut().for_each(|table| table.name = "{ } of each parameter".to_owned());
    tables.extend(each);
    tables
}

/// As a part of a document: a table for each table of the file.
pub fn as_markdown(tables: &[KeyTable]) -> String {
    let mut text = String::new();
    for table in tables {
        let name =
            if table.name.is_empty() { "First".to_owned() } else { format!("`{}`", table.name) };
        let _ = write!(text, "## {name}\n\n{}\n\n", table.about);
        text.push_str("| key | takes | default | meaning |\n|---|---|---|---|\n");
        for key in &table.keys {
            let default = key.default.as_deref().map_or("must be given".to_owned(), code);
            let _ = writeln!(
                text,
                "| `{}` | {} | {default} | {} |",
                key.name,
                key.takes.replace('|', "\\|"),
                key.meaning.replace('|', "\\|")
            );
        }
        text.push('\n');
    }
    text
}

fn code(default: &str) -> String {
    if default.is_empty() { "none".to_owned() } else { format!("`{default}`") }
}

/// The tables as lines for a terminal: key, type and default, then the meaning.
pub fn as_lines(tables: &[KeyTable]) -> String {
    let mut text = String::new();
    for (index, table) in tables.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let name = if table.name.is_empty() { "At the head" } else { &table.name };
        let _ = writeln!(text, "{name}: {}", table.about);
        for key in &table.keys {
            let default = match key.default.as_deref() {
                None => "must be given".to_owned(),
                Some("") => "none by default".to_owned(),
                Some(default) => format!("{default} by default"),
            };
            let _ = writeln!(text, "  {}  ({}; {default})", key.name, key.takes);
            let _ = writeln!(text, "      {}", key.meaning);
        }
    }
    text
}

/// A type's JSON Schema, being read.
struct Reader {
    root: Value,
    definitions: Map<String, Value>,
}

impl Reader {
    fn new(root: Value) -> Reader {
        let definitions = root.get("$defs").and_then(Value::as_object).cloned();
        Reader { root, definitions: definitions.unwrap_or_default() }
    }

    /// The root's keys, and after them those of each table in it.
    fn tables(&self, name: &str, named: impl Fn(&str, bool) -> String) -> Vec<KeyTable> {
        let root = &self.root;
        let mut tables =
            vec![KeyTable { name: name.to_owned(), about: meaning(root), keys: Vec::new() }];
        for (key, schema) in properties(root) {
            match self.table_of(schema) {
                Some((inner, list)) => {
                    let about = [meaning(schema), meaning(inner)];
                    let about = about.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
                    let head = named(key, list);
                    let keys = self.keys(inner);
                    tables.push(KeyTable { name: head, about, keys });
                    tables.extend(self.parts(inner, key, &named));
                }
                None => tables[0].keys.push(self.key(root, key, schema)),
            }
        }
        tables[0].keys.sort_by_key(|key| key.default.is_some());
        tables
    }

    /// Tables within a section: `[stack.encryption]`.
    fn parts(
        &self,
        section: &Value,
        name: &str,
        named: &impl Fn(&str, bool) -> String,
    ) -> Vec<KeyTable> {
        let mut tables = Vec::new();
        for (key, schema) in properties(section) {
            let Some((inner, list)) = self.table_of(schema) else { continue };
            if is_inline(inner) {
                continue;
            }
            let (about, keys) = (meaning(schema), self.keys(inner));
            tables.push(KeyTable { name: named(&format!("{name}.{key}"), list), about, keys });
        }
        tables
    }

    fn keys(&self, table: &Value) -> Vec<Key> {
        let keys = properties(table)
            .filter(|(_, schema)| self.table_of(schema).is_none_or(|(inner, _)| is_inline(inner)));
        let mut keys: Vec<Key> = keys.map(|(key, schema)| self.key(table, key, schema)).collect();
        keys.sort_by_key(|key| key.default.is_some());
        keys
    }

    fn key(&self, table: &Value, name: &str, schema: &Value) -> Key {
        let required = table["required"].as_array();
        let required = required.is_some_and(|names| names.iter().any(|one| one == name));
        let default = (!required).then(|| default_of(schema, self.resolved(schema)));
        let own = meaning(schema);
        let meaning = if own.is_empty() { meaning(self.resolved(schema)) } else { own };
        let meaning = format!("{meaning}{}", self.meanings_of_words(schema));
        Key { name: name.to_owned(), takes: self.takes(schema), default, meaning }
    }

    /// ` "none": Not at all.`, of each word that the key takes.
    fn meanings_of_words(&self, schema: &Value) -> String {
        let mut text = String::new();
        let either = self.resolved(schema)["anyOf"].as_array().into_iter().flatten();
        for part in [schema].into_iter().chain(either) {
            for variant in self.words(schema, part) {
                let word = variant["const"].as_str().unwrap_or_default();
                let _ = write!(text, " \"{word}\": {}", meaning(variant));
            }
            if !text.is_empty() {
                break;
            }
        }
        text
    }

    /// The words that `part` of a key's schema may be, those aside that the key does not take.
    fn words<'a>(&'a self, key: &Value, part: &'a Value) -> Vec<&'a Value> {
        let without = key["x-without"].as_array().into_iter().flatten();
        let without: Vec<&Value> = without.collect();
        let one_of = self.resolved(part)["oneOf"].as_array().into_iter().flatten();
        let known = one_of.filter(|variant| variant["const"].is_string());
        known.filter(|variant| !without.contains(&&variant["const"])).collect()
    }

    /// The schema that a reference leads to; of an optional value, that of the value.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let either = schema["anyOf"].as_array();
        let known = either.and_then(|parts| parts.iter().find(|part| part["type"] != "null"));
        let schema = known.unwrap_or(schema);
        let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        name.and_then(|name| self.definitions.get(name)).unwrap_or(schema)
    }

    /// The table that a key holds, and whether there may be several.
    fn table_of<'a>(&'a self, schema: &'a Value) -> Option<(&'a Value, bool)> {
        let resolved = self.resolved(schema);
        if resolved["properties"].is_object() {
            return Some((resolved, false));
        }
        let items = self.resolved(resolved.get("items")?);
        items["properties"].is_object().then_some((items, true))
    }

    fn takes(&self, schema: &Value) -> String {
        let resolved = self.resolved(schema);
        // One or several of the same.
        if let Some([one, _]) = resolved["anyOf"].as_array().map(Vec::as_slice) {
            return format!("{}, or a list of them", self.takes(one));
        }
        let words = self.words(schema, schema);
        if !words.is_empty() {
            let quoted = words.iter().filter_map(|word| word["const"].as_str());
            return quoted.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        }
        if let Some((inner, false)) = self.table_of(schema) {
            let keys: Vec<String> = properties(inner)
                .map(|(key, schema)| format!("{key} = {}", self.takes(schema)))
                .collect();
            return format!("{{ {} }}", keys.join(", "));
        }
        if resolved["maxItems"] == 2 {
            return "a list of two, the lowest and the highest".to_owned();
        }
        if let Some(items) = resolved.get("items").filter(|items| items.is_object()) {
            return format!("a list: {}", self.takes(items));
        }
        match &resolved["additionalProperties"] {
            Value::Object(_) => {
                let takes = self.takes(&resolved["additionalProperties"]);
                return format!("names, each with {takes}");
            }
            Value::Bool(true) => return "names, each with a value".to_owned(),
            _ => {}
        }
        scalar(schema, resolved)
    }
}

/// A table that is written in braces, as one value.
fn is_inline(table: &Value) -> bool {
    table["x-inline"] == true
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(key, schema)| (key.as_str(), schema))
}

/// The description, on one line.
fn meaning(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let text = text.split("\n\n").next().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A number, a text, a size or a time, with its range.
fn scalar(schema: &Value, resolved: &Value) -> String {
    let kind = |value: &Value| match &value["type"] {
        Value::Array(types) => types.first().and_then(Value::as_str).map(str::to_owned),
        other => other.as_str().map(str::to_owned),
    };
    let format = resolved["format"].as_str().unwrap_or_default();
    let kind = match (format, kind(resolved).as_deref()) {
        ("size", _) => "a size (\"100MB\", \"4KiB\")",
        ("duration", _) => "a time (\"90s\", \"1h\")",
        (_, Some("integer")) => "a whole number",
        (_, Some("number")) => "a number",
        (_, Some("boolean")) => "true or false",
        (_, Some("string")) => "a text",
        _ => "any value",
    };
    let bound = |name: &str| schema.get(name).or(resolved.get(name)).and_then(Value::as_u64);
    match (bound("minimum").filter(|least| *least > 0), bound("maximum")) {
        (Some(least), Some(most)) => format!("{kind}, {least} to {most}"),
        _ => kind.to_owned(),
    }
}

/// The default as it would be written; empty without one.
fn default_of(schema: &Value, resolved: &Value) -> String {
    let number = schema["default"].as_u64();
    match (resolved["format"].as_str(), number) {
        (Some("size"), Some(bytes)) => return Bytes(bytes).to_string(),
        (Some("duration"), Some(nanos)) => return Nanos(nanos).to_string(),
        _ => {}
    }
    match &schema["default"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.is_empty() => String::new(),
        Value::Object(map) if map.values().any(Value::is_null) || map.is_empty() => String::new(),
        other => other.to_string(),
    }
}
