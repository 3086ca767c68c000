//! Killed at any moment, a run leaves nothing that a clean-up does not remove.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::canary::{plant, snapshot};
use crate::common::random::{Random, seed};
use flashlag_engine::guard::{Workspace, clean, find_leftovers};
use tempfile::TempDir;

const PARENT: &str = "FLASHLAG_TEST_CHILD_PARENT";
const RUN: &str = "a run that dies";

/// What the child does until it is killed. Run by itself it does nothing.
#[test]
fn child_that_makes_and_removes_until_killed() {
    let Some(parent) = std::env::var_os(PARENT) else { return };
    let (parent, other) = (PathBuf::from(&parent), PathBuf::from(&parent).join("other"));
    fs::write(parent.join("started"), "").unwrap();
    loop {
        clean(&parent).unwrap();
        let resumed = Workspace::resume(&parent, RUN).unwrap();
        let mut work = resumed.unwrap_or_else(|| Workspace::create_for(&parent, RUN).unwrap());
        work.also_in(&other).unwrap();
        let mut beside = Workspace::create(&other).unwrap();
        fill(&beside.subdirectory("fill").unwrap(), 3);
        fill(&work.subdirectory("test").unwrap(), 5);
        fill(&work.subdirectory("saves").unwrap(), 2);
        assert!(work.clear("saves").unwrap().is_complete());
        fill(&work.subdirectory("fill").unwrap(), 4);
        if work.path().as_os_str().as_encoded_bytes().last().is_some_and(|byte| byte % 2 == 0) {
            work.keep();
        } else {
            assert!(work.remove().is_complete());
        }
        assert!(beside.remove().is_complete());
    }
}

fn fill(directory: &Path, files: u32) {
    for index in 0..files {
        fs::write(directory.join(format!("part-{index}.dat")), [index as u8; 9000]).unwrap();
        fs::write(directory.join(format!("save-{index}.db-wal")), "log").unwrap();
    }
}

fn spawn_child(parent: &Path) -> Child {
    let test = "guard_kill::child_that_makes_and_removes_until_killed";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--test-threads=1"]).env(PARENT, parent);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Starts a child, lets it come to its loop, and kills it `after` that.
fn kill_after(parent: &Path, after: Duration) {
    let mut child = spawn_child(parent);
    let started = parent.join("started");
    let until = Instant::now() + Duration::from_secs(20);
    while !started.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_micros(50));
    }
    std::thread::sleep(after);
    assert!(child.try_wait().unwrap().is_none(), "the child failed by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(started).unwrap();
}

/// What the death left, in a word, to show that the kills reach every step.
fn state_of(parent: &Path) -> &'static str {
    let Some(leftover) = find_leftovers(parent).unwrap().into_iter().next() else {
        return "nothing";
    };
    let names = fs::read_dir(&leftover.path).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    let changing = names.iter().any(|name| name.ends_with(".tmp"));
    match (&leftover.manifest, leftover.bytes.0) {
        (None, _) if changing => "half a first manifest",
        (None, _) => "no manifest",
        (Some(_), 0) if names.len() == 1 => "a manifest alone",
        (Some(_), _) if changing => "a changing manifest",
        (Some(_), 0) => "empty subdirectories",
        (Some(_), _) => "data",
    }
}

fn rounds(home: TempDir, rounds: u32, seed: u64, longest_micros: u64) {
    let mut random = Random(seed);
    let parent = home.path();
    plant(parent);
    let other = parent.join("other");
    fs::create_dir(&other).unwrap();
    plant(&other);
    let mut before = snapshot(parent);
    let mut states: BTreeMap<&str, u32> = BTreeMap::new();
    for round in 0..rounds {
        kill_after(parent, Duration::from_micros(random.below(longest_micros)));
        *states.entry(state_of(parent)).or_default() += 1;
        let strangers = if random.below(8) == 0 { plant_inside(parent) } else { Vec::new() };
        clean(parent).unwrap();
        // A second directory is reached through the first one's manifest; one that died between
        // the removal of the first and of the second is its own.
        clean(&other).unwrap();
        for stranger in &strangers {
            assert!(fs::symlink_metadata(stranger).is_ok(), "{stranger:?} (seed {seed})");
            fs::remove_file(stranger).unwrap();
        }
        if !strangers.is_empty() {
            clean(parent).unwrap();
        }
        // The directories' own times change with every name that comes and goes.
        let after = snapshot(parent);
        before.remove(&other);
        let left: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
        assert_eq!(left, [&other], "round {round} of seed {seed}");
        let same = before.iter().all(|(path, seen)| after.get(path) == Some(seen));
        assert!(same, "a canary changed in round {round} of seed {seed}");
    }
    eprintln!("seed {seed}: after {rounds} kills there was {states:?}");
}

/// A user's file, and a link to a canary, in the middle of what a dead run left.
fn plant_inside(parent: &Path) -> Vec<PathBuf> {
    let found = find_leftovers(parent).unwrap();
    let test = found.iter().map(|leftover| leftover.path.join("test")).find(|path| path.is_dir());
    let Some(test) = test else { return Vec::new() };
    let (letter, link) = (test.join("letter.txt"), test.join("linked.dat"));
    fs::write(&letter, "mine").unwrap();
    symlink(parent.join("canary.txt"), &link).unwrap();
    vec![letter, link]
}

#[test]
fn killed_at_any_moment_everything_of_ours_can_be_removed() {
    let home = match TempDir::new_in("/dev/shm") {
        Ok(home) => home,
        Err(_) => TempDir::new().unwrap(),
    };
    rounds(home, 300, seed(), 4_000);
}

#[test]
fn killed_at_any_moment_on_a_journaling_filesystem_too() {
    rounds(TempDir::new().unwrap(), 60, seed(), 60_000);
}

#[test]
fn a_clean_up_beside_living_runs_hurts_none_of_them() {
    let home = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
    let parent = home.path();
    fs::create_dir(parent.join("other")).unwrap();
    let mut children = [spawn_child(parent), spawn_child(parent)];
    let until = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < until {
        clean(parent).unwrap();
        clean(&parent.join("other")).unwrap();
    }
    let alive = children.iter_mut().all(|child| child.try_wait().unwrap().is_none());
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(alive, "a clean-up broke a run that lived");
    clean(parent).unwrap();
    clean(&parent.join("other")).unwrap();
    assert_eq!(find_leftovers(parent).unwrap(), Vec::new());
}
