//! The guard removes what is ours and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::common::canary::{plant, snapshot};
use crate::common::loop_mount::run;
use flashlag_engine::guard::{
    PublishError, Publisher, Replaces, Workspace, clean, clean_of_all_machines, find_leftovers,
};
use flashlag_units::Bytes;
use tempfile::tempdir;

fn with_data(parent: &Path) -> Workspace {
    let mut workspace = Workspace::create_for(parent, "a run").unwrap();
    let test = workspace.subdirectory("test").unwrap();
    fs::write(test.join("span.dat"), vec![1u8; 10_000]).unwrap();
    let saves = workspace.subdirectory("saves").unwrap();
    for name in ["save_wal.db", "save_wal.db-wal", "save_wal.db-shm", "save_delete.db-journal"] {
        fs::write(saves.join(name), name).unwrap();
    }
    workspace
}

/// What a dead run leaves: the manifest names a process that is gone.
fn abandon(workspace: Workspace) -> std::path::PathBuf {
    let path = workspace.path().to_owned();
    workspace.keep();
    path
}

#[test]
fn removing_leaves_the_parent_as_it_was() {
    let parent = tempdir().unwrap();
    plant(parent.path());
    let before = snapshot(parent.path());
    let cleaned = with_data(parent.path()).remove();
    assert!(cleaned.is_complete(), "{cleaned:?}");
    assert_eq!(cleaned.removed.files, 5);
    assert!(cleaned.removed.bytes >= Bytes(10_000));
    assert_eq!(snapshot(parent.path()), before);
}

#[test]
fn dropping_removes_and_keeping_does_not() {
    let parent = tempdir().unwrap();
    drop(with_data(parent.path()));
    assert_eq!(snapshot(parent.path()).len(), 0);
    with_data(parent.path()).keep();
    assert_ne!(snapshot(parent.path()).len(), 0);
}

#[test]
fn a_run_that_lives_is_left_alone_and_a_dead_one_is_removed() {
    let parent = tempdir().unwrap();
    plant(parent.path());
    let canaries = snapshot(parent.path());
    let alive = with_data(parent.path());
    let with_alive = snapshot(parent.path());
    abandon(with_data(parent.path()));
    let found = find_leftovers(parent.path()).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].bytes >= Bytes(10_000), "{found:?}");
    let cleaned = clean(parent.path()).unwrap();
    assert_eq!(cleaned.iter().filter(|one| one.is_complete()).count(), 1, "{cleaned:#?}");
    assert_eq!(snapshot(parent.path()), with_alive);
    alive.remove();
    assert_eq!(snapshot(parent.path()), canaries);
}

#[test]
fn two_runs_in_one_directory_have_one_each() {
    let parent = tempdir().unwrap();
    let (one, two) = (with_data(parent.path()), with_data(parent.path()));
    assert_ne!(one.path(), two.path());
    one.remove();
    assert!(two.path().join("test/span.dat").exists());
}

#[test]
fn a_strangers_file_inside_stays_and_so_does_the_manifest_until_it_is_gone() {
    let parent = tempdir().unwrap();
    let work = abandon(with_data(parent.path()));
    let letter = work.join("test/letter.txt");
    fs::write(&letter, "mine").unwrap();
    fs::create_dir(work.join("saves/deeper")).unwrap();
    fs::write(work.join("notes.dat"), "in the wrong place").unwrap();
    let cleaned = &clean(parent.path()).unwrap()[0];
    assert_eq!(cleaned.kept_count, 3, "{cleaned:#?}");
    assert_eq!(cleaned.removed.files, 5);
    assert_eq!(fs::read_to_string(&letter).unwrap(), "mine");
    assert!(!work.join("test/span.dat").exists());
    fs::remove_file(letter).unwrap();
    fs::remove_dir(work.join("saves/deeper")).unwrap();
    fs::remove_file(work.join("notes.dat")).unwrap();
    assert!(clean(parent.path()).unwrap()[0].is_complete());
    assert_eq!(snapshot(parent.path()).len(), 0);
}

#[test]
fn symbolic_links_are_neither_followed_nor_removed() {
    let (parent, outside) = (tempdir().unwrap(), tempdir().unwrap());
    fs::write(outside.path().join("span.dat"), "canary").unwrap();
    let before = snapshot(outside.path());
    let work = abandon(with_data(parent.path()));
    // A file replaced by a link to a canary, and a listed subdirectory replaced by one.
    fs::remove_file(work.join("test/span.dat")).unwrap();
    symlink(outside.path().join("span.dat"), work.join("test/span.dat")).unwrap();
    fs::remove_dir_all(work.join("saves")).unwrap();
    symlink(outside.path(), work.join("saves")).unwrap();
    let cleaned = &clean(parent.path()).unwrap()[0];
    assert_eq!(cleaned.kept_count, 2, "{cleaned:#?}");
    assert_eq!(snapshot(outside.path()), before);
    assert!(work.join("saves").is_symlink() && work.join("test/span.dat").is_symlink());
}

