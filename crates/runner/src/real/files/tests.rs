use std::sync::atomic::AtomicBool;

use super::*;

const MIB: Bytes = Bytes::from_mib(1);

fn controls() -> Controls {
    let stop = Arc::new(AtomicBool::new(false));
    Controls { seed: 1, stop, budget: None, verify: false }
}

fn files_in(home: &tempfile::TempDir) -> Files {
    Files::create(home.path(), None).unwrap()
}

/// Makes a file as large as that of a fill, and keeps it as one.
fn fill(files: &mut Files, elsewhere: Option<&Path>, span: Bytes) -> PathBuf {
    let (place, stem) = files.next_fill(elsewhere).unwrap();
    let set = FileSet::new(&place.path, &stem, span).opened(place.directory);
    set.lay_out(&Payload::new(1), &controls().stop, &mut |_| ()).unwrap();
    files.keep_filled(set);
    place.path
}

#[test]
fn a_file_that_grew_in_the_root_is_removed_with_what_grew_by_turns_with_it() {
    let home = tempfile::tempdir().unwrap();
    let parent = home.path();
    let mut files = files_in(&home).in_root(parent).unwrap();
    let sizes = || -> Vec<u64> {
        let entries = std::fs::read_dir(parent).unwrap().map(Result::unwrap);
        let data = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("grown"));
        data.map(|entry| entry.metadata().unwrap().len()).collect()
    };
    for pages in [8, 4] {
        let span = Bytes(pages * FileSet::GRAIN.0);
        let (_, written) = files.lay_out(Role::Grown, span, &controls()).unwrap();
        assert_eq!(written, span.plus(span));
        assert_eq!(sizes(), [span.0; 2], "{pages} pages");
    }
}

#[test]
fn a_file_set_is_used_again_for_a_span_that_it_holds_and_for_its_own_role() {
    let home = tempfile::tempdir().unwrap();
    let mut files = files_in(&home);
    assert!(files.laid_out(Role::Test, Bytes(1)).is_none());
    let (set, written) = files.lay_out(Role::Test, MIB, &controls()).unwrap();
    assert_eq!((set.span(), written), (MIB, MIB));
    assert!(files.laid_out(Role::Test, MIB).is_some());
    // A span is rounded down to whole grains.
    assert!(files.laid_out(Role::Test, MIB.plus(Bytes(1))).is_some());
    assert!(files.laid_out(Role::Test, MIB.plus(FileSet::GRAIN)).is_none());
    assert!(files.laid_out(Role::Background, MIB).is_none());
    let size = *files.size().value().unwrap();
    assert!(size >= MIB && size < MIB.plus(MIB), "{size}, with its directories");
    assert_eq!(files.remove(), Vec::<String>::new());
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn each_fill_has_a_name_of_its_own_and_each_directory_elsewhere_is_taken_once() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let third = tempfile::tempdir().unwrap();
    let mut files = files_in(&home);
    let mut next = |elsewhere| {
        let (place, stem) = files.next_fill(elsewhere).unwrap();
        (place.path, stem)
    };
    let places =
        [next(None), next(Some(other.path())), next(Some(other.path())), next(Some(third.path()))];
    let stems: Vec<&str> = places.iter().map(|(_, stem)| stem.as_str()).collect();
    assert_eq!(stems, ["fill0", "fill1", "fill2", "fill3"]);
    assert!(places[0].0.starts_with(home.path()) && places[1].0.starts_with(other.path()));
    assert_eq!(places[1].0, places[2].0);
    assert!(places[3].0.starts_with(third.path()));
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1);
    assert_eq!(files.remove(), Vec::<String>::new());
    for home in [&home, &other, &third] {
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }
}

