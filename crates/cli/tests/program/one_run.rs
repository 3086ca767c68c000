//! What one simulated run prints, before, during and after.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::process::Command;

use flashlag_schema::Run;

/// Standard output and standard error at this width.
fn said(folder: &Path, width: usize, arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_flashlag"))
        .args(arguments)
        .current_dir(folder)
        .env("COLUMNS", width.to_string())
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

fn simulated(folder: &Path, scenario: &str, more: &[&str]) -> (String, String) {
    let mut words = vec!["run", scenario, "--on", "sim:nexus7-2012", "-o", "run.json"];
    words.extend(more);
    said(folder, 80, &words)
}

#[test]
fn quick_fits_45_lines_and_a_lifecycle_70_and_quiet_is_a_paragraph_and_the_paths() {
    for (scenario, most) in [("quick", 45), ("lifecycle", 70)] {
        let folder = tempfile::tempdir().unwrap();
        let (stdout, _) = simulated(folder.path(), scenario, &[]);
        assert!(stdout.lines().count() <= most, "{} lines\n{stdout}", stdout.lines().count());
        let lags = stdout.lines().position(|line| line.starts_with("What to do")).unwrap();
        assert!(lags < 24, "not on the first screen:\n{stdout}");
        for width in [60, 80, 120] {
            let (text, _) = said(folder.path(), width, &["report", "run.json"]);
            let most = if width < 80 { most * 4 / 3 } else { most };
            assert!(text.lines().count() <= most, "{}\n{text}", text.lines().count());
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            for name in ["rand_write_4k", "fill_seq_1m", "save_delete", "`"] {
                assert!(!text.contains(name), "{name}\n{text}");
            }
        }
        let (quiet, _) = said(folder.path(), 80, &["-q", "report", "run.json"]);
        assert!(quiet.lines().count() <= 10 && !quiet.contains("\n\n"), "{quiet}");
    }
}

#[test]
fn the_levels_that_a_simulated_fill_prints_are_those_of_its_run_file_whatever_the_clock() {
    let logs: Vec<String> = (0..2)
        .map(|_| {
            let folder = tempfile::tempdir().unwrap();
            let (_, log) = simulated(folder.path(), "lifecycle", &["--set", "time=1s"]);
            let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
            let run = Run::from_json(&text).unwrap();
            let levels = &flashlag_views::fill_curves(&run)[0].levels;
            let printed = log.lines().filter(|line| line.starts_with("up to ")).count();
            assert_eq!(printed, levels.len(), "{log}");
            for level in levels {
                let full = flashlag_views::format::share(level.full);
                let writes = flashlag_views::format::count(level.figures.n);
                let line = format!("up to {full} full: {writes} writes, ");
                assert!(log.contains(&line), "{line}\n{log}");
            }
            // How long it took in real time is the clock's.
            log.lines().filter(|line| !line.starts_with("Took ")).collect::<Vec<_>>().join("\n")
        })
        .collect();
    assert_eq!(logs[0], logs[1]);
}

#[test]
fn a_state_that_was_not_reached_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let (stdout, log) = simulated(folder.path(), "lifecycle", &["--set", "time=1s"]);
    assert_eq!(log.matches("no idle wait").count(), 1, "{log}");
    assert_eq!(stdout.matches("no idle wait").count(), 1, "{stdout}");
}
