//! What the table says is what a run of the point says.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_runner::{Event, Observer, Request, Target};
use flashlag_schema::{Run, StoredHistogram};
use flashlag_spec::scenario::Scenario;
use flashlag_stats::{Histogram, Percentile};
use flashlag_sweep::{Finished, Grid, Sweep, SweepOptions, run};
use flashlag_units::Nanos;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

type Cells = BTreeMap<String, Field>;

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

fn swept(text: &str, output: &Path) -> (Finished, Vec<Cells>) {
    let grid = Grid::parse(text).unwrap();
    let sweep = Sweep::open(grid, output, SweepOptions::default()).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let finished = run(sweep, 2, &stop, &mut |_, _| ()).unwrap();
    let reader = SerializedFileReader::new(File::open(output).unwrap()).unwrap();
    let cells = |row: Row| row.into_columns().into_iter().collect();
    (finished, reader.get_row_iter(None).unwrap().map(|row| cells(row.unwrap())).collect())
}

fn text(row: &Cells, name: &str) -> String {
    match &row[name] {
        Field::Str(text) => text.clone(),
        Field::Null => String::new(),
        other => panic!("{name}: {other}"),
    }
}

fn whole(row: &Cells, name: &str) -> Option<u64> {
    match &row[name] {
        Field::ULong(value) => Some(*value),
        Field::Null => None,
        other => panic!("{name}: {other}"),
    }
}

fn number(row: &Cells, name: &str) -> f64 {
    match &row[name] {
        Field::Double(value) => *value,
        other => panic!("{name}: {other}"),
    }
}

fn list(row: &Cells, name: &str) -> Vec<u64> {
    match &row[name] {
        Field::ListInternal(list) => list
            .elements()
            .iter()
            .map(|field| match field {
                Field::ULong(value) => *value,
                other => panic!("{name}: {other}"),
            })
            .collect(),
        other => panic!("{name}: {other}"),
    }
}

fn histogram(row: &Cells) -> Histogram {
    let exact = ["min_ns", "max_ns", "sum_ns"].map(|name| Nanos(whole(row, name).unwrap()));
    let stored = StoredHistogram {
        grouping_power: 6,
        index: list(row, "bucket").into_iter().map(|index| index as u32).collect(),
        count: list(row, "count"),
        min_ns: exact[0],
        max_ns: exact[1],
        sum_ns: exact[2],
    };
    stored.restore().unwrap()
}

/// The whole run of a row's command, by the runner itself.
fn repeated(command: &str) -> Run {
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[..2], ["flashlag", "run"]);
    let after = |option: &str| {
        let places = words.iter().enumerate().filter(move |(_, word)| **word == option);
        places.map(|(place, _)| words[place + 1]).collect::<Vec<_>>()
    };
    let pair = |text: &&str| {
        let (key, value) = text.split_once('=').unwrap();
        (key.to_owned(), value.to_owned())
    };
    let pairs = |option: &str| after(option).iter().map(pair).collect::<Vec<_>>();
    let builtin = flashlag_runner::builtin(words[2]).unwrap();
    let scenario = Scenario::parse(builtin.text(), &pairs("--set")).unwrap();
    let target = Target::parse(after("--on")[0]).unwrap();
    let target = target.with_parameters(&pairs("--parameter")).unwrap();
    let leave = after("--leave").first().map(|leave| leave.parse().unwrap());
    let seed = after("--seed")[0].parse().unwrap();
    flashlag_runner::run(Request { leave, ..Request::new(scenario, target, seed) }, &mut Silent)
        .unwrap()
}