#[test]
fn deleted_fills_are_gone_from_every_directory_and_counted() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut files = files_in(&home);
    let here = fill(&mut files, None, MIB);
    let there = fill(&mut files, Some(other.path()), Bytes::from_mib(2));
    assert!(files.check_present().is_ok());
    assert_eq!(files.delete_fills().unwrap(), Bytes::from_mib(3));
    for place in [here, there] {
        assert_eq!(std::fs::read_dir(place).unwrap().count(), 0);
    }
    assert!(files.check_present().is_ok(), "what was deleted is not missed");
}

#[test]
fn a_file_of_a_test_or_of_a_fill_that_is_gone_is_missed() {
    let home = tempfile::tempdir().unwrap();
    let mut files = files_in(&home);
    let place = fill(&mut files, None, MIB);
    let filled = std::fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&filled).unwrap();
    assert!(files.check_present().is_err());
    files.delete_fills().unwrap();
    let (set, _) = files.lay_out(Role::Background, MIB, &controls()).unwrap();
    assert!(files.check_present().is_ok());
    std::fs::remove_file(set.path(0)).unwrap();
    assert!(files.check_present().is_err());
}

#[test]
fn a_cleared_run_keeps_its_directories_and_no_data() {
    let home = tempfile::tempdir().unwrap();
    let mut files = files_in(&home);
    files.lay_out(Role::Test, MIB, &controls()).unwrap();
    let place = fill(&mut files, None, MIB);
    files.clear();
    assert!(!place.exists() || std::fs::read_dir(&place).unwrap().count() == 0);
    let left = size_below(home.path()).unwrap();
    assert!(left < MIB, "{left}");
    assert!(files.laid_out(Role::Test, Bytes(1)).is_none());
    files.remove();
}

#[test]
fn databases_are_emptied_for_each_test() {
    let home = tempfile::tempdir().unwrap();
    let mut files = files_in(&home);
    let path = files.saves().unwrap();
    assert_eq!(files.opened_saves().unwrap().path, path);
    std::fs::write(path.join("0.db"), "rows").unwrap();
    files.clear_saves().unwrap();
    assert!(!path.join("0.db").exists());
    std::fs::write(files.saves().unwrap().join("1.db"), "rows").unwrap();
    assert!(std::fs::read_dir(files.saves().unwrap()).unwrap().next().is_none());
}

#[test]
fn with_rootdir_tests_and_databases_lie_in_the_directory_itself_and_the_next_replace_them() {
    let home = tempfile::tempdir().unwrap();
    let mut files = files_in(&home).in_root(home.path()).unwrap();
    let (small, _) = files.lay_out(Role::Test, MIB, &controls()).unwrap();
    assert_eq!(small.path(0).parent(), Some(home.path()));
    let (large, _) = files.lay_out(Role::Test, Bytes::from_mib(2), &controls()).unwrap();
    assert_eq!(std::fs::metadata(large.path(0)).unwrap().len(), 2 << 20);
    files.lay_out(Role::Background, MIB, &controls()).unwrap();
    assert!(files.check_present().is_ok());
    assert_eq!(files.saves().unwrap(), home.path());
    assert_eq!(files.opened_saves().unwrap().path, home.path());
    for name in ["save-0.db", "save-0.db-wal"] {
        std::fs::write(home.path().join(name), "rows").unwrap();
    }
    files.clear_saves().unwrap();
    let left = std::fs::read_dir(home.path()).unwrap().flatten();
    let mut left: Vec<String> =
        left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    left.sort();
    assert_eq!(left.len(), 3, "{left:?}: the run's own, and a file each for test and background");
}

#[test]
fn a_database_that_is_gone_is_missed_and_a_journal_is_not() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    for name in ["0.db", "0.db-wal", "1.db"] {
        std::fs::write(path(name), "rows").unwrap();
    }
    let present = databases(home.path()).unwrap();
    std::fs::remove_file(path("0.db-wal")).unwrap();
    assert!(present.check().is_ok());
    std::fs::remove_file(path("1.db")).unwrap();
    assert!(present.check().is_err());
    assert!(databases(&path("none")).is_err());
}
