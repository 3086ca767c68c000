use serde_json::{Map, Value as Json};

use crate::table::{Table, Value};

/// The table as a list of objects, one per line; null values are omitted.
pub fn json(table: &Table) -> String {
    let rows: Vec<String> = table.rows.iter().map(|row| object(table, row).to_string()).collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

fn object(table: &Table, row: &[Value]) -> Json {
    let cells = table.columns.iter().zip(row);
    let known = cells.filter(|(_, value)| **value != Value::Null);
    Json::Object(
        known.map(|(column, value)| (column.name.clone(), json_of(value))).collect::<Map<_, _>>(),
    )
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(value) => (*value).into(),
        Value::Real(value) => (*value).into(),
        Value::Boolean(value) => (*value).into(),
        Value::Text(text) => text.clone().into(),
    }
}
