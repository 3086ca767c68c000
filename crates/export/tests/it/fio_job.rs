//! A scenario's block tests as an fio job file: every test is in it as it was asked for, fio takes
//! it, and what fio measures comes back under the same names.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use flashlag_export::fio::{import, job_file};
use flashlag_spec::scenario::{Durability, Io, IoOperation, Scenario, Step, Test, ThreadSpans};

fn builtin(name: &str) -> Scenario {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Scenario::parse(&std::fs::read_to_string(path).unwrap(), &[]).unwrap()
}

/// Sections in their order, each with its options.
fn sections(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut found: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if let Some(name) = line.strip_prefix('[') {
            found.push((name.trim_end_matches(']').to_owned(), BTreeMap::new()));
        } else {
            let (key, value) = line.split_once('=').unwrap();
            found.last_mut().unwrap().1.insert(key.to_owned(), value.to_owned());
        }
    }
    found
}

fn measured(scenario: &Scenario) -> Vec<String> {
    let mut names = Vec::new();
    for step in &scenario.steps {
        if let Step::Measure { tests, .. } = step {
            for name in tests.iter().filter(|name| matches!(scenario.tests[*name], Test::Io(_))) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
    }
    names
}

fn check(options: &BTreeMap<String, String>, io: &Io) {
    let get = |name: &str| options.get(name).map(String::as_str);
    let number = |name: &str| get(name).map(|text| text.parse::<u64>().unwrap());
    assert_eq!(number("bs"), Some(io.block.0.0), "{}", io.name);
    let jobs = number("numjobs").unwrap_or(1);
    assert_eq!(jobs, u64::from(io.threads), "{}", io.name);
    // Jobs on parts of their own have whole blocks each, one part after the other.
    let disjoint = jobs > 1 && io.thread_spans == ThreadSpans::Disjoint;
    let span = io.span.unwrap().0.0;
    let part = if disjoint { span / jobs / io.block.0.0 * io.block.0.0 } else { span };
    assert_eq!(number("size"), Some(part), "{}", io.name);
    assert_eq!(number("offset_increment").is_some(), disjoint, "{}", io.name);
    assert_eq!(number("iodepth"), Some(u64::from(io.queue_depth)), "{}", io.name);
    assert_eq!(number("io_size"), io.bytes.map(|bytes| bytes.0.0 / jobs), "{}", io.name);
    assert_eq!(number("rwmixread"), io.read_percent.map(u64::from), "{}", io.name);
    assert_eq!(get("time_based").is_some(), io.bytes.is_none(), "{}", io.name);
    let runtime = io.time.map(|time| format!("{}ms", time.0.0 / 1_000_000));
    assert_eq!(get("runtime").map(str::to_owned), runtime, "{}", io.name);
    assert_eq!(get("stonewall"), Some("1"), "{}", io.name);
    let reads = io.operation == IoOperation::Read;
    let rw = match io.operation {
        IoOperation::Read => "read",
        IoOperation::Write => "write",
        IoOperation::Mixed => "rw",
    };
    assert!(get("rw").unwrap().ends_with(rw), "{}", io.name);
    let durable = !reads && io.durable != Durability::None;
    assert_eq!(get("sync").is_some(), durable, "{}", io.name);
    assert_eq!(get("end_fsync").is_some(), !reads && !durable, "{}", io.name);
}

#[test]
fn every_block_test_of_every_builtin_is_a_section_with_the_same_figures() {
    for name in ["quick", "fill", "lifecycle", "sqlite", "soak", "disk"] {
        let scenario = builtin(name);
        let text = job_file(&scenario);
        let sections = sections(&text);
        assert_eq!(sections[0].0, "global", "{name}");
        let names: Vec<String> = sections[1..].iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(names, measured(&scenario), "{name}");
        for (section, options) in &sections[1..] {
            let Test::Io(io) = &scenario.tests[section] else { panic!("{section} is a save") };
            check(options, io);
        }
    }
}

#[test]
fn what_fio_cannot_do_is_a_comment_that_says_so() {
    let text = job_file(&builtin("quick"));
    assert!(text.contains("# save_wal: saves through SQLite"), "{text}");
    assert!(text.contains("# write + fdatasync in flashlag; here O_DSYNC"), "{text}");
    assert!(text.contains("for 1000 operations"), "{text}");
    let text = job_file(&builtin("lifecycle"));
    assert!(text.contains("# - fill the storage (fill_seq_1m)"), "{text}");
    assert!(text.contains("# - trim the free space"), "{text}");
    let text = job_file(&builtin("soak"));
    assert!(text.contains("steady"), "{text}");
}

#[test]
fn a_name_with_a_line_break_stays_in_its_comment() {
    let text = "name = \"a\\n[job]\\nrw=write\"\n[[io]]\nname = \"t\"\noperation = \"read\"\n\
                pattern = \"random\"\nblock = \"4KiB\"\nspan = \"1MB\"\ntime = \"1s\"\n\
                [[step]]\nmeasure = [\"t\"]\n";
    let text = job_file(&Scenario::parse(text, &[]).unwrap());
    assert_eq!(sections(&text).len(), 2, "{text}");
}

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("flashlag-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn fio_itself_takes_the_job_file_of_every_builtin() {
    if flashlag_need::program("fio", "fio").is_none() {
        return;
    }
    let directory = scratch("fio-parse");
    for name in ["quick", "fill", "lifecycle", "sqlite", "soak", "disk"] {
        let file = directory.join(format!("{name}.fio"));
        std::fs::write(&file, job_file(&builtin(name))).unwrap();
        let done = Command::new("fio").arg("--parse-only").arg(&file).output().unwrap();
        // Without a single job fio has nothing to do, and says so by its status.
        let jobs = !measured(&builtin(name)).is_empty();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success() || !jobs, "{name}: {said}");
        assert!(!jobs || said.is_empty(), "{name}: {said}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn what_fio_measures_by_it_comes_back_under_the_same_names() {
    if flashlag_need::program("fio", "fio").is_none() {
        return;
    }
    let text = "name = \"short\"\n\
        [[io]]\nname = \"reads\"\noperation = \"read\"\npattern = \"random\"\nblock = \"4KiB\"\n\
        span = \"2MiB\"\nbytes = \"256KiB\"\ntime = \"5s\"\ndirect = false\n\
        think = \"1ms\"\n\
        [[io]]\nname = \"writes\"\noperation = \"write\"\npattern = \"sequential\"\n\
        block = \"64KiB\"\nspan = \"1MiB\"\noffset = \"1MiB\"\nbytes = \"1MiB\"\ntime = \"5s\"\n\
        durable = \"dsync\"\ndirect = false\n\
        [[step]]\nmeasure = [\"reads\", \"writes\"]\n";
    let directory = scratch("fio-job");
    let (file, output) = (directory.join("short.fio"), directory.join("out.json"));
    std::fs::write(&file, job_file(&Scenario::parse(text, &[]).unwrap())).unwrap();
    let done = Command::new("fio")
        .arg(format!("--directory={}", directory.display()))
        .arg("--output-format=json+")
        .arg(format!("--output={}", output.display()))
        .arg(&file)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let run = import(&std::fs::read_to_string(&output).unwrap()).unwrap();
    let seen: Vec<_> = run.phases.iter().map(|p| (p.name.as_str(), p.ops, p.bytes.0)).collect();
    assert_eq!(seen, [("reads", 64, 256 << 10), ("writes", 16, 1 << 20)]);
    assert_eq!(run.phases[1].durable, Durability::Dsync);
    let rests: Vec<Option<u64>> =
        run.phases.iter().map(|phase| phase.think.map(|think| think.each_ns.0)).collect();
    assert_eq!(rests, [Some(1_000_000), None]);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_think_time_is_fios_in_microseconds() {
    let text = "name = \"x\"\n[[io]]\nname = \"t\"\noperation = \"write\"\npattern = \"random\"\n\
                block = \"4KiB\"\nspan = \"1MiB\"\ntime = \"1s\"\nthink = \"5ms\"\n\
                [[step]]\nmeasure = [\"t\"]\n";
    let option = |text: &str| {
        let sections = sections(&job_file(&Scenario::parse(text, &[]).unwrap()));
        let (_, options) = sections.iter().find(|(name, _)| name == "t").unwrap();
        options.get("thinktime").cloned()
    };
    assert_eq!(option(text).as_deref(), Some("5000"));
    assert_eq!(option(&text.replace("5ms", "1ns")).as_deref(), Some("1"), "rounded up");
    assert_eq!(option(&text.replace("think = \"5ms\"\n", "")), None);
}
