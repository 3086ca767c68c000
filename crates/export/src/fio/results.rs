//! Finds the results in fio's output: one, several written one after another, an array, or with
//! text around them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::FioFileError;

/// The results of a file, and what was left out of them.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) results: Vec<Value>,
    /// Sentences about what was not read.
    pub(super) notes: Vec<String>,
}

/// Reads every result in a text. fio writes warnings before its JSON, a normal report before or after it
/// (`--output-format=normal,json+`), and with `--status-interval` one result after another, each counted
/// from the start: of those the last is taken.
///
/// # Errors
/// There is no JSON in the text, or none of fio's.
pub(super) fn results_in(text: &str) -> Result<Results, FioFileError> {
    let mut found = Vec::new();
    let mut failed = None;
    let mut rest = text;
    while let Some(json) = json_part(rest) {
        let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                found.push(value);
                rest = json.get(values.byte_offset()..).unwrap_or_default();
            }
            Some(Err(error)) => {
                let cut_off = error.is_eof();
                failed.get_or_insert(error);
                if cut_off {
                    break;
                }
                // This is no JSON after all, but a line of a report that begins with a bracket: the
                // search continues with the next line.
                rest = json.split_once('\n').map_or("", |(_, rest)| rest);
            }
            None => break,
        }
    }
    let is_result = |value: &Value| value.get("fio version").is_some();
    let mut results = Results::default();
    let mut appended: Vec<Value> = Vec::new();
    for value in found {
        match value {
            Value::Array(all) => results.results.extend(all.into_iter().filter(is_result)),
            one if is_result(&one) => appended.push(one),
            _ => {}
        }
    }
    let of_intervals = appended.len();
    if of_intervals > 1 && counts_on(&appended) {
        results.results.extend(appended.pop());
        results.notes.push(format!(
            "The file holds {of_intervals} results that each count from the start (fio's `status-interval`): the last \
             was read."
        ));
    } else {
        results.results.append(&mut appended);
    }
    match (results.results.is_empty(), failed) {
        (true, Some(error)) => Err(FioFileError::Json(error)),
        // Without any JSON, the parser says what stands in its place.
        (true, None) => match serde_json::from_slice::<Value>(text.as_bytes()) {
            Err(error) => Err(FioFileError::Json(error)),
            Ok(_) => Err(FioFileError::NotFio),
        },
        (false, Some(error)) if error.is_eof() => {
            results
                .notes
                .push("A result at the end of the file was cut off and not read.".to_owned());
            Ok(results)
        }
        (false, _) => Ok(results),
    }
}

/// From the first line that begins with an object, or with an array of them.
pub(super) fn json_part(text: &str) -> Option<&str> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let from = line.trim_start();
        let rest = text.get(start + line.len() - from.len()..)?;
        let in_array = || rest.get(1..).is_some_and(|after| after.trim_start().starts_with('{'));
        if from.starts_with('{') || (from.starts_with('[') && in_array()) {
            return Some(rest);
        }
        start += line.len();
    }
    None
}

/// The entries of a result: of a server's `jobs`, or of each client (`fio --client`), whose sum is left out.
pub(super) fn jobs_of(result: &Value) -> Vec<&Value> {
    let entries = |field: &str| result.get(field).and_then(Value::as_array);
    let jobs = entries("jobs").or(entries("client_stats")).map(Vec::as_slice).unwrap_or_default();
    let is_sum = |job: &&Value| job.get("jobname").and_then(Value::as_str) == Some("All clients");
    let single: Vec<&Value> = jobs.iter().filter(|job| !is_sum(job)).collect();
    if single.is_empty() { jobs.iter().collect() } else { single }
}

/// Whether each result goes on from the one before: the same jobs, none of which has done less.
fn counts_on(results: &[Value]) -> bool {
    let done: Vec<BTreeMap<String, u64>> = results.iter().map(done_by_job).collect();
    done.windows(2).all(|pair| {
        let [before, after] = pair else { return false };
        before.keys().eq(after.keys()) && before.iter().all(|(job, count)| after[job] >= *count)
    })
}

/// Operations of each job so far, by the names of job and host and their number among equals.
fn done_by_job(result: &Value) -> BTreeMap<String, u64> {
    let mut done = BTreeMap::new();
    for job in jobs_of(result) {
        let text = |field: &str| job.get(field).and_then(Value::as_str).unwrap_or_default();
        let count = |direction: &str| job.get(direction)?.get("total_ios")?.as_u64();
        let all: u64 =
            ["read", "write", "trim"].into_iter().filter_map(count).fold(0, u64::saturating_add);
        let mut name = format!("{}\n{}", text("jobname"), text("hostname"));
        while done.contains_key(&name) {
            name.push('+');
        }
        done.insert(name, all);
    }
    done
}
