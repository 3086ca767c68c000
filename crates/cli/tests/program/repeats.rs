//! `run --runs N`, labels, and the forms of a comparison, through the command line.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// The saves of `quick` alone would do: fewer tests, less time.
const TINY: &str = r#"
name = "tiny"

[[io]]
name = "rand_write_4k"
operation = "write"
pattern = "random"
block = "4KiB"
span = "4MB"
bytes = "1200KB"
time = "4s"
min_ops = 100
durable = "fdatasync"

[[save]]
name = "save_{journal}"
journal = ["wal", "delete"]
rows = 50
saves = 150
time = "4s"
min_saves = 100

[[step]]
measure = ["rand_write_4k", "save_wal", "save_delete"]
"#;

fn flashlag(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.env("LC_ALL", "C.UTF-8").current_dir(home).args(arguments).output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("tiny.toml"), TINY).unwrap();
    home
}

fn run(home: &Path, device: &str, more: &[&str]) -> Output {
    let on = format!("sim:{device}");
    flashlag(home, &[&["run", "tiny.toml", "--on", &on], more].concat())
}

fn rates(home: &Path, files: &[&str], test: &str) -> Vec<f64> {
    let rate = |file: &&str| {
        let text = fs::read_to_string(home.join(file)).unwrap();
        let run: serde_json::Value = serde_json::from_str(&text).unwrap();
        let phases = run["phases"].as_array().unwrap();
        let phase = phases.iter().find(|phase| phase["name"] == test).unwrap();
        phase["ops_per_sec"].as_f64().unwrap()
    };
    files.iter().map(rate).collect()
}

#[test]
fn three_runs_are_three_files_that_verify_with_seeds_of_their_own_and_a_mean_with_its_spread() {
    let home = home();
    let done = run(home.path(), "sd-a1", &["--runs", "3", "-o", "card.json", "--label", "Card A"]);
    let said = words(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{said} {}", words(&done.stderr));
    let files = ["card-1.json", "card-2.json", "card-3.json"];
    assert_eq!(flashlag(home.path(), &[&["verify"], &files[..]].concat()).status.code(), Some(0));
    for (file, seed) in files.iter().zip(1..) {
        let text = fs::read_to_string(home.path().join(file)).unwrap();
        let run: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&run["scenario"]["seed"], &run["label"]), (&seed.into(), &"Card A".into()));
    }
    // By hand: the mean of the three rates and the deviation of a sample.
    let rates = rates(home.path(), &files, "save_wal");
    let mean = rates.iter().sum::<f64>() / 3.0;
    let square: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    let print = flashlag_views::format::per_second;
    // As many decimals as the mean has, which is above ten.
    let wanted = match format!("{:.0}", (square / 2.0).sqrt()).as_str() {
        "0" => print(mean),
        deviation => format!("{} ± {deviation}", print(mean)),
    };
    assert!(said.contains(&format!("WAL save, saves/s {wanted}")), "{wanted}: {said}");
    assert!(said.contains("in all of 3 runs, by Rollback save."), "{said}");
    let summary =
        words(&flashlag(home.path(), &["report", "card-1.json", "--format", "text"]).stdout);
    assert!(summary.contains("Simulated Card A: "), "{summary}");
    // The same command again would overwrite, and says so before it measures.
    let again = run(home.path(), "sd-a1", &["--runs", "3", "-o", "card.json"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(words(&again.stderr).contains("card-1.json"), "{}", words(&again.stderr));
}

#[test]
fn repeats_against_repeats_have_one_line_that_says_who_is_faster_in_every_form() {
    let home = home();
    for (device, name) in [("moto-z-2016", "a.json"), ("nexus5-2013", "b.json")] {
        let done = run(home.path(), device, &["--runs", "3", "-o", name]);
        assert!(matches!(done.status.code(), Some(0 | 3)), "{}", words(&done.stderr));
    }
    let a = ["a-1.json", "a-2.json", "a-3.json"];
    let sides = ["compare", "a-1.json", "a-2.json", "a-3.json", "--against"];
    let sides = [&sides[..], &["b-1.json", "b-2.json", "b-3.json"]].concat();
    let text = flashlag(home.path(), &sides);
    let said = words(&text.stdout);
    let mean = |files: &[&str]| {
        let logs =
            rates(home.path(), files, "rand_write_4k").iter().map(|rate| rate.ln()).sum::<f64>();
        logs / 3.0
    };
    let times = (mean(&a) - mean(&["b-1.json", "b-2.json", "b-3.json"])).exp();
    assert!(said.starts_with("Moto Z's durable writes are "), "{said}");
    let printed: f64 =
        said.split_whitespace().nth(5).unwrap().trim_end_matches('×').parse().unwrap();
    assert!((printed / times - 1.0).abs() < 0.01, "{printed} is not {times}: {said}");
    assert!(!said.contains("One run each"), "{said}");
    let form =
        |form: &str| flashlag(home.path(), &[&sides[..], &["--format", form]].concat()).stdout;
    let json: serde_json::Value = serde_json::from_slice(&form("json")).unwrap();
    assert_eq!(json["schema"], "flashlag.comparison/1");
    let csv = String::from_utf8(form("csv")).unwrap();
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().count() == 7 && csv.contains("Moto Z") && columns == 30, "{csv}");
    let markdown = String::from_utf8(form("markdown")).unwrap();
    assert!(markdown.starts_with("# Moto Z's durable writes are "), "{markdown}");
    let page = [&sides[..], &["-o", "both.html"]].concat();
    assert_eq!(flashlag(home.path(), &page).status.code(), Some(0));
    assert!(fs::read_to_string(home.path().join("both.html")).unwrap().contains("Moto Z"));
}

#[test]
fn the_same_seed_on_both_sides_is_one_run() {
    let home = home();
    for name in ["a.json", "b.json"] {
        let done = run(home.path(), "zero", &["-o", name]);
        assert_eq!(done.status.code(), Some(0), "{}", words(&done.stderr));
    }
    let refused = flashlag(home.path(), &["compare", "a.json", "b.json"]);
    let said = words(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("run 1 (a) and run 2 (b) are the same run"), "{said}");
    let other = run(home.path(), "zero", &["-o", "c.json", "--seed", "9"]);
    assert_eq!(other.status.code(), Some(0), "{}", words(&other.stderr));
    let seeds = flashlag(home.path(), &["compare", "a.json", "c.json"]);
    assert_eq!(seeds.status.code(), Some(0), "{}", words(&seeds.stderr));
}

#[test]
fn an_unfinished_series_is_gone_on_with() {
    let home = home();
    let first = run(home.path(), "zero", &["-o", "s-1.json"]);
    assert_eq!(first.status.code(), Some(0), "{}", words(&first.stderr));
    let kept = fs::read(home.path().join("s-1.json")).unwrap();
    let rest = run(home.path(), "zero", &["--runs", "2", "-o", "s.json", "--resume"]);
    assert_eq!(rest.status.code(), Some(0), "{}", words(&rest.stderr));
    assert_eq!(fs::read(home.path().join("s-1.json")).unwrap(), kept);
    assert!(home.path().join("s-2.json").exists());
    assert!(words(&rest.stdout).contains("in all of 2 runs"), "{}", words(&rest.stdout));
}

#[test]
fn the_worst_of_the_runs_decides_the_exit_status() {
    let home = home();
    let limit = ["--runs", "2", "-o", "w.json", "--fail-if", "save_wal.p50>1ns"];
    let crossed = run(home.path(), "zero", &limit);
    assert_eq!(crossed.status.code(), Some(1), "{}", words(&crossed.stderr));
    assert!(home.path().join("w-2.json").exists());
}
