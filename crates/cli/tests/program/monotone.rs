//! Forecasts are monotone where physics is: fuller, older or with less spare area, a device is never
//! faster. Every profile, on the filesystems and options that it can have.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A profile, the size at which it is simulated, and a large and a small spare area of that size.
const DEVICES: [(&str, &str, [&str; 2]); 11] = [
    ("nexus5-2013", "2GiB", ["200MB", "20MB"]),
    ("nexus7-2012", "6GiB", ["100MB", "10MB"]),
    ("moto-x-2013", "3GiB", ["200MB", "10MB"]),
    ("moto-x-2013-sandisk", "6GiB", ["200MB", "15MB"]),
    ("moto-z-2016", "2GiB", ["400MB", "100MB"]),
    ("pixel-2016", "2GiB", ["400MB", "100MB"]),
    ("nexus6-2014", "2GiB", ["300MB", "30MB"]),
    ("sd-a1", "3GiB", ["400MB", "150MB"]),
    ("sd-c10", "2GiB", ["200MB", "80MB"]),
    ("ufs21-phone", "8GiB", ["2GB", "700MB"]),
    ("ufs31-phone", "24GiB", ["5GB", "2GB"]),
];

const MOUNTS: [&str; 7] = [
    "ext4",
    "f2fs,nobarrier",
    "ext4,nobarrier",
    "f2fs,encrypt",
    "ext4,discard",
    "f2fs,noipu",
    "ext4,encrypt,fuse",
];

/// What seeds scatter by, in rates that are the mean of tens of thousands of writes.
const SPREAD: f64 = 0.06;
/// Seeds of the first look, and of the second at what the first found: saves are fewer than writes, and scatter
/// by more with one seed.
const SEEDS: [u32; 2] = [1, 4];

/// MB/s of durable writes after a rest, the same without one, and saves a second, of each line.
fn rates(device: &str, changes: &str, seeds: u32) -> Vec<(String, Vec<f64>)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let arguments = ["-q", "predict", device, "--daily", "400MB", "--change", changes];
    let output = command.args(arguments).args(["--seeds", &seeds.to_string()]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{device} {changes}: {errors}");
    // A table of durable writes, and one of saves: a line for each change after the first line.
    let tables: Vec<Vec<&str>> = said
        .split("as it is")
        .skip(1)
        .map(|rest| rest.lines().skip(1).take(changes.split(',').count()).collect())
        .collect();
    let [writes, saves] = tables.as_slice() else { panic!("{said}") };
    let both = writes.iter().zip(saves).map(|(writes, saves)| {
        let figures = [numbers(writes, 2), numbers(saves, 1)].concat();
        (format!("{writes}; {saves}"), figures)
    });
    both.collect()
}

/// The first figures after p50, mean and p99, which have units.
fn numbers(line: &str, count: usize) -> Vec<f64> {
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let last_unit = words.iter().rposition(|word| ["ns", "µs", "ms", "s"].contains(word));
    let from = last_unit.map_or(0, |unit| unit + 1);
    // What seeds scatter by is behind a figure.
    let figures = words[from..].iter().filter(|word| !word.starts_with('±'));
    figures.take(count).map(|word| word.parse().unwrap()).collect()
}

/// What is compared of a device.
#[derive(Clone, Copy)]
enum Compared {
    /// Fuller, and with less spare area.
    Fuller,
    /// Older, with the maintenance of idle times and without.
    Older,
}

/// What is wrong with one device on one mount, a line each.
fn wrongs(
    (profile, size, [more, less]): (&str, &str, [&str; 2]),
    mount: &str,
    compared: Compared,
    seeds: u32,
) -> Vec<String> {
    let device = format!("{profile}+{mount},size={size}");
    // Each pair of lines: the second is not faster than the first.
    let (changes, pairs) = match compared {
        Compared::Fuller => {
            (format!("full=40%,full=90%,spare={more},spare={less}"), [[0, 1], [2, 3]])
        }
        // Maintenance gives back some of what the days took, and never takes more.
        Compared::Older => ("full=80%,age=3d,idle_maintenance=on".to_owned(), [[0, 1], [2, 1]]),
    };
    let lines = rates(&device, &changes, seeds);
    let mut wrong = Vec::new();
    for [was, is] in pairs {
        let (was, is) = (&lines[was], &lines[is]);
        assert_eq!((was.1.len(), is.1.len()), (3, 3), "{device}: {was:?} {is:?}");
        for ((was, is), what) in was.1.iter().zip(&is.1).zip(["MB/s", "sustained", "saves/s"]) {
            if *is > was * (1.0 + SPREAD) {
                wrong.push(format!("{device}: {changes}: {what} {was} to {is}"));
            }
        }
    }
    wrong
}

fn hold(cases: &[(usize, usize)]) {
    let both = [Compared::Fuller, Compared::Older];
    let cases: Vec<_> =
        cases.iter().flat_map(|case| both.map(|compared| (*case, compared))).collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(((device, mount), compared)) =
                    cases.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let look = |seeds| wrongs(DEVICES[*device], MOUNTS[*mount], *compared, seeds);
                    let mut found = look(SEEDS[0]);
                    if !found.is_empty() {
                        found = look(SEEDS[1]);
                    }
                    wrong.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "faster though fuller, older or with less spare: {wrong:#?}");
}

#[test]
fn a_device_is_never_faster_for_being_fuller_older_or_with_less_spare_area() {
    let each: Vec<(usize, usize)> =
        (0..DEVICES.len()).map(|device| (device, device % MOUNTS.len())).collect();
    hold(&each);
}

/// Forecasts of zoned storage are refused, since its state is its filesystem's: here it is filled.
#[test]
fn zoned_storage_is_never_faster_for_being_fuller() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.args(["-q", "run", "lifecycle", "--on", "sim:zufs40-phone+f2fs,size=8GiB", "-o"]);
    command.arg(&file).args(["--set", "limit=20MB", "--set", "span=64MB", "--set", "time=5s"]);
    let output = command.output().unwrap();
    assert!(file.is_file(), "{}", String::from_utf8_lossy(&output.stderr));
    let run: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let phases = run["phases"].as_array().unwrap();
    let rate = |phase: &serde_json::Value| phase["bytes_per_sec"].as_f64().unwrap();
    let mut compared = 0;
    for phase in phases.iter().filter(|phase| phase["state"] == "filled") {
        let same = |new: &&serde_json::Value| new["state"] == "new" && new["name"] == phase["name"];
        let Some(new) = phases.iter().find(same) else { continue };
        assert!(rate(phase) < rate(new) * (1.0 + SPREAD), "{phase} {new}");
        compared += 1;
    }
    assert_eq!(compared, 12, "four tests, three times");
}

/// All 77 pairs: `make monotone`, minutes of a release build.
#[test]
#[ignore = "minutes: make monotone"]
fn no_device_is_faster_on_any_mount_for_being_fuller_older_or_with_less_spare_area() {
    let pairs =
        (0..DEVICES.len()).flat_map(|device| (0..MOUNTS.len()).map(move |mount| (device, mount)));
    hold(&pairs.collect::<Vec<_>>());
}