#[test]
fn the_row_of_a_point_has_the_figures_that_its_command_gives_and_its_histogram_gives_them_again() {
    let folder = tempfile::tempdir().unwrap();
    let (finished, rows) = swept(
        "profile = [\"nexus5-2013\", \"pixel-2016\"]\nfilesystem = [\"ext4\", \"f2fs\"]\n\
         options = [\"\", \"nobarrier\"]\nsize = \"512MiB\"\nage = \"3mo\"\nfull = [0, \"80%\"]\n\
         seed = 5\n[parameters]\n\"nand.program\" = \"700us\"\n[set]\nsaves = 200\n",
        &folder.path().join("table.parquet"),
    );
    assert_eq!((finished.points, finished.failed, finished.skipped), (16, 0, 0));
    // Five tests, and of filled devices the fill.
    assert_eq!(finished.rows, 16 * 5 + 8);
    assert_eq!(rows.len() as u64, finished.rows);
    let mut run: Option<(String, Run)> = None;
    for row in &rows {
        let command = text(row, "command");
        if run.as_ref().is_none_or(|(of, _)| *of != command) {
            run = Some((command.clone(), repeated(&command)));
        }
        let run = &run.as_ref().unwrap().1;
        let (name, state) = (text(row, "phase"), text(row, "state"));
        let phase = run.phases.iter().find(|phase| phase.name == name).unwrap();
        assert_eq!(phase.state.name(), state, "{command}");
        let said = [whole(row, "ops"), whole(row, "bytes"), whole(row, "elapsed_ns")];
        let is = [phase.ops, phase.bytes.0, phase.elapsed_ns.0].map(Some);
        assert_eq!(said, is, "{name} of {command}");
        assert_eq!(number(row, "ops_per_sec").to_bits(), phase.ops_per_sec.to_bits());
        assert_eq!(number(row, "bytes_per_sec").to_bits(), phase.bytes_per_sec.to_bits());
        let histogram = histogram(row);
        assert_eq!(StoredHistogram::from(&histogram), phase.histogram, "{name} of {command}");
        assert_eq!(histogram.count(), phase.ops);
        for (column, percentile) in
            [("p50_ns", Percentile::P50), ("p90_ns", Percentile::P90), ("p99_ns", Percentile::P99)]
        {
            let again = histogram.percentile(percentile).map(|time| time.0);
            assert_eq!(whole(row, column), again, "{column} of {name} of {command}");
        }
    }
    let full: Vec<f64> = rows.iter().map(|row| number(row, "full")).collect();
    assert!(full.iter().all(|full| [0.0, 0.8].contains(full)));
}

#[test]
fn a_filled_device_has_the_share_in_use_that_the_grid_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let (_, rows) = swept(
        "profile = \"nexus5-2013\"\nfilesystem = \"ext4\"\nsize = \"512MiB\"\nfull = 0.75\n",
        &folder.path().join("table.parquet"),
    );
    let run = repeated(&text(&rows[0], "command"));
    let free = flashlag_runner::sim::room(
        &flashlag_runner::SimTarget::parse("sim:nexus5-2013+ext4,size=512MiB").unwrap().profile,
        &flashlag_runner::SimTarget::parse("sim:nexus5-2013+ext4,size=512MiB").unwrap().mount,
    )
    .unwrap();
    let fill = run.phases.iter().find(|phase| phase.name == "fill_1m").unwrap();
    let in_use = fill.intervals.last().unwrap().filled_bytes.unwrap();
    let total = run.environment.filesystem.total_bytes.value().unwrap();
    let used = (in_use.0 - (total.0 - free.0)) as f64 / free.0 as f64;
    assert!((used - 0.75).abs() < 0.01, "{used}");
}

#[test]
fn a_point_that_fails_is_a_row_that_says_why_and_the_others_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (finished, rows) = swept(
        "profile = \"nexus5-2013\"\nfilesystem = [\"ext4\", \"f2fs\", \"raw\"]\n\
         options = [\"\", \"atomic\"]\nsize = [\"512MiB\", \"1MiB\"]\n[set]\nsaves = 20\n",
        &folder.path().join("table.parquet"),
    );
    assert_eq!(finished.points, 12);
    let failed: Vec<&Cells> = rows.iter().filter(|row| text(row, "outcome") == "failed").collect();
    let skipped: Vec<&Cells> =
        rows.iter().filter(|row| text(row, "outcome") == "skipped").collect();
    assert_eq!((finished.failed, finished.skipped), (failed.len() as u64, skipped.len() as u64));
    for row in &failed {
        assert!(!text(row, "error").is_empty() && whole(row, "ops").is_none(), "{row:?}");
    }
    let says =
        |needle: &str| failed.iter().filter(|row| text(row, "error").contains(needle)).count();
    assert!(says("MiB at least") >= 3, "too small: {failed:?}");
    assert!(says("atomic") >= 2, "no option of ext4: {failed:?}");
    assert!(skipped.iter().all(|row| text(row, "phase").contains("save")), "{skipped:?}");
    let measured = rows.iter().filter(|row| text(row, "outcome") == "done").count();
    assert!(measured >= 3 * 4, "{measured}");
    let mut points: Vec<u64> = rows.iter().map(|row| whole(row, "index").unwrap()).collect();
    points.dedup();
    assert_eq!(points, (0..12).collect::<Vec<_>>(), "every point has a row");
}
