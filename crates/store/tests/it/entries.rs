//! What becomes of run files: good ones, copies, changed ones, others.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{changed, put};
use flashlag_schema::{CheckStatus, Trust};
use flashlag_store::{Entry, Standing, Value, phases_table, read_folder, runs_table};
use flashlag_testing::sample;

fn standings(entries: &[Entry]) -> Vec<(&str, Standing)> {
    entries.iter().map(|entry| (entry.run.file.as_str(), entry.run.standing)).collect()
}

#[test]
fn a_shared_run_and_its_original_are_one_measurement_and_the_shared_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::quick();
    put(folder.path(), "a.json", &run);
    let shared = flashlag_share::shared(&run).unwrap().run;
    put(folder.path(), "b-shared.json", &changed(shared, |_| {}));
    put(folder.path(), "c.json", &changed(run, |run| run.label = Some("Mine".to_owned())));
    let entries = read_folder(folder.path()).unwrap();
    assert_eq!(
        standings(&entries),
        [("a.json", Standing::Copy), ("b-shared.json", Standing::Good), ("c.json", Standing::Copy)]
    );
    assert_eq!(entries[0].run.copy_of.as_deref(), Some("b-shared.json"));
    assert!(!entries[0].private.is_empty() && entries[1].private.is_empty());
}

#[test]
fn who_claims_to_be_another_run_with_other_figures_is_no_copy_of_it_and_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let shared = |run| changed(flashlag_share::shared(&run).unwrap().run, |_| {});
    let honest = shared(sample::quick());
    let original = honest.shared.as_ref().unwrap().original_sha256.clone();
    let forged = changed(shared(sample::sqlite()), |run| {
        run.shared.as_mut().unwrap().original_sha256 = original;
    });
    put(folder.path(), "a.json", &honest);
    put(folder.path(), "b.json", &forged);
    let entries = read_folder(folder.path()).unwrap();
    assert_eq!(standings(&entries), [("a.json", Standing::Good), ("b.json", Standing::Unverified)]);
    assert!(entries[1].run.reason.as_ref().unwrap().contains("a.json"));
}

#[test]
fn what_does_not_count_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let doubtful = changed(sample::quick(), |run| {
        let mut checks = run.trust.checks.clone();
        checks[0].status = CheckStatus::Fail;
        checks[0].claim = "Nothing else used the device".to_owned();
        run.trust = Trust::of(checks, run.phases.len());
    });
    put(at, "doubtful.json", &doubtful);
    let honest = sample::quick().to_json();
    std::fs::write(at.join("edited.json"), honest.replace("\"ops\": ", "\"ops\": 1")).unwrap();
    std::fs::write(at.join("other.json"), "{\"schema\": \"flashlag.run/2\"}").unwrap();
    std::fs::write(at.join("bytes.json"), b"\xff\xfe").unwrap();
    std::fs::write(at.join("notes.txt"), "no run").unwrap();
    std::fs::create_dir(at.join("within")).unwrap();
    put(&at.join("within"), "good.json", &sample::sqlite());
    let entries = read_folder(at).unwrap();
    let reason = |name: &str| {
        let found = entries.iter().find(|entry| entry.run.file == name).unwrap();
        (found.run.standing, found.run.reason.clone().unwrap_or_default())
    };
    let expected = [
        ("bytes.json", Standing::Unreadable, "not text"),
        ("doubtful.json", Standing::Untrusted, "Nothing else used the device"),
        ("edited.json", Standing::Unverified, "recomputed"),
        ("other.json", Standing::Unreadable, "its schema is flashlag.run/2; this flashlag reads"),
        ("within/good.json", Standing::Good, ""),
    ];
    assert_eq!(entries.len(), expected.len());
    for (name, standing, part) in expected {
        let (found, reason) = reason(name);
        assert!(found == standing && reason.contains(part), "{name}: {found:?} {reason}");
    }
}