#[test]
fn a_link_with_our_name_to_a_directory_of_ours_is_not_followed() {
    let (parent, outside) = (tempdir().unwrap(), tempdir().unwrap());
    let work = abandon(with_data(outside.path()));
    symlink(&work, parent.path().join(work.file_name().unwrap())).unwrap();
    let before = snapshot(outside.path());
    assert_eq!(clean(parent.path()).unwrap(), Vec::new());
    assert_eq!(snapshot(outside.path()), before);
}

#[test]
fn a_fifo_in_place_of_the_manifest_does_not_block() {
    let parent = tempdir().unwrap();
    let work = abandon(with_data(parent.path()));
    let manifest = work.join("flashlag-manifest.json");
    fs::remove_file(&manifest).unwrap();
    run(Command::new("mkfifo").arg(&manifest)).unwrap();
    let cleaned = &clean(parent.path()).unwrap()[0];
    assert!(!cleaned.is_complete());
    assert!(work.join("test/span.dat").exists());
}

#[test]
fn something_mounted_inside_is_not_entered() {
    if !flashlag_need::root("a bind mount") {
        return;
    }
    let (parent, outside) = (tempdir().unwrap(), tempdir().unwrap());
    fs::write(outside.path().join("span.dat"), "canary").unwrap();
    let work = abandon(with_data(parent.path()));
    let below = work.join("saves");
    run(Command::new("mount").arg("--bind").arg(outside.path()).arg(&below)).unwrap();
    let cleaned = clean(parent.path());
    run(Command::new("umount").arg(&below)).unwrap();
    let cleaned = &cleaned.unwrap()[0];
    assert_eq!(cleaned.kept_count, 1, "{cleaned:#?}");
    assert!(cleaned.kept[0].reason.contains("mounted"));
    assert_eq!(fs::read_to_string(outside.path().join("span.dat")).unwrap(), "canary");
    assert!(clean(parent.path()).unwrap()[0].is_complete());
}

#[test]
fn every_state_that_a_death_before_the_manifest_can_leave_is_removed() {
    let parent = tempdir().unwrap();
    plant(parent.path());
    let before = snapshot(parent.path());
    let workspace = Workspace::create_for(parent.path(), "a run").unwrap();
    let manifest = fs::read(workspace.path().join("flashlag-manifest.json")).unwrap();
    workspace.remove();
    let work = parent.path().join("flashlag-work-aaaaaaaaaaaaaaaa");
    fs::create_dir(&work).unwrap();
    clean(parent.path()).unwrap();
    assert_eq!(snapshot(parent.path()), before, "an empty directory");
    for length in 0..=manifest.len() {
        fs::create_dir(&work).unwrap();
        fs::write(work.join("flashlag-manifest.json.tmp"), &manifest[..length]).unwrap();
        clean(parent.path()).unwrap();
        assert_eq!(snapshot(parent.path()), before, "{length} bytes of the manifest");
    }
    fs::create_dir(&work).unwrap();
    fs::write(work.join("flashlag-manifest.json.tmp"), [0u8; 300]).unwrap();
    clean(parent.path()).unwrap();
    assert_eq!(snapshot(parent.path()), before, "zeroes, as a power cut may leave");
}

#[test]
fn every_state_that_a_death_while_removing_can_leave_is_removed() {
    // The order in which `remove` works: after each step, a clean-up must finish the rest.
    let steps = [
        "test/span.dat",
        "test",
        "saves/save_delete.db-journal",
        "saves/save_wal.db",
        "saves/save_wal.db-shm",
        "saves/save_wal.db-wal",
        "saves",
        "flashlag-manifest.json",
    ];
    let parent = tempdir().unwrap();
    plant(parent.path());
    let before = snapshot(parent.path());
    for done in 0..=steps.len() {
        let work = abandon(with_data(parent.path()));
        for step in &steps[..done] {
            let path = work.join(step);
            let removed =
                if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
            removed.unwrap();
        }
        clean(parent.path()).unwrap();
        assert_eq!(snapshot(parent.path()), before, "after {done} steps");
    }
}

#[test]
fn resuming_takes_over_the_run_of_that_name_with_its_files() {
    let parent = tempdir().unwrap();
    let mut other = Workspace::create_for(parent.path(), "another").unwrap();
    other.subdirectory("test").unwrap();
    abandon(other);
    assert!(Workspace::resume(parent.path(), "a run").unwrap().is_none());
    let work = abandon(with_data(parent.path()));
    let resumed = Workspace::resume(parent.path(), "a run").unwrap().unwrap();
    assert_eq!(resumed.path(), work);
    assert!(work.join("test/span.dat").exists());
    assert!(Workspace::resume(parent.path(), "a run").unwrap().is_none(), "it is taken");
    clean(parent.path()).unwrap();
    assert!(work.join("test/span.dat").exists(), "it lives again");
    resumed.remove();
    assert_eq!(snapshot(parent.path()).len(), 0);
}

