//! A sweep that was killed anywhere goes on, and its table is the one of a sweep that nobody killed.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_sweep::{Grid, Sweep, SweepError, SweepOptions, journal_of, measure, run};

const GRID: &str = "profile = [\"nexus5-2013\", \"pixel-2016\"]\nfilesystem = [\"ext4\", \"f2fs\"]\n\
                    size = \"512MiB\"\nage = [\"new\", \"1mo\"]\n[set]\nsaves = 20\n\
                    random_bytes = \"64KiB\"\nbytes = \"1MiB\"\nspan = \"1MiB\"\n";

fn grid() -> Grid {
    Grid::parse(GRID).unwrap()
}

fn open(output: &Path, chunk: u64) -> Sweep {
    let options = SweepOptions { chunk: Some(chunk), force: false };
    Sweep::open(grid(), output, options).unwrap()
}

/// The results of every chunk.
fn measured(output: &Path, chunk: u64) -> Vec<Vec<u8>> {
    let sweep = open(output, chunk);
    let all = (0..sweep.chunks()).map(|index| measure(&sweep.chunk(index).unwrap()).unwrap());
    let all = all.collect();
    fs::remove_file(journal_of(output)).unwrap();
    all
}

fn finished(mut sweep: Sweep, results: &[Vec<u8>], output: &Path) -> Vec<u8> {
    let mut next = sweep.next_missing(0);
    while let Some(index) = next {
        assert!(sweep.add(&results[index as usize]).unwrap());
        next = sweep.next_missing(index);
    }
    let points = sweep.grid().points();
    assert_eq!(sweep.finish().unwrap().points, points);
    assert!(!journal_of(output).exists(), "the journal is gone once the table is there");
    fs::read(output).unwrap()
}

#[test]
fn a_sweep_killed_at_any_byte_of_its_journal_ends_with_the_same_table() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("table.parquet");
    let results = measured(&output, 1);
    let mut sweep = open(&output, 1);
    // Not in order, and one of them twice.
    for index in [3, 0, 7, 1, 5, 6, 2, 4] {
        assert!(sweep.add(&results[index]).unwrap());
        assert!(!sweep.add(&results[3]).unwrap(), "a chunk counts once");
    }
    drop(sweep);
    let whole = fs::read(journal_of(&output)).unwrap();
    let expected = finished(open(&output, 1), &results, &output);
    fs::remove_file(&output).unwrap();
    // Every byte of the head, and then steps that fall everywhere within frames.
    let cuts = (0..400).chain((400..whole.len()).step_by(997)).chain([whole.len() - 1]);
    for cut in cuts {
        fs::write(journal_of(&output), &whole[..cut]).unwrap();
        let sweep = open(&output, 1);
        assert_eq!(finished(sweep, &results, &output), expected, "killed at byte {cut}");
        fs::remove_file(&output).unwrap();
    }
}