#[test]
fn the_table_of_tests_has_the_figures_of_the_run_files_json() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::lifecycle();
    let path = put(folder.path(), "a.json", &run);
    let entries = read_folder(folder.path()).unwrap();
    let table = phases_table(&entries);
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let phases = json["phases"].as_array().unwrap();
    assert_eq!(table.rows.len(), phases.len());
    let place = |name: &str| table.columns.iter().position(|it| it.name == name).unwrap();
    let mut compared = 0;
    for (row, phase) in table.rows.iter().zip(phases) {
        let same = |column: &str, wanted: &serde_json::Value| {
            let cell = &row[place(column)];
            let is_same = match cell {
                Value::Null => wanted.is_null(),
                Value::Integer(value) => wanted.as_i64() == Some(*value),
                Value::Real(value) => wanted.as_f64() == Some(*value),
                Value::Boolean(value) => wanted.as_bool() == Some(*value),
                Value::Text(text) => wanted.as_str() == Some(text),
            };
            assert!(is_same, "{column}: {cell:?} and {wanted}");
        };
        for name in ["name", "state", "operation", "block_bytes", "queue_depth", "ops", "bytes"] {
            same(name, &phase[name]);
        }
        for name in ["elapsed_ns", "ops_per_sec", "bytes_per_sec", "stalls_seen", "durable"] {
            same(name, &phase[name]);
        }
        let open = phase["response_ns"].is_object();
        let times = &phase[if open { "response_ns" } else { "latency_ns" }];
        if row[place("overloaded")] == Value::Boolean(false) {
            for name in ["p50", "p90", "p99", "p999", "max", "mean"] {
                same(&format!("{name}_ns"), &times[name]);
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared} times compared");
}

#[test]
fn a_row_holds_nothing_that_share_would_remove_and_no_long_text() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "/home/amelia/cards";
    let run = changed(sample::quick(), |run| {
        run.target.kind = flashlag_schema::TargetKind::Path;
        run.target.name = secret.to_owned();
        run.target.directory = Some(secret.to_owned());
        run.environment.filesystem.mount_point = flashlag_spec::Reading::Value(secret.to_owned());
        run.environment.software.machine = flashlag_spec::Reading::unavailable("none");
        run.environment.device.model = flashlag_spec::Reading::unavailable("none");
        run.trust.checks[0].detail = format!("{secret} was read");
        run.environment.software.system = flashlag_spec::Reading::Value("x".repeat(1_000_000));
    });
    put(folder.path(), "a.json", &run);
    let entries = read_folder(folder.path()).unwrap();
    let text = format!("{:?}", runs_table(&entries));
    assert!(!text.contains("amelia"), "{text}");
    assert!(text.len() < 10_000, "{} bytes", text.len());
    assert!(entries[0].private.iter().any(|field| field == "target.directory"));
}

#[test]
fn two_seeds_of_a_simulation_are_repeats_and_the_same_seed_twice_is_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = |seed: u64| {
        crate::common::changed(sample::quick(), |run| {
            let text = flashlag_spec::profile::builtin_profile("nexus7-2012").unwrap();
            run.target.kind = flashlag_schema::TargetKind::Simulated;
            run.target.name = "sim:nexus7-2012".to_owned();
            run.target.directory = None;
            run.target.profile = Some(flashlag_schema::ProfileRecord {
                name: "nexus7-2012".to_owned(),
                about: "x".to_owned(),
                filesystem: "ext4".to_owned(),
                text: text.to_owned(),
                device_options: Vec::new(),
            });
            run.scenario.seed = seed;
        })
    };
    for (name, seed) in [("a.json", 1), ("b.json", 2), ("c.json", 2)] {
        crate::common::put(folder.path(), name, &simulated(seed));
    }
    let entries = read_folder(folder.path()).unwrap();
    let copies = entries.iter().filter(|entry| entry.run.standing == Standing::Copy).count();
    assert_eq!(
        copies,
        1,
        "{:?}",
        entries.iter().map(|entry| entry.run.standing).collect::<Vec<_>>()
    );
}
