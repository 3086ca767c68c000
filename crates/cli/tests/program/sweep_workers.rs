//! Sweeps in worker processes: what kills a worker costs its point at most, and no process stays behind.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flashlag_sweep::{Grid, Sweep, SweepError, SweepOptions, WORKER, Workers, run};
use rustix::process::{Pid, Signal, kill_process};

const GRID: &str = "profile = [\"nexus5-2013\", \"pixel-2016\"]\nfilesystem = [\"ext4\", \"f2fs\"]\n\
    size = \"512MiB\"\nfull = [0, \"50%\"]\nseed = { from = 1, count = 3 }\n[set]\nsaves = 50\n";

fn flashlag() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_flashlag"))
}

fn open(grid: &str, output: &Path, chunk: u64) -> Sweep {
    let options = SweepOptions { chunk: Some(chunk), ..SweepOptions::default() };
    Sweep::open(Grid::parse(grid).unwrap(), output, options).unwrap()
}

fn by_threads(grid: &str, folder: &Path) -> Vec<u8> {
    let output = folder.join("threads.parquet");
    run(open(grid, &output, 50), 2, &Arc::new(AtomicBool::new(false)), &mut |_, _| ()).unwrap();
    fs::read(output).unwrap()
}

/// The workers that are children of a process.
fn workers_of(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_worker = |pid: &u32| {
        let read =
            |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let stat = read("stat");
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        // A zombie has ended.
        fields.first() != Some(&"Z")
            && fields.get(1) == Some(&parent.to_string().as_str())
            && read("cmdline").contains(WORKER)
    };
    numbers.filter(is_worker).collect()
}

fn kill(pid: u32, signal: Signal) {
    // It may have ended by itself.
    let _ = Pid::from_raw(i32::try_from(pid).unwrap()).map(|pid| kill_process(pid, signal));
}

fn is_there(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// Waits until something holds.
fn until(what: &str, holds: &mut dyn FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited a minute for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// SplitMix64: the times of the kills.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) % bound
    }
}

/// Deaths of workers that a test waits for.
const DEATHS: u32 = 12;

#[test]
fn workers_killed_at_any_time_change_no_byte_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let expected = by_threads(GRID, folder.path());
    let mut deaths = 0;
    for seed in 1..=40 {
        let output = folder.path().join(format!("{seed}.parquet"));
        // Each point is tried until it succeeds: that a point is given up is another test's matter.
        let workers = Workers::new(flashlag(), vec![WORKER.into()], 2).with_tries(u32::MAX);
        let ended = AtomicBool::new(false);
        let killed = std::thread::scope(|scope| {
            let killer = scope.spawn(|| {
                let (mut draw, mut killed) = (Draw(seed), 0);
                while !ended.load(Ordering::Relaxed) && killed < 12 {
                    std::thread::sleep(Duration::from_millis(10 + draw.below(100)));
                    let those = workers_of(std::process::id());
                    let chosen = draw.below(those.len().max(1) as u64) as usize;
                    if let Some(pid) = those.get(chosen) {
                        kill(*pid, Signal::KILL);
                        killed += 1;
                    }
                }
                killed
            });
            let stop = Arc::new(AtomicBool::new(false));
            workers.run(open(GRID, &output, 4), &stop, &mut |_, _| ()).unwrap();
            ended.store(true, Ordering::Relaxed);
            killer.join().unwrap()
        });
        assert!(fs::read(&output).unwrap() == expected, "seed {seed}: other bytes");
        // How many deaths a sweep has room for depends on the machine.
        deaths += killed;
        if deaths >= DEATHS {
            return;
        }
    }
    panic!("only {deaths} workers were killed in 40 sweeps");
}

/// The program, with so much memory for each process.
fn limited(folder: &Path, arguments: &str, kib: u64) -> Output {
    let line = format!("ulimit -v {kib} && exec '{}' {arguments}", flashlag().display());
    Command::new("sh").args(["-c", &line]).current_dir(folder).output().unwrap()
}

/// The rows of a table, as text.
fn rows(table: &Path) -> Vec<std::collections::BTreeMap<String, String>> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let reader = SerializedFileReader::new(fs::File::open(table).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns());
    rows.map(|row| row.into_iter().map(|(name, cell)| (name, cell.to_string())).collect()).collect()
}

/// The command of a point on 8 TiB, as of one that can be measured.
fn command_of_large(row: &std::collections::BTreeMap<String, String>) -> String {
    let target = format!("sim:nexus5-2013+{},size=8TiB", row["filesystem"].trim_matches('"'));
    let seed = &row["seed"];
    let run = format!("flashlag run micro --on {target} --set saves=20");
    if row["full"].parse::<f64>().unwrap() == 0.0 {
        return format!("{run} --seed {seed}");
    }
    let device = flashlag_runner::SimTarget::parse(&target).unwrap();
    let room = flashlag_runner::sim::room(&device.profile, &device.mount).unwrap();
    format!("{run} --set filled=true --seed {seed} --leave {}B", room.0 - room.0 / 2)
}