#[test]
fn the_table_depends_neither_on_chunks_nor_on_threads_nor_on_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = Vec::new();
    for (chunk, threads) in [(1, 1), (3, 2), (50, 1)] {
        let output = folder.path().join(format!("{chunk}-{threads}.parquet"));
        let sweep = open(&output, chunk);
        let stop = Arc::new(AtomicBool::new(false));
        let mut seen = Vec::new();
        run(sweep, threads, &stop, &mut |done, points| seen.push((done, points))).unwrap();
        assert_eq!(seen.first(), Some(&(0, 8)));
        assert_eq!(seen.last(), Some(&(8, 8)));
        tables.push(fs::read(&output).unwrap());
    }
    assert!(tables.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_stopped_sweep_keeps_what_is_measured_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("table.parquet");
    let stop = Arc::new(AtomicBool::new(false));
    let sweep = open(&output, 1);
    let error = run(sweep, 1, &stop, &mut |done, _| {
        if done == 3 {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    })
    .unwrap_err();
    let kept = match &error {
        SweepError::Stopped { done, points: 8, .. } => *done,
        other => panic!("{other}"),
    };
    assert!((3..8).contains(&kept), "{kept}");
    assert!(error.to_string().contains("the same command measures"), "{error}");
    assert!(!output.exists());
    assert_eq!(open(&output, 1).done(), kept);
}

#[test]
fn a_changed_grid_a_second_process_and_a_strange_file_are_refused_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("table.parquet");
    let results = measured(&output, 1);
    let mut sweep = open(&output, 1);
    sweep.add(&results[0]).unwrap();
    let again = || Sweep::open(grid(), &output, SweepOptions::default());
    let error = again().unwrap_err();
    assert!(matches!(error, SweepError::InUse { .. }), "{error}");
    drop(sweep);
    let before = fs::read(journal_of(&output)).unwrap();
    let changed = Grid::parse(&GRID.replace("saves = 20", "saves = 21")).unwrap();
    let other = Sweep::open(changed.clone(), &output, SweepOptions::default()).unwrap_err();
    assert!(other.to_string().contains("give another output for the changed grid"), "{other}");
    assert_eq!(fs::read(journal_of(&output)).unwrap(), before);
    assert_eq!(again().unwrap().done(), 1);
    let anew = SweepOptions { force: true, ..SweepOptions::default() };
    assert_eq!(Sweep::open(changed, &output, anew).unwrap().done(), 0);
    fs::write(journal_of(&output), "my notes").unwrap();
    let strange = again().unwrap_err();
    assert!(matches!(strange, SweepError::NoJournal { .. }), "{strange}");
    assert_eq!(fs::read(journal_of(&output)).unwrap(), b"my notes");
}

#[test]
fn a_table_that_is_there_is_not_overwritten_without_force() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("table.parquet");
    fs::write(&output, "something else").unwrap();
    let error = Sweep::open(grid(), &output, SweepOptions::default()).unwrap_err();
    assert!(error.to_string().contains("table.parquet"), "{error}");
    assert_eq!(fs::read(&output).unwrap(), b"something else");
    assert!(!journal_of(&output).exists());
}

#[test]
fn damaged_and_foreign_bytes_are_no_chunk_and_no_results() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("table.parquet");
    let results = measured(&output, 1);
    let mut sweep = open(&output, 1);
    let chunk = sweep.chunk(2).unwrap();
    for place in (0..chunk.len()).step_by(101) {
        let mut damaged = chunk.clone();
        damaged[place] ^= 4;
        assert!(measure(&damaged).is_err(), "byte {place}");
    }
    assert!(sweep.add(&chunk).is_err());
    assert!(sweep.add(&results[2][1..]).is_err());
    assert!(matches!(sweep.chunk(8), Err(SweepError::NoChunk { index: 8, count: 8 })));
    let other = Grid::parse("profile = \"zero\"\nseed = { from = 1, count = 8 }\n").unwrap();
    let place = folder.path().join("other.parquet");
    let options = SweepOptions { chunk: Some(1), force: false };
    let mut other = Sweep::open(other, &place, options).unwrap();
    assert!(matches!(other.add(&results[2]), Err(SweepError::OtherSweep { .. })));
    assert!(matches!(other.finish(), Err(SweepError::Unfinished { missing: 8, points: 8 })));
    assert_eq!(sweep.done(), 0);
}

#[test]
fn a_table_that_cant_be_written_loses_nothing_and_says_what_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("table.parquet");
    let results = measured(&output, 1);
    let mut sweep = open(&output, 1);
    for result in &results {
        sweep.add(result).unwrap();
    }
    // Nothing replaces a folder.
    fs::create_dir(&output).unwrap();
    let error = sweep.finish().unwrap_err().to_string();
    assert!(error.contains("all 8 points are measured and kept"), "{error}");
    assert!(error.contains("the same command writes the table"), "{error}");
    fs::remove_dir(&output).unwrap();
    let sweep = open(&output, 1);
    assert_eq!(sweep.done(), 8);
    assert_eq!(sweep.finish().unwrap().points, 8);
}
