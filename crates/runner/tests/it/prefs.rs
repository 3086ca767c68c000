//! Saves without SQLite, in a simulation and in a directory, with run files that `flashlag verify` accepts.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::sim_support::{Silent, run_file, target, valid};
use flashlag_runner::{Request, RunFile, Target, builtin, run};
use flashlag_schema::{Phase, Run};
use flashlag_spec::Operation;
use flashlag_spec::scenario::{Durability, EngineKind, FileKind, FileSave, Scenario, Test};
use flashlag_sqlite::{FileCall, Named, calls_of};
use flashlag_units::Bytes;

const NAMES: [&str; 8] = [
    "prefs_commit",
    "prefs_commit_several",
    "prefs_apply_several",
    "datastore",
    "atomic_file",
    "rename",
    "rename_and_directory",
    "append_log",
];

fn prefs(set: &[(&str, &str)]) -> Scenario {
    let set: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(builtin("prefs").unwrap().text(), &set).unwrap()
}

/// `prefs` on a simulated device, of 200 saves each.
fn simulated(on: &str, set: &[(&str, &str)]) -> Run {
    let set = [&[("saves", "200"), ("time", "60s")], set].concat();
    let on = Target::Simulated(target(on));
    run(Request::new(prefs(&set), on, 1), &mut Silent).unwrap()
}

