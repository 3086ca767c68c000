//! What else differs between the subjects, and which checks do not pass on all.

use flashlag_schema::{Check, CheckId, CheckStatus, Run};
use flashlag_spec::Reading;
use flashlag_units::{Bytes, InOrder};

use super::model::{CheckDifference, Difference, Subject};

/// Fields of the environment that are not the same for all, taken from each subject's first run.
pub fn differences(runs: &[Run], subjects: &[Subject]) -> Vec<Difference> {
    let firsts: Vec<&Run> =
        subjects.iter().filter_map(|subject| runs.get(*subject.runs.first()?)).collect();
    let all: Vec<Vec<(&'static str, String)>> = firsts.iter().map(|run| fields(run)).collect();
    let Some(first) = all.first() else { return Vec::new() };
    let mut differences = Vec::new();
    for (place, (field, _)) in first.iter().enumerate() {
        let values: Vec<String> =
            all.iter().filter_map(|fields| Some(fields.get(place)?.1.clone())).collect();
        // A simulated machine is its storage, so a difference is listed once.
        let said = differences.last().is_some_and(|last: &Difference| last.values == values)
            || differences.iter().any(|known| known.field == "Machine" && known.values == values);
        if !said && values.iter().any(|value| Some(value) != values.first()) {
            differences.push(Difference { field: (*field).to_owned(), values });
        }
    }
    differences
}

fn text<T: ToString>(reading: &Reading<T>) -> String {
    reading.value().map_or_else(|| unknown(reading), ToString::to_string)
}

fn unknown<T>(reading: &Reading<T>) -> String {
    format!("unknown ({})", reading.reason().unwrap_or("no reason given"))
}

fn yes_no(reading: &Reading<bool>) -> String {
    match reading.value() {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => text(reading),
    }
}

/// The same fields in the same order for every run.
fn fields(run: &Run) -> Vec<(&'static str, String)> {
    let environment = &run.environment;
    let (software, cpu) = (&environment.software, &environment.cpu);
    let (filesystem, device) = (&environment.filesystem, &environment.device);
    let options = match filesystem.options.value() {
        Some(options) if options.is_empty() => "none".to_owned(),
        Some(options) => options.join(","),
        None => unknown(&filesystem.options),
    };
    let encryption = match environment.encryption.value() {
        Some(encryption) => match &encryption.cipher {
            Some(cipher) => format!("{}, {cipher}", encryption.kind),
            None => encryption.kind.clone(),
        },
        None => unknown(&environment.encryption),
    };
    let life = match device.life.value() {
        Some(life) => format!("at most {}%", life.used_percent_at_most),
        None => unknown(&device.life),
    };
    let discard = match device.queue.discard_max_bytes.value() {
        Some(Bytes(0)) => "not taken".to_owned(),
        Some(_) => "taken".to_owned(),
        None => text(&device.queue.discard_max_bytes),
    };
    vec![
        ("Target", run.target.name.clone()),
        ("Machine", text(&software.machine)),
        ("System", text(&software.system)),
        ("Kernel", text(&software.kernel)),
        ("Virtual machine", yes_no(&software.virtualized)),
        ("CPU", text(&cpu.model)),
        ("CPUs", text(&cpu.count)),
        ("CPU governor", text(&cpu.governor)),
        ("Memory", text(&environment.memory_bytes)),
        ("Filesystem", text(&filesystem.kind)),
        ("Mount options", options),
        ("Filesystem size", text(&filesystem.total_bytes)),
        ("Free at the start", text(&filesystem.free_bytes)),
        ("Layers above the disk", layers(run)),
        ("Storage", text(&device.kind)),
        ("Model", text(&device.model)),
        ("Firmware", text(&device.firmware)),
        ("Disk size", text(&device.size_bytes)),
        ("Life used", life),
        ("Write cache", text(&device.queue.write_cache)),
        ("FUA", yes_no(&device.queue.fua)),
        ("I/O scheduler", text(&device.queue.scheduler)),
        ("Discard", discard),
        ("Encryption", encryption),
        ("Left free", run.options.leave_bytes.to_string()),
        ("I/O done by", run.options.engine.clone()),
        ("flashlag", run.flashlag.version.clone()),
    ]
}

fn layers(run: &Run) -> String {
    let environment = &run.environment;
    let layers = environment.filesystem.layers.iter().chain(&environment.device.stack);
    let names: Vec<&str> = layers.map(String::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Checks that do not pass on every subject: the worst outcome of its runs for each.
pub fn checks(runs: &[Run], subjects: &[Subject]) -> Vec<CheckDifference> {
    let mut ids: Vec<CheckId> = Vec::new();
    for check in runs.iter().flat_map(|run| &run.trust.checks) {
        if !ids.contains(&check.id) {
            ids.push(check.id);
        }
    }
    let mut found: Vec<CheckDifference> = Vec::new();
    for id in ids {
        let outcomes: Vec<Option<&Check>> =
            subjects.iter().map(|subject| worst(runs, subject, id)).collect();
        let passes =
            |check: &Option<&Check>| check.is_some_and(|check| check.status == CheckStatus::Pass);
        let Some(any) = outcomes.iter().flatten().next() else { continue };
        if !outcomes.iter().all(passes) {
            let outcome = |check: &Check| (check.status, check.detail.clone());
            found.push(CheckDifference {
                claim: any.claim.clone(),
                outcomes: outcomes.iter().map(|check| check.map(outcome)).collect(),
            });
        }
    }
    found.order_by_key(|check| check.outcomes.iter().flatten().map(|(status, _)| *status).min());
    found
}

/// The worst outcome of that check in the runs of a subject.
fn worst<'a>(runs: &'a [Run], subject: &Subject, id: CheckId) -> Option<&'a Check> {
    let of_subject = subject.runs.iter().filter_map(|index| runs.get(*index));
    let checks = of_subject.flat_map(|run| &run.trust.checks).filter(|check| check.id == id);
    checks.min_by_key(|check| check.status)
}