#[test]
fn a_point_that_always_ends_its_process_is_a_row_that_says_why_and_all_others_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let grid = |sizes: &str| {
        format!(
            "profile = \"nexus5-2013\"\nfilesystem = [\"ext4\", \"f2fs\"]\nsize = {sizes}\nfull = [0, \"50%\"]\n\
             seed = {{ from = 1, count = 2 }}\n[set]\nsaves = 20\n"
        )
    };
    fs::write(folder.path().join("grid.toml"), grid("[\"512MiB\", \"8TiB\", \"256MiB\"]")).unwrap();
    // The map of 8 TiB is larger than the memory that there is.
    let output = limited(folder.path(), "sweep grid.toml -o table.parquet --threads 2", 1 << 20);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("its process was ended 3 times"), "{said}");
    let rows = rows(&folder.path().join("table.parquet"));
    let (large, others): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| row["size"].contains("8TiB"));
    assert_eq!(large.len(), 8, "{large:?}");
    for row in &large {
        assert!(row["outcome"].contains("failed"), "{row:?}");
        let error = &row["error"];
        assert!(error.contains("signal 6 (SIGABRT): memory allocation of"), "{error}");
        assert_eq!(row["command"].trim_matches('"'), command_of_large(row), "{row:?}");
    }
    assert!(others.iter().all(|row| row["outcome"].contains("done")));
    let expected = by_threads(&grid("[\"512MiB\", \"256MiB\"]"), folder.path());
    fs::write(folder.path().join("expected.parquet"), expected).unwrap();
    let figures = |rows: Vec<std::collections::BTreeMap<String, String>>| {
        let rows = rows.into_iter().map(|mut row| {
            row.remove("index");
            row
        });
        rows.collect::<Vec<_>>()
    };
    let expected = figures(self::rows(&folder.path().join("expected.parquet")));
    assert_eq!(figures(others), expected);
}

/// A sweep that takes long, two of whose workers run.
fn long(folder: &Path) -> (Child, Vec<u32>) {
    let grid = GRID.replace("count = 3", "count = 3000");
    fs::write(folder.join("grid.toml"), grid).unwrap();
    let mut command = Command::new(flashlag());
    command.args(["sweep", "grid.toml", "-o", "table.parquet", "--threads", "2"]);
    let child = command.current_dir(folder).stderr(Stdio::piped()).spawn().unwrap();
    let mut workers = Vec::new();
    until("two workers", &mut || {
        workers = workers_of(child.id());
        workers.len() == 2
    });
    (child, workers)
}

#[test]
fn a_sweep_that_is_stopped_or_killed_leaves_no_process_behind() {
    for (signal, status) in
        [(Signal::INT, Some(130)), (Signal::TERM, Some(143)), (Signal::KILL, None)]
    {
        let folder = tempfile::tempdir().unwrap();
        let (child, workers) = long(folder.path());
        std::thread::sleep(Duration::from_millis(300));
        kill(child.id(), signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), status);
        if status.is_some() {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("the same command measures"), "{said}");
            assert!(workers.iter().all(|pid| !is_there(*pid)), "{signal:?}");
        }
        until("the workers' end", &mut || workers.iter().all(|pid| !is_there(*pid)));
    }
}

#[test]
fn a_journal_that_the_disk_refuses_ends_with_how_to_go_on_and_the_same_command_does() {
    let folder = tempfile::tempdir().unwrap();
    let grid = GRID.replace("count = 3", "count = 30");
    fs::write(folder.path().join("grid.toml"), &grid).unwrap();
    // Files of 160 KiB at most, which two or more of five chunks fit into: as a disk that is full from there on.
    let sweep = format!("'{}' sweep grid.toml -o table.parquet --threads 2", flashlag().display());
    let shell = |line: &str| {
        Command::new("bash").args(["-c", line]).current_dir(folder.path()).output().unwrap()
    };
    let output = shell(&format!("ulimit -f 160 && exec {sweep}"));
    let said =
        String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!output.status.success());
    assert!(said.contains("table.parquet.journal") && said.contains("File too large"), "{said}");
    assert!(said.contains("of 240 points are measured and kept"), "{said}");
    assert!(said.contains("the same command measures"), "{said}");
    let output = shell(&sweep);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("Continues: "), "{said}");
    let table = fs::read(folder.path().join("table.parquet")).unwrap();
    assert!(table == by_threads(&grid, folder.path()));
}

#[test]
fn a_program_that_is_no_worker_ends_the_sweep_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    for (program, says) in [("/bin/false", "ends before it begins"), ("/no/such", "cannot start")] {
        let output = folder.path().join("table.parquet");
        let workers = Workers::new(program.into(), Vec::new(), 2);
        let error = workers.run(open(GRID, &output, 4), &stop, &mut |_, _| ()).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(!output.exists());
    }
}

#[test]
fn a_sweep_that_is_stopped_while_its_workers_start_says_stopped_and_blames_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("table.parquet");
    // A program that waits for tasks and never reports its version is one that still starts.
    let workers = Workers::new("/bin/cat".into(), Vec::new(), 2);
    let stop = Arc::new(AtomicBool::new(false));
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
        });
        workers.run(open(GRID, &output, 4), &stop, &mut |_, _| ()).unwrap_err()
    });
    assert!(matches!(error, SweepError::Stopped { .. }), "{error}");
}
