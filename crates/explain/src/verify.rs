//! Compares stored findings with those that follow from the run.

use flashlag_schema::Run;
use flashlag_schema::finding::RULES;
use flashlag_schema::verify::Discrepancy;
use serde_json::Value;

/// Inferred causes that do not follow from the counters in the run, and stored findings that do not
/// follow from its phases and checks, field by field. Returns none for a file without findings, and
/// for findings of other rules than [`RULES`], which no view shows.
pub fn verify(run: &Run) -> Vec<Discrepancy> {
    let mut found = crate::infer::verify(run);
    let stored = run.findings.as_ref().filter(|stored| stored.rules == RULES);
    let Some(stored) = stored else { return found };
    let derived = crate::findings(run);
    if *stored != derived {
        // Findings can always become JSON: no map in them has a key that is not text.
        let value = |findings| {
            let text = serde_json::to_vec(findings).unwrap_or_default();
            serde_json::from_slice(&text).unwrap_or_default()
        };
        compare("findings", &value(stored), &value(&derived), &mut found);
    }
    found
}

fn compare(path: &str, stored: &Value, derived: &Value, found: &mut Vec<Discrepancy>) {
    match (stored, derived) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let at = format!("{path}.{key}");
                compare(&at, member(a.get(key)), member(b.get(key)), found);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for index in 0..a.len().max(b.len()) {
                let at = format!("{path}[{index}]");
                compare(&at, member(a.get(index)), member(b.get(index)), found);
            }
        }
        _ if stored == derived => {}
        _ => found.push(Discrepancy {
            path: path.to_owned(),
            stored: in_words(stored),
            recomputed: in_words(derived),
        }),
    }
}

fn member(value: Option<&Value>) -> &Value {
    value.unwrap_or(&Value::Null)
}

/// A whole finding is named by its id: the file has the rest.
fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "absent".to_owned(),
        Value::Object(fields) => match fields.get("id").or_else(|| fields.get("phase")) {
            Some(Value::String(id)) => id.clone(),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}