#[test]
fn of_several_directories_of_one_name_the_latest_is_resumed() {
    for times in [[100, 200], [200, 100]] {
        let parent = tempdir().unwrap();
        let mut left = Vec::new();
        for time in times {
            let path = abandon(with_data(parent.path()));
            let manifest = path.join("flashlag-manifest.json");
            let text = fs::read_to_string(&manifest).unwrap();
            let mut of_then: serde_json::Value = serde_json::from_str(&text).unwrap();
            of_then["created_unix_seconds"] = time.into();
            fs::write(manifest, of_then.to_string()).unwrap();
            left.push((time, path));
        }
        let resumed = Workspace::resume(parent.path(), "a run").unwrap().unwrap();
        let latest = left.iter().max().unwrap();
        assert_eq!(resumed.path(), latest.1);
    }
}

#[test]
fn cleaning_follows_a_run_to_its_other_directory() {
    let (parent, other) = (tempdir().unwrap(), tempdir().unwrap());
    plant(other.path());
    let before = snapshot(other.path());
    let mut work = with_data(parent.path());
    work.also_in(other.path()).unwrap();
    // Leading back must not go round in circles.
    let mut second = with_data(other.path());
    second.also_in(parent.path()).unwrap();
    abandon(second);
    abandon(work);
    clean(parent.path()).unwrap();
    assert_eq!(snapshot(parent.path()).len(), 0);
    assert_eq!(snapshot(other.path()), before);
}

#[test]
fn a_result_that_was_being_written_is_removed_and_no_other_file_can_be() {
    let (parent, other) = (tempdir().unwrap(), tempdir().unwrap());
    let mut work = with_data(parent.path());
    let result = other.path().join("run.json");
    let error = work.also_temporary(&result).unwrap_err().to_string();
    assert!(error.contains(".flashlag-tmp"), "{error}");
    assert!(work.also_temporary(&other.path().join(".flashlag-tmp")).is_err());
    let users = other.path().join("run.json.flashlag-tmp");
    assert!(work.also_temporary(&users).is_err());
    let publisher = Publisher::open(other.path()).unwrap();
    let temporary = publisher.temporary();
    fs::write(&users, "a user's own").unwrap();
    work.also_temporary(&temporary).unwrap();
    fs::write(&result, "the result").unwrap();
    fs::write(&temporary, "half a res").unwrap();
    let work = abandon(work);
    // A manifest that somebody else changed.
    let manifest = work.join("flashlag-manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let listed = format!("{:?}", temporary);
    fs::write(&manifest, text.replace(&listed, &format!("{listed}, {result:?}"))).unwrap();
    assert!(clean(parent.path()).unwrap()[0].is_complete());
    assert!(!temporary.exists() && !work.exists());
    assert_eq!(fs::read_to_string(&result).unwrap(), "the result");
    assert_eq!(fs::read_to_string(&users).unwrap(), "a user's own");
}

#[test]
fn a_result_that_a_death_left_half_written_is_removed_where_it_is_and_no_other() {
    let parent = tempdir().unwrap();
    plant(parent.path());
    fs::write(parent.path().join("r.json.flashlag-tmp"), "a user's own").unwrap();
    let linked = Publisher::open(parent.path()).unwrap().temporary();
    symlink(parent.path().join("canary.txt"), &linked).unwrap();
    let before = snapshot(parent.path());
    let left = Publisher::open(parent.path()).unwrap().temporary();
    fs::write(&left, "half a res").unwrap();
    let used = Publisher::open(parent.path()).unwrap().temporary();
    let writer = fs::File::create(&used).unwrap();
    rustix::fs::flock(&writer, rustix::fs::FlockOperation::LockExclusive).unwrap();
    clean(parent.path()).unwrap();
    assert!(!left.exists() && used.exists(), "one is a dead process's, the other is in use");
    // Closing it is not enough here: a process that another test has just forked holds it too, until it executes.
    rustix::fs::flock(&writer, rustix::fs::FlockOperation::Unlock).unwrap();
    drop(writer);
    clean(parent.path()).unwrap();
    assert!(snapshot(parent.path()) == before, "what was there is there, and nothing more");
}

#[test]
fn a_result_is_published_whole_and_over_nothing_that_it_does_not_know() {
    let parent = tempdir().unwrap();
    let publisher = Publisher::open(parent.path()).unwrap();
    let name = std::ffi::OsStr::new("run.json");
    let first = publisher.publish(name, b"one", Replaces::Nothing).unwrap();
    let taken = publisher.publish(name, b"other", Replaces::Nothing).unwrap_err();
    assert_eq!(taken, PublishError::Taken);
    let second = publisher.publish(name, b"two", Replaces::This(&first)).unwrap();
    // The first is gone: whoever knows only that one must not replace the second.
    let taken = publisher.publish(name, b"other", Replaces::This(&first));
    assert!(matches!(taken, Err(PublishError::Taken)) || first.st_ino == second.st_ino);
    assert_eq!(fs::read(parent.path().join("run.json")).unwrap(), b"two");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "no temporary is left");
}

