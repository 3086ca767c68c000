//! Two hosts at one phone, and a phone's folder that is not flashlag's alone: who measures, who is refused,
//! and what is said.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on fails")]

use std::process::{Child, Stdio};
use std::time::Duration;

use crate::support::phone::{Bench, pixel, text};
use flashlag_schema::{Run, RunStatus};

/// A host that measures into a file of its own, which its messages are beside.
fn host(bench: &Bench, name: &str) -> Child {
    let log = std::fs::File::create(bench.home.path().join(format!("{name}.log"))).unwrap();
    let output = format!("{name}.json");
    let mut run = bench.command(&["run", "brief.toml", "--on", "adb:", "-o", &output]);
    run.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

fn brief(bench: &Bench) {
    let text = crate::support::phone::SHORT.replace("\"2s\"", "\"800ms\"").replace("1MiB", "64KiB");
    std::fs::write(bench.home.path().join("brief.toml"), text).unwrap();
}

/// The settings that a run changes while it measures.
fn settings(bench: &Bench) -> Vec<String> {
    let asked = ["global stay_on_while_plugged_in", "system screen_off_timeout"];
    let ask = |what: &str| bench.adb.shell(&bench.serial, &format!("settings get {what}")).unwrap();
    asked.map(|what| String::from_utf8_lossy(&ask(what).stdout).trim().to_owned()).to_vec()
}

/// When a run began, in seconds of its day, and how long its tests took at least.
fn span(run: &Run) -> (i64, i64) {
    let started = run.started.as_deref().unwrap();
    let clock = started.split('T').nth(1).unwrap().trim_end_matches('Z');
    let seconds = clock.split(':').fold(0, |sum, part| sum * 60 + part.parse::<i64>().unwrap());
    let took: u64 = run.phases.iter().map(|phase| phase.elapsed_ns.0).sum();
    (seconds, i64::try_from(took / 1_000_000_000).unwrap())
}

/// Whether one of two runs began when the other was done; a start is known to the second.
fn in_turn(one: (i64, i64), other: (i64, i64)) -> bool {
    const DAY: i64 = 86_400;
    let after = |first: (i64, i64), second: (i64, i64)| {
        let apart = (second.0 - first.0).rem_euclid(DAY);
        apart < DAY / 2 && apart + 1 > first.1.max(1)
    };
    one.0 != other.0 && (after(one, other) || after(other, one))
}

/// One of these hosts has measured, whole, and each other was refused with the sentence; or it began so late, on a busy
/// machine, that the one before it was done.
fn one_has_measured(bench: &Bench, what: &str, hosts: Vec<(String, Child)>) {
    let mut measured: Vec<(i64, i64)> = Vec::new();
    for (name, mut host) in hosts {
        let code = host.wait().unwrap().code();
        let said = std::fs::read_to_string(bench.home.path().join(format!("{name}.log"))).unwrap();
        let file = bench.home.path().join(format!("{name}.json"));
        if matches!(code, Some(0 | 3)) {
            let run = Run::from_json(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let span = span(&run);
            assert!(
                measured.iter().all(|other| in_turn(*other, span)),
                "{what}: {measured:?} {span:?}"
            );
            measured.push(span);
            assert_eq!((run.status, run.phases.len()), (RunStatus::Complete, 3), "{what}: {said}");
        } else {
            assert_eq!(code, Some(2), "{what}, {name}: {said}");
            assert!(said.contains("is measuring that phone already"), "{what}, {name}: {said}");
            assert!(!file.exists(), "{what}, {name}");
        }
    }
    assert!(!measured.is_empty(), "{what}");
    bench.is_clean();
}

#[test]
fn of_hosts_that_begin_on_one_phone_one_measures_and_the_others_are_refused() {
    let Some(bench) = Bench::of(pixel()) else { return };
    brief(&bench);
    let before = settings(&bench);
    for (round, apart) in [0, 0, 0, 100, 500, 1500].into_iter().enumerate() {
        let first = (format!("a{round}"), host(&bench, &format!("a{round}")));
        std::thread::sleep(Duration::from_millis(apart));
        let second = (format!("b{round}"), host(&bench, &format!("b{round}")));
        one_has_measured(&bench, &format!("{apart} ms apart"), vec![first, second]);
        assert_eq!(settings(&bench), before, "{apart} ms apart");
    }
    let many = ["c", "d", "e", "f"].map(|name| (name.to_owned(), host(&bench, name)));
    one_has_measured(&bench, "four at once", many.into());
    assert_eq!(settings(&bench), before);
}

#[test]
fn what_a_host_left_that_was_killed_before_its_run_began_is_taken_over_by_one() {
    let Some(bench) = Bench::of(pixel()) else { return };
    brief(&bench);
    let folder = bench.phone.root().join("data/local/tmp/flashlag-run");
    // Wherever it was: before the program, within it, before the order.
    for (round, wait) in [0, 20, 60, 200].into_iter().enumerate() {
        let mut killed = host(&bench, "killed");
        while !folder.exists() && killed.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(wait));
        killed.kill().unwrap();
        killed.wait().unwrap();
        if folder.join("run.json").exists() {
            // That run has begun, and goes on by itself.
            assert!(bench.command(&["clean", "adb:"]).status().unwrap().success());
        }
        let names = [format!("g{round}"), format!("h{round}")];
        let hosts = names.map(|name| (name.clone(), host(&bench, &name)));
        one_has_measured(&bench, &format!("killed after {wait} ms"), hosts.into());
        let _ = std::fs::remove_file(bench.home.path().join("killed.json"));
    }
}

#[test]
fn a_folder_whose_host_was_killed_before_it_marked_it_is_taken_over_by_one() {
    let Some(bench) = Bench::of(pixel()) else { return };
    brief(&bench);
    for (round, apart) in [0, 0, 300].into_iter().enumerate() {
        let made = bench.adb.shell(&bench.serial, "mkdir /data/local/tmp/flashlag-run").unwrap();
        assert!(made.status.success());
        let first = (format!("i{round}"), host(&bench, &format!("i{round}")));
        std::thread::sleep(Duration::from_millis(apart));
        let second = (format!("j{round}"), host(&bench, &format!("j{round}")));
        one_has_measured(&bench, &format!("no mark, {apart} ms apart"), vec![first, second]);
    }
}

#[test]
fn a_file_that_is_not_flashlags_is_named_with_the_way_out_and_left_alone() {
    let Some(bench) = Bench::of(pixel()) else { return };
    brief(&bench);
    let path = "/data/local/tmp/flashlag-run";
    let shell = |text: &str| bench.adb.shell(&bench.serial, text).unwrap();
    let way_out = format!("adb -s {} shell rm -r {path}", bench.serial);
    for make in [
        "echo mine >F/notes.txt",
        "echo mine >F/.hidden",
        "mkdir F/run.json",
        "mkdir F/pictures",
        "ln -s /data/local/tmp/elsewhere F/link",
    ] {
        assert!(shell(&format!("mkdir {path}; {}", make.replace('F', path))).status.success());
        let name = make.rsplit('/').next().unwrap();
        for words in
            [&["run", "brief.toml", "--on", "adb:", "-o", "x.json"][..], &["clean", "adb:"]]
        {
            let said = bench.refused(words);
            assert!(said.contains(name) && said.contains(&way_out), "{make}: {said}");
        }
        assert!(shell(&format!("[ -e {path}/{name} ] || [ -L {path}/{name} ]")).status.success());
        assert!(shell(&format!("rm -r {path}")).status.success());
    }
    // Its own names are its own, whatever they are by now.
    for make in [
        "ln -s /data/local/tmp/elsewhere F/run.json",
        "mkfifo F/run.json",
        "mkfifo F/lock",
        "echo cut short >F/flashlag-e9088746ee2ba8af-30280ddc.flashlag-tmp",
    ] {
        shell(&format!("mkdir {path}; {}", make.replace('F', path)));
        let cleaned = bench.command(&["clean", "adb:"]).output().unwrap();
        assert!(cleaned.status.success(), "{make}: {}", text(&cleaned));
        bench.is_clean();
    }
}

#[test]
fn a_file_that_is_put_there_during_a_run_costs_nothing_of_the_run() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let child = bench.begin(&["short.toml", "--on", "adb:"]);
    bench.wait_for("4K rand write", 1);
    let path = "/data/local/tmp/flashlag-run";
    let made = bench.adb.shell(&bench.serial, &format!("echo mine >{path}/notes.txt")).unwrap();
    assert!(made.status.success());
    let mut child = child;
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(0 | 3)), "{}", bench.log());
    assert_eq!((bench.stored().status, bench.stored().phases.len()), (RunStatus::Complete, 3));
    let said = bench.log().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("notes.txt") && said.contains("shell rm -r"), "{said}");
    let left = bench.phone.root().join("data/local/tmp/flashlag-run");
    let left: Vec<_> = left.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
}
