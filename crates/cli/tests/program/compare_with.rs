//! `flashlag compare --with` as a user runs it: a run among those of a table, in words.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use flashlag_schema::Run;
use flashlag_store::{Columns, Placed, READER, place, read_file};
use flashlag_testing::sample;

fn flashlag(home: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.args(arguments.split(' ')).current_dir(home).output().unwrap()
}

fn said(home: &Path, arguments: &str) -> String {
    let output = flashlag(home, arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(home: &Path, arguments: &str) -> String {
    let output = flashlag(home, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}");
    assert!(output.stdout.is_empty(), "{arguments}");
    String::from_utf8(output.stderr).unwrap()
}

fn put(folder: &Path, name: &str, change: impl FnOnce(&mut Run)) {
    let mut run = sample::quick();
    change(&mut run);
    flashlag_explain::attach(&mut run);
    run.seal();
    std::fs::write(folder.join(name), run.to_json()).unwrap();
}

/// A folder with `mine.json`, and a store of it and of others that are equal but for their times.
fn scene(others: u64) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("store");
    std::fs::create_dir(&store).unwrap();
    put(home.path(), "mine.json", |_| ());
    put(&store, "mine.json", |_| ());
    for number in 1..=others {
        put(&store, &format!("{number}.json"), |run| {
            run.phases.iter_mut().for_each(|phase| phase.began_ns.0 += number);
        });
    }
    said(home.path(), "store query --store store --from phases -o results.parquet");
    home
}

#[test]
fn a_run_is_placed_in_words_and_the_run_itself_does_not_count() {
    let home = scene(21);
    let text = said(home.path(), "compare mine.json --with results.parquet");
    assert!(
        text.starts_with("mine.json among the 21 runs in results.parquet that count\n"),
        "{text}"
    );
    assert!(
        text.contains("its model: ") && text.contains("as old: up to 40% of life used"),
        "{text}"
    );
    assert!(text.contains("slower than 50% of 21 of its model\n"), "{text}");
    assert!(text.contains("slower than 50% of 21 of its model as old and as full\n"), "{text}");
    assert!(!text.contains("of its class"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    said(home.path(), "site store -o site");
    let by_site = said(home.path(), "compare mine.json --with site/data/phases.parquet");
    assert_eq!(by_site.replace("site/data/phases", "results"), text);
}

#[test]
fn few_others_are_too_few_and_none_are_none() {
    let few = said(scene(2).path(), "compare mine.json --with results.parquet");
    assert!(few.contains("n too small: 2 of its model\n"), "{few}");
    assert!(few.contains("n too small: 2 of its class\n") && !few.contains("slower than"), "{few}");
    let none = said(scene(0).path(), "compare mine.json --with results.parquet");
    assert!(none.starts_with("mine.json among the 0 runs in"), "{none}");
    assert!(none.contains("there is no other of its model or class"), "{none}");
}

#[test]
fn what_cannot_be_placed_is_refused_with_what_to_do() {
    let home = scene(1);
    let at = home.path();
    let no_table = refused(at, "compare mine.json --with mine.json");
    assert!(no_table.contains("cannot read mine.json as a table in Parquet"), "{no_table}");
    said(at, "store query --store store --from runs -o runs.parquet");
    let other = refused(at, "compare mine.json --with runs.parquet");
    assert!(other.contains("runs.parquet has no column `"), "{other}");
    assert!(other.contains("`flashlag store query --from phases -o results.parquet`"), "{other}");
    let no_run = refused(at, "compare results.parquet --with results.parquet");
    assert!(no_run.contains("cannot place results.parquet: "), "{no_run}");
    let missing = refused(at, "compare none.json --with results.parquet");
    assert!(missing.contains("cannot place none.json: cannot be read: No such file"), "{missing}");
    let nowhere = refused(at, "compare mine.json --with none.parquet");
    assert!(nowhere.contains("cannot read none.parquet: No such file"), "{nowhere}");
    let folder = refused(at, "compare mine.json --with store");
    assert!(folder.contains("cannot read store as a table in Parquet: it is no file"), "{folder}");
    let both = refused(at, "compare mine.json --with results.parquet --against mine.json");
    assert!(both.contains("cannot be used with"), "{both}");
}

/// Every place of a table that is cut off or changed has this many bytes to the next.
const STEP: usize = 11;

#[test]
fn a_damaged_table_is_a_sentence_or_another_table_and_ends_nothing() {
    let home = scene(1);
    let mine = read_file(home.path(), &home.path().join("mine.json"));
    let path = home.path().join("damaged.parquet");
    let placed = || -> Result<Placed, String> {
        let program = Path::new(env!("CARGO_BIN_EXE_flashlag"));
        let began = Instant::now();
        let columns = Columns::start(&path, program, &[READER.into()]);
        let placed = columns.and_then(|mut columns| place(&mine, &mut columns));
        assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
        placed.map_err(|error| error.to_string())
    };
    let whole = std::fs::read(home.path().join("results.parquet")).unwrap();
    std::fs::write(&path, &whole).unwrap();
    let right = placed().unwrap();
    assert_eq!(right.runs, 1);
    for end in (0..whole.len()).step_by(29 * STEP) {
        std::fs::write(&path, &whole[..end]).unwrap();
        let said = placed().unwrap_err();
        assert!(said.contains("as a table in Parquet: it is "), "{end}: {said}");
    }
    let (mut same, mut other, mut refused, mut ended) = (0, 0, 0, 0);
    for at in (0..whole.len()).step_by(STEP) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bytes).unwrap();
        match placed() {
            Ok(placed) if placed == right => same += 1,
            Ok(_) => other += 1,
            Err(said) => {
                assert!(said.contains("damaged.parquet") && said.contains("store query"), "{said}");
                refused += 1;
                ended += usize::from(said.contains("needs more than 1 GiB of memory"));
            }
        }
    }
    let count = format!("{same} same, {other} other, {refused} refused, {ended} of them ended");
    println!("{count}");
    assert!(same > 100 && refused > 100 && ended > 0, "{count}");
}