#[test]
fn of_many_that_publish_one_name_at_once_one_gets_it() {
    let parent = tempdir().unwrap();
    let name = std::ffi::OsStr::new("run.json");
    let publish = |number: u8| {
        let publisher = Publisher::open(parent.path()).unwrap();
        publisher.publish(name, &[number; 9000], Replaces::Nothing).is_ok()
    };
    let published = std::thread::scope(|scope| {
        let all: Vec<_> = (0..32).map(|number| scope.spawn(move || publish(number))).collect();
        all.into_iter().filter_map(|one| one.join().ok()).filter(|&ok| ok).count()
    });
    assert_eq!(published, 1);
    let text = fs::read(parent.path().join("run.json")).unwrap();
    assert!(text.len() == 9000 && text.iter().all(|byte| *byte == text[0]), "it is one's whole");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "no temporary is left");
}

#[test]
fn what_another_machine_may_still_use_is_left_alone_but_by_force() {
    let parent = tempdir().unwrap();
    let left = abandon(with_data(parent.path()));
    let manifest = left.join("flashlag-manifest.json");
    let mut text: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&manifest).unwrap()).unwrap();
    text["owner"]["boot_id"] = "0d5c2e6c-0000-0000-0000-000000000000".into();
    text["owner"]["machine"] = "0123456789abcdef".into();
    fs::write(&manifest, text.to_string()).unwrap();
    let before = snapshot(parent.path());
    let cleaned = clean(parent.path()).unwrap();
    assert!(cleaned[0].kept[0].reason.contains("another machine"), "{cleaned:?}");
    assert!(cleaned[0].kept[0].reason.contains("--force"), "{cleaned:?}");
    assert_eq!(snapshot(parent.path()), before, "a run there may live");
    assert!(clean_of_all_machines(parent.path()).unwrap()[0].is_complete());
    assert!(!left.exists());
}

#[test]
fn clearing_empties_one_subdirectory_only() {
    let parent = tempdir().unwrap();
    let mut work = with_data(parent.path());
    let cleared = work.clear("saves").unwrap();
    assert_eq!((cleared.removed.files, cleared.kept_count), (4, 0));
    assert!(work.path().join("saves").is_dir() && work.path().join("test/span.dat").exists());
    assert_eq!(work.clear("never").unwrap().removed.files, 0);
}

#[test]
fn thousands_of_files_are_all_removed() {
    let parent = tempdir().unwrap();
    let mut work = Workspace::create(parent.path()).unwrap();
    let fill = work.subdirectory("fill").unwrap();
    for index in 0..3000 {
        fs::write(fill.join(format!("fill-{index:05}.dat")), "").unwrap();
    }
    let cleaned = work.remove();
    assert_eq!((cleaned.removed.files, cleaned.is_complete()), (3000, true));
}

#[test]
fn errors_name_path_operation_and_what_to_try() {
    let parent = tempdir().unwrap();
    let missing = parent.path().join("nowhere");
    let error = Workspace::create(&missing).unwrap_err().to_string();
    assert!(error.contains("nowhere") && error.contains("does not exist"), "{error}");
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    let error = clean(&file).unwrap_err().to_string();
    assert!(error.contains("give a directory"), "{error}");
    let mut work = Workspace::create(parent.path()).unwrap();
    for name in ["", "..", "a/b", "A", "ä"] {
        let error = work.subdirectory(name).unwrap_err().to_string();
        assert!(error.contains("lower-case"), "{error}");
    }
}

#[test]
fn a_directory_that_vanishes_is_no_error_when_it_is_removed() {
    let parent = tempdir().unwrap();
    let work = with_data(parent.path());
    fs::remove_dir_all(work.path()).unwrap();
    let cleaned = work.remove();
    assert_eq!((cleaned.removed.files, cleaned.is_complete()), (0, true));
}

#[test]
fn another_directory_in_the_place_of_ours_is_not_removed() {
    let parent = tempdir().unwrap();
    let work = with_data(parent.path());
    let path = work.path().to_owned();
    let aside = parent.path().join("aside");
    fs::rename(&path, &aside).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("letter.txt"), "mine").unwrap();
    work.remove();
    assert_eq!(fs::read_to_string(path.join("letter.txt")).unwrap(), "mine");
}
