//! What a tired person types: each wrong word gets the command that was meant.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// The exit status, standard output and standard error, as one line each.
fn said(folder: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(words).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn refused(folder: &Path, words: &[&str], why: &str) {
    let (status, _, error) = said(folder, words);
    assert!(status != 0 && error.contains(why), "{words:?}: {status} {error}");
}

fn simulated(folder: &Path) {
    let (status, _, error) = said(folder, &["run", "write", "--on", "sim:zero", "-o", "run.json"]);
    assert_eq!(status, 0, "{error}");
}

#[test]
fn a_directory_or_a_run_file_in_the_place_of_a_scenario_names_the_command_that_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("srv")).unwrap();
    simulated(folder.path());
    refused(folder.path(), &["run", "srv"], "to measure its storage, `flashlag run --on srv`");
    refused(folder.path(), &["run", "run.json"], "`flashlag explain run.json` says why it lagged");
}

#[test]
fn what_is_on_no_storage_has_no_set_up_to_explain() {
    let folder = tempfile::tempdir().unwrap();
    refused(folder.path(), &["explain", "/proc"], "/proc is on no storage");
    assert_eq!(said(folder.path(), &["explain", "."]).0, 0);
}

#[test]
fn whoever_shows_a_run_file_that_was_changed_is_warned_and_one_that_was_not_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    simulated(folder.path());
    let path = folder.path().join("run.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let seed =
        text.split("\"seed\": ").nth(1).unwrap().split(',').next().unwrap().trim().to_owned();
    let edited = text.replacen(&format!("\"seed\": {seed}"), "\"seed\": 12345", 1);
    assert_ne!(edited, text);
    std::fs::write(folder.path().join("edited.json"), edited).unwrap();
    let changed = "edited.json was changed since it was written";
    for words in [&["report", "edited.json"][..], &["explain", "edited.json", "--no-forecast"]] {
        let (_, _, error) = said(folder.path(), words);
        assert!(error.contains(changed), "{words:?}: {error}");
    }
    for words in [&["report", "run.json"][..], &["explain", "run.json", "--no-forecast"]] {
        let (status, _, error) = said(folder.path(), words);
        assert!(status == 0 && !error.contains("was changed"), "{words:?}: {error}");
    }
    let (_, _, error) = said(folder.path(), &["compare", "run.json", "edited.json", "--force"]);
    assert!(error.contains(changed) && !error.contains("run.json was"), "{error}");
}

#[test]
fn a_narrow_terminal_leaves_p99_out_of_a_forecast_and_cuts_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let table = |width: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.args(["predict", "sim:sd-a1+ext4", "--change", "fs=f2fs"]).env("COLUMNS", width);
        let output = command.current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_once("All tests, before and after:").unwrap().1.to_owned()
    };
    let narrow = table("80");
    let head = narrow.lines().nth(1).unwrap();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>().join(" "), "p50 after a second after");
    assert!(
        narrow.contains("256K seq read, MB/s") && narrow.contains("Left out for the width: p99")
    );
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    let wide = table("120");
    assert!(wide.contains("p99") && !wide.contains("Left out"), "{wide}");
}

#[test]
fn a_file_whose_ending_no_form_has_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    simulated(folder.path());
    let refusals = [
        (&["report", "run.json", "-o", "page.pdf"][..], "no form of a run ends in .pdf: use .html"),
        (
            &["watch", "report", "x", "-o", "page.pdf"],
            "no form of a history ends in .pdf: use .html",
        ),
        (
            &["compare", "run.json", "run.json", "-o", "page.pdf"],
            "no form of a comparison ends in .pdf",
        ),
        (&["report", "run.json", "-o", "page.svg"], "add --chart"),
    ];
    for (words, why) in refusals {
        refused(folder.path(), words, why);
    }
    assert!(!folder.path().join("page.pdf").exists());
    // A form that is named needs no ending, and a name without one is text.
    for words in [&["--format", "html", "-o", "page.pdf"][..], &["-o", "page"], &["-o", "page.txt"]]
    {
        let (status, _, error) = said(folder.path(), &[&["report", "run.json"], words].concat());
        assert_eq!(status, 0, "{words:?}: {error}");
    }
}

#[test]
fn an_option_of_another_command_is_named_with_its_command_and_no_dashes_are_advised() {
    let folder = tempfile::tempdir().unwrap();
    let probe = "`flashlag report` has no option --probe, which is one of `flashlag watch`";
    refused(folder.path(), &["report", "run.json", "--probe", "10s"], probe);
    let (status, _, error) = said(folder.path(), &["run", "--seed", "-1"]);
    assert!(status == 2 && !error.contains("-- -1"), "{error}");
}

#[test]
fn what_is_wrong_with_a_file_is_said_once_in_words_and_without_types_of_a_language() {
    let folder = tempfile::tempdir().unwrap();
    let save = |saves: &str| {
        format!(
            "name = \"x\"\n[[save]]\nname = \"s\"\nstatement = \"insert\"\n{saves}\n[[step]]\nmeasure = [\"s\"]\n"
        )
    };
    let base = "name = \"x\"\nabout = \"x\"\nbase = \"pixel-2016\"\n";
    let files = [
        ("negative.toml", save("saves = -1"), "expected a whole number, 0 or more"),
        ("text.toml", save("saves = \"ten\""), "expected a whole number, 0 or more"),
        ("syntax.toml", "x = = 3".to_owned(), "line 1: "),
        ("head.toml", "base = \"pixel-2016\"\n".to_owned(), "missing field `name`"),
        ("section.toml", format!("{base}[nand]\nprogram = -3\n"), ""),
    ];
    for (name, text, why) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
        for words in [&["run", name, "--on", "sim:zero"][..], &["profiles", "show", name]] {
            let (status, _, error) = said(folder.path(), words);
            assert_ne!(status, 0, "{words:?}");
            let parts: Vec<&str> = error.split(": ").collect();
            let repeated = parts.windows(2).find(|pair| pair[0].trim() == pair[1].trim());
            assert_eq!(repeated, None, "{words:?}: {error}");
            let types = ["u64", "u32", "i64", "f64", "usize"];
            assert!(
                types.iter().all(|word| !error.contains(&format!("expected {word}"))),
                "{error}"
            );
            let subject = if words[0] == "run" {
                ["negative.toml", "text.toml"]
            } else {
                ["syntax.toml", "head.toml"]
            };
            assert!(!subject.contains(&name) || error.contains(why), "{words:?}: {error}");
        }
    }
}
