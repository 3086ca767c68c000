//! The man pages say what `--help` says, and those of the file formats have every key of the references.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use flashlag_need::program;

const PROGRAM: &str = env!("CARGO_BIN_EXE_flashlag");

/// Of `--help`, and not of a page.
const HEADINGS: [&str; 5] = ["help", "commands", "options", "arguments", "possiblevalues"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn help(words: &[&str]) -> String {
    let output = Command::new(PROGRAM).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The page as the terminal shows it, on lines that are long enough for any text.
fn shown(page: &Path) -> String {
    let shown = Command::new("mandoc").args(["-T", "utf8", "-O", "width=400"]).arg(page).output();
    let text = String::from_utf8(shown.unwrap().stdout).unwrap();
    // Bold and underlined letters are overstruck.
    let mut plain = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letters.next_if_eq(&'\u{8}').is_none() {
            plain.push(letter);
        }
    }
    plain
}

/// Letters and digits alone, in lower case: roff draws quotes and dashes in its own way, and headings in capitals.
fn bare(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

/// The commands that `--help` lists, and those below them.
fn commands() -> Vec<Vec<String>> {
    let of = |words: &[&str]| -> Vec<String> {
        let text = help(words);
        let lines = text.lines().skip_while(|line| *line != "Commands:" && !words.is_empty());
        let named = lines.filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
        let name = |word: &str| word.split_whitespace().last().unwrap_or_default().to_owned();
        named.map(|(words, _)| name(words)).filter(|name| !name.is_empty()).collect()
    };
    let known = |name: &String| {
        let tried = Command::new(PROGRAM).args([name, "--help"]).output().unwrap();
        name != "help" && tried.status.success()
    };
    let above: Vec<String> = of(&[]).into_iter().filter(known).collect();
    let mut all: Vec<Vec<String>> = above.iter().map(|name| vec![name.clone()]).collect();
    for name in ["device", "store", "profiles"] {
        let below =
            of(&[name]).into_iter().filter(|below| below != "help" && !below.starts_with('-'));
        all.extend(below.map(|below| vec![name.to_owned(), below]));
    }
    all
}

#[test]
fn each_command_has_a_page_with_all_that_its_help_says() {
    let Some(_) = program("mandoc", "mandoc") else { return };
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new(PROGRAM).arg("man-pages").arg(folder.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let all = commands();
    assert!(all.len() >= 20, "{all:?}");
    for words in &all {
        let page = folder.path().join(format!("flashlag-{}.1", words.join("-")));
        let text = bare(&shown(&page));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for line in help(&words).lines().filter(|line| !line.starts_with("Usage:")) {
            // An option stands beside its value, and possible values in brackets: not in the page's form. A command
            // stands before what it does: in the page with its whole name.
            let line = line.split(['[', '<']).next().unwrap_or_default();
            let option = line.trim_start().starts_with('-');
            for part in line.trim().split("  ").filter(|_| !option) {
                let part = bare(part);
                let heading = part.starts_with("printhelp")
                    || part.starts_with("printthismessage")
                    || HEADINGS.contains(&&*part);
                assert!(heading || text.contains(&part), "{}: {line}", page.display());
            }
        }
    }
}

#[test]
fn the_pages_of_the_file_formats_have_every_key_and_no_fault_that_a_reader_would_see() {
    if program("mandoc", "mandoc").is_none() || program("lowdown", "lowdown").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = root().join("scripts/man-pages");
    let made = Command::new(script).arg(PROGRAM).arg(folder.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    for (page, document) in [
        ("scenario", "scenario-reference"),
        ("profile", "profile-reference"),
        ("run", "results-format"),
    ] {
        let path = folder.path().join(format!("flashlag-{page}.5"));
        let text = bare(&shown(&path));
        let document = root().join(format!("docs/{document}.md"));
        let markdown = std::fs::read_to_string(document).unwrap();
        let rows = markdown.lines().filter(|line| line.starts_with("| `"));
        let mut count = 0;
        for row in rows {
            let key = bare(row.split('|').nth(1).unwrap());
            let meaning = bare(row.split('|').rev().nth(1).unwrap());
            assert!(text.contains(&key), "{page}: {row}");
            // A link's address is left out.
            assert!(row.contains("](") || text.contains(&meaning), "{page}: {row}");
            count += 1;
        }
        assert!(count > 50, "{page}: {count} rows");
        let faults = Command::new("mandoc").args(["-T", "lint", "-W", "error"]).arg(&path).output();
        let faults = String::from_utf8(faults.unwrap().stdout).unwrap();
        assert!(faults.is_empty(), "{faults}");
    }
}