fn phase<'a>(run: &'a Run, name: &str) -> &'a Phase {
    run.phases.iter().find(|phase| phase.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// Flushes of the device a save.
fn flushes(run: &Run, name: &str) -> f64 {
    let phase = phase(run, name);
    *phase.ledger.flushes.value().unwrap() as f64 / phase.ops as f64
}

#[test]
fn each_kind_is_a_phase_of_saves_whose_file_verifies_on_every_filesystem() {
    let text = prefs(&[("saves", "40"), ("time", "60s")]).text;
    let text =
        text.replace("saves = 2000", "saves = 40").replace("time = \"5s\"", "time = \"60s\"");
    for filesystem in ["ext4", "f2fs", "btrfs"] {
        let on = format!("sim:nexus5-2013+{filesystem}");
        let run = valid(&run_file(&text, target(&on), 3), &on);
        assert!(run.skipped.is_empty(), "{on}: {:?}", run.skipped);
        for name in NAMES {
            let phase = phase(&run, name);
            assert_eq!((phase.ops, phase.operation), (40, Operation::Save), "{on} {name}");
            assert_eq!(phase.engine, EngineKind::Psync, "{on} {name}");
            let durable =
                if name == "append_log" { Durability::Fdatasync } else { Durability::Fsync };
            assert_eq!(phase.durable, durable, "{on} {name}");
            assert!(flushes(&run, name) >= 0.9, "{on} {name}: {}", flushes(&run, name));
            assert!(phase.growth.is_none());
        }
    }
}

#[test]
fn what_is_written_is_the_whole_file_for_each_change_and_once_for_all_that_apply_left() {
    let run = simulated("sim:nexus5-2013+ext4", &[]);
    let each = |name: &str| {
        let ledger = &phase(&run, name).ledger;
        let of = |bytes: &Bytes| bytes.0 / 200;
        (ledger.app_bytes.value().map(of).unwrap(), ledger.syscall_bytes.value().map(of).unwrap())
    };
    for name in ["prefs_commit", "datastore", "atomic_file", "rename", "rename_and_directory"] {
        assert_eq!(each(name), (100, 10_000), "{name}");
    }
    assert_eq!(each("prefs_commit_several"), (500, 50_000));
    assert_eq!(each("prefs_apply_several"), (500, 10_000));
    assert_eq!(each("append_log"), (100, 100));
    let (commits, apply) =
        (flushes(&run, "prefs_commit_several"), flushes(&run, "prefs_apply_several"));
    assert!((commits / apply - 5.0).abs() < 0.3, "{commits} flushes of commits, {apply} of apply");
    let old = simulated("sim:nexus5-2013+ext4", &[("android", "7")]);
    let old = flushes(&old, "prefs_apply_several");
    assert!((old / apply - 5.0).abs() < 0.3, "{old} flushes before Android 8, {apply} since");
    // The directory's commit is one more.
    assert!(flushes(&run, "rename_and_directory") > flushes(&run, "rename") + 0.9);
}

/// The middle of a bucket of a stored histogram, twice over: below 128 ns the bucket's number, then 64 for each power
/// of two.
fn twice_the_middle(index: u64) -> u64 {
    match index {
        0..128 => 2 * index,
        _ => (2 * (64 + index % 64) + 1) << (index / 64 - 1),
    }
}

/// The share of late saves is recomputed from the buckets of the file alone.
#[test]
fn the_share_of_saves_over_a_frame_and_over_five_seconds_is_that_of_the_buckets() {
    let run = simulated("sim:nexus7-2012+ext4", &[("size", "400kB"), ("saves", "300")]);
    let json: serde_json::Value = serde_json::from_str(&run.to_json()).unwrap();
    let mut late = 0;
    for phase in json["phases"].as_array().unwrap() {
        let list = |key: &str| phase["histogram"][key].as_array().unwrap().iter();
        let list = |key: &str| list(key).map(|number| number.as_u64().unwrap());
        let buckets: Vec<(u64, u64)> = list("index").zip(list("count")).collect();
        let over = |limit: u64| -> u64 {
            let late = buckets.iter().filter(|(index, _)| twice_the_middle(*index) > 2 * limit);
            late.map(|(_, count)| count).sum()
        };
        let name = &phase["name"];
        let lag = |field: &str| phase["lag"][field].as_u64().unwrap();
        assert_eq!(lag("over_60hz"), over(16_666_667), "{name}");
        assert_eq!(lag("over_5s"), over(5_000_000_000), "{name}");
        late += lag("over_60hz");
    }
    assert!(late > 0, "no save of 400 kB was late on a tablet of 2012");
}

#[test]
fn on_a_directory_the_same_phases_come_and_nothing_is_left() {
    let home = tempfile::tempdir().unwrap();
    let output = home.path().join("run.json");
    let on = home.path().join("target");
    std::fs::create_dir(&on).unwrap();
    let scenario = prefs(&[("saves", "20"), ("time", "60s"), ("size", "5kB")]);
    let file = Arc::new(RunFile::new(&output, false).unwrap());
    let asked = Request::new(scenario, Target::parse(&on.display().to_string()).unwrap(), 1);
    let asked = Request { output: Some(file), leave: Some(Bytes::from_mib(16)), ..asked };
    run(asked, &mut Silent).unwrap();
    let run = valid(&std::fs::read_to_string(&output).unwrap(), "directory");
    for name in NAMES {
        let phase = phase(&run, name);
        assert_eq!(phase.ops, 20, "{name}");
        if let Some(bytes) = phase.ledger.syscall_bytes.value() {
            let writes = if name == "prefs_commit_several" { 5 } else { 1 };
            let each = if name == "append_log" { 100 } else { 5000 };
            assert_eq!(bytes.0, 20 * writes * each, "{name}");
        }
    }
    assert_eq!(std::fs::read_dir(&on).unwrap().count(), 0);
}

/// A call as the document has it, of a file `F`.
fn in_words(call: FileCall, save: &FileSave) -> String {
    let name = |named| match (save.kind, named) {
        (_, Named::Base) => "F",
        (FileKind::Datastore | FileKind::Rename, _) => "F.tmp",
        (FileKind::AtomicFile, Named::Beside) if save.is_new() => "F.new",
        _ => "F.bak",
    };
    match call {
        FileCall::Stat(named) => format!("stat {}", name(named)),
        FileCall::Open(named) => format!("open {}", name(named)),
        FileCall::Write(_) => "write".to_owned(),
        FileCall::Fsync => "**fsync**".to_owned(),
        FileCall::Fdatasync => "**fdatasync**".to_owned(),
        FileCall::Close => "close".to_owned(),
        FileCall::Chmod(named) => format!("chmod {}", name(named)),
        FileCall::Rename(from, to) => format!("rename {} {}", name(from), name(to)),
        FileCall::Unlink(named) => format!("unlink {}", name(named)),
        FileCall::SyncDirectory => "**fsync** of the directory".to_owned(),
    }
}

/// The calls that the document lists are those that are made; `FLASHLAG_UPDATE_DOCS=1` writes them.
#[test]
fn the_calls_of_each_kind_are_documented() {
    let newest = prefs(&[("size", "1kB"), ("changes", "1")]);
    let before = prefs(&[("size", "1kB"), ("changes", "1"), ("android", "7")]);
    let mut table = "\n\n| `kind` | Android | calls of a save |\n|---|---|---|\n".to_owned();
    for name in
        ["prefs_commit", "datastore", "atomic_file", "rename", "rename_and_directory", "append_log"]
    {
        for scenario in [&before, &newest] {
            let Test::FileSave(save) = &scenario.tests[name] else { panic!("{name}") };
            let calls = |save: &FileSave| {
                let words = calls_of(save).into_iter().map(|call| in_words(call, save));
                words.collect::<Vec<_>>().join(", ")
            };
            let Test::FileSave(other) = &newest.tests[name] else { panic!("{name}") };
            let is_before = std::ptr::eq(scenario, &before);
            if is_before && calls(save) == calls(other) {
                continue;
            }
            let differs = {
                let Test::FileSave(old) = &before.tests[name] else { panic!("{name}") };
                calls(old) != calls(other)
            };
            let android = match (save.kind.changed_with(), differs, is_before) {
                (Some(changed), true, true) => format!("before {changed}"),
                (Some(changed), true, false) => format!("{changed} on"),
                _ => String::new(),
            };
            let kind = serde_json::to_value(save.kind).unwrap();
            let kind = kind.as_str().unwrap().to_owned();
            let kind = if save.sync_directory { format!("{kind}`, `sync_directory") } else { kind };
            table += &format!("| `{kind}` | {android} | {} |\n", calls(save));
        }
    }
    table.push('\n');
    flashlag_testing::between_marks("docs/measuring.md", "file saves", &table);
}
