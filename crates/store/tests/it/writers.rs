//! Several who add to one store at once: every file once, none refused; modes as the umask has them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::common::{changed, put};
use flashlag_store::{Outcome, Store};
use flashlag_testing::sample;

/// Run files with different contents; every other one has a name that two of them share, in folders of their own.
fn many(folder: &Path, number: usize) -> Vec<PathBuf> {
    (0..number)
        .map(|at| {
            let below = folder.join(at.to_string());
            std::fs::create_dir_all(&below).unwrap();
            let run = changed(sample::quick(), |run| run.label = Some(format!("number {at}")));
            put(&below, &format!("r{}.json", at / 2), &run)
        })
        .collect()
}

fn added_at_once(writers: usize, files: usize) {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let paths = many(from.path(), files);
    let place = to.path().to_str().unwrap();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..writers)
            .map(|writer| {
                let mut paths = paths.clone();
                paths.rotate_left(writer * files / writers);
                scope.spawn(move || Store::open(place).unwrap().add(&paths).unwrap())
            })
            .collect();
        let outcomes: Vec<_> = all.into_iter().flat_map(|it| it.join().unwrap()).collect();
        let refused: Vec<_> =
            outcomes.iter().filter(|it| matches!(it.outcome, Outcome::Refused { .. })).collect();
        assert!(refused.is_empty(), "{refused:?}");
        let new = outcomes.iter().filter(|it| matches!(it.outcome, Outcome::New { .. })).count();
        assert_eq!(new, files);
    });
    let contents: BTreeSet<Vec<u8>> = std::fs::read_dir(to.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    let expected: BTreeSet<Vec<u8>> =
        paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert_eq!(contents, expected);
    let rows = Store::open(place)
        .unwrap()
        .query("SELECT count(*), count(DISTINCT file_sha256) FROM runs")
        .unwrap();
    let cells: Vec<String> = rows.rows[0].iter().map(flashlag_store::Value::plain).collect();
    assert_eq!(cells, [files.to_string(), files.to_string()]);
}

#[test]
fn writers_at_one_store_at_once_add_every_file_once_and_refuse_none() {
    added_at_once(2, 10);
    added_at_once(3, 20);
    added_at_once(8, 60);
}

#[test]
fn what_a_killed_adder_left_is_removed_by_the_next_and_no_file_of_others() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(to.path().join(".adding-x1"), "half a fi").unwrap();
    std::fs::write(to.path().join(".adder"), "somebody's").unwrap();
    let run = put(from.path(), "a.json", &sample::quick());
    Store::open(to.path().to_str().unwrap()).unwrap().add(&[run]).unwrap();
    assert!(!to.path().join(".adding-x1").exists());
    assert!(to.path().join(".adder").exists() && to.path().join("a.json").exists());
}

#[test]
fn a_file_that_can_not_be_written_is_refused_and_the_others_are_added() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let paths = many(from.path(), 3);
    // Folders have the names of the second file: its own, and that with its hash.
    let mut store = Store::open(to.path().to_str().unwrap()).unwrap();
    let hash = {
        let added = store.add(&[paths[2].clone()]).unwrap();
        assert!(matches!(added[0].outcome, Outcome::New { .. }));
        let table = store.query("SELECT file_sha256 FROM runs").unwrap();
        table.rows[0][0].plain()[..12].to_owned()
    };
    std::fs::remove_file(to.path().join("r1.json")).unwrap();
    std::fs::create_dir(to.path().join("r1.json")).unwrap();
    std::fs::create_dir(to.path().join(format!("r1-{hash}.json"))).unwrap();
    let added = store.add(&[paths[2].clone(), paths[0].clone()]).unwrap();
    let Outcome::Refused { reason } = &added[0].outcome else { panic!("{added:?}") };
    assert!(reason.contains("r1.json is taken"), "{reason}");
    assert!(matches!(added[1].outcome, Outcome::New { .. }), "{added:?}");
}
