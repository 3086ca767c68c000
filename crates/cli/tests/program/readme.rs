//! The commands of the README and of the four first pages run, and what these show of the program is what it prints.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The targets of a reader, and the simulated ones that the test measures in their places. Two of them differ
/// where a page compares them.
const SIMULATED: [(&str, &str); 3] =
    [("adb:", "sim:pixel-2016+f2fs"), ("/mnt/new", "sim:sd-a2"), ("/srv", "sim:sd-a1")];

/// What is measured where a command names no target, which is the directory that it is started in.
const HERE: &str = "sim:nexus5-2013";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(document: &str) -> String {
    std::fs::read_to_string(root().join(document)).unwrap()
}

/// The contents of the fences of a language.
fn fences<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    text.split(begin.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// The lines of a document's `sh` fences that run flashlag.
fn commands(text: &str) -> Vec<&str> {
    let lines = fences(text, "sh").into_iter().flat_map(str::lines);
    lines.filter(|line| line.starts_with("flashlag ")).collect()
}

/// The same command on a simulated target.
fn simulated(line: &str) -> String {
    let here = format!("flashlag run -o here.json --on {HERE}");
    let line = line.replace("flashlag run -o here.json", &here);
    let word = |word: &str| {
        let place = SIMULATED.iter().find(|(target, _)| *target == word);
        place.map_or(word, |(_, target)| target).to_owned()
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Runs a document's commands in a new directory, one after another, by a shell.
fn run(document: &str) {
    let text = read(document);
    let commands = commands(&text);
    assert!(commands.len() >= 4, "{document}: {commands:?}");
    let folder = tempfile::tempdir().unwrap();
    let trace = root().join("fixtures/traces/calls.txt");
    std::fs::copy(trace, folder.path().join("app.strace")).unwrap();
    for grid in fences(&text, "toml") {
        std::fs::write(folder.path().join("grid.toml"), grid).unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_flashlag")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([program].into_iter().chain(std::env::split_paths(&path)));
    let path = path.unwrap();
    for line in commands {
        let command = simulated(line);
        let output = Command::new("sh")
            .args(["-ec", &command])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{document}: {command}\n{}\n{said}", output.status);
    }
}

#[test]
fn the_commands_of_the_readme_run() {
    run("README.md");
}

#[test]
fn the_commands_of_the_reviewers_page_run() {
    run("docs/start-reviewer.md");
}

#[test]
fn the_commands_of_the_page_for_owners_of_boards_run() {
    run("docs/start-board.md");
}

#[test]
fn the_commands_of_the_page_for_developers_of_apps_run() {
    run("docs/start-app.md");
}

#[test]
fn the_commands_of_the_page_for_researchers_run() {
    run("docs/start-research.md");
}

#[test]
fn a_command_of_a_reader_becomes_one_on_a_simulated_target() {
    assert_eq!(simulated("flashlag explain /srv"), "flashlag explain sim:sd-a1");
    assert_eq!(
        simulated("flashlag run --on adb: -o a.json"),
        "flashlag run --on sim:pixel-2016+f2fs -o a.json"
    );
    let text = "```sh\nmake run\nflashlag run\n```\n```\nflashlag x\n```\n```toml\na = 1\n```\n";
    assert_eq!(commands(text), ["flashlag run"]);
    assert_eq!(fences(text, "toml"), ["a = 1\n"]);
}

#[test]
fn the_readme_is_short_and_leads_to_every_first_page() {
    let text = read("README.md");
    assert!(text.lines().count() <= 120, "{} lines", text.lines().count());
    for page in ["reviewer", "board", "app", "research"] {
        assert!(text.contains(&format!("(docs/start-{page}.md)")), "{page}");
    }
}

/// The first tables that the program prints: from their head to the line before the notes.
fn first_table(text: &str) -> String {
    let from = text.lines().skip_while(|line| !line.starts_with("durable 4 KiB writes"));
    from.take_while(|line| !line.starts_with("share:")).collect::<Vec<_>>().join("\n")
}

/// What the program prints.
fn printed(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_flashlag")).args(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Holds what stands between the marks of a document to what is made, on lines of its own.
fn between_marks(document: &str, name: &str, made: &str) {
    flashlag_testing::between_marks(document, name, &format!("\n{made}\n"));
}

#[test]
fn the_forecast_in_the_documents_is_what_its_command_prints() {
    let text = read("docs/start-research.md");
    let command = text.lines().find(|line| line.starts_with("flashlag predict moto-z")).unwrap();
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let table = first_table(&printed(&words));
    assert!(table.lines().count() > 3, "{table}");
    between_marks("docs/start-research.md", "predict", &format!("```\n{table}\n```"));
}

/// What a list of the program says: a name and its text, which goes on in lines that begin with spaces.
fn listed(list: &str) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for line in list.lines() {
        match line.split_once(' ') {
            Some(("", rest)) => {
                let last = &mut rows.last_mut().unwrap().1;
                *last = format!("{last} {}", rest.trim());
            }
            Some((name, about)) => rows.push((name.to_owned(), about.trim().to_owned())),
            None => {}
        }
    }
    rows
}

/// The groups of commands in the help, in one table.
fn command_table(help: &str) -> String {
    let (_, rest) = help.split_once("\n\n").unwrap();
    let (groups, _) = rest.split_once("\nOptions:\n").unwrap();
    let mut table = "| command | what it does |\n|---|---|\n".to_owned();
    for group in groups.split("\n\n").filter(|group| group.contains(":\n  ")) {
        let (_, lines) = group.split_once(":\n").unwrap();
        let lines: String = lines.lines().map(|line| format!("{}\n", &line[2..])).collect();
        for (name, about) in listed(&lines).into_iter().filter(|(name, _)| name != "help") {
            table += &format!("| `flashlag {name}` | {about} |\n");
        }
    }
    table
}

/// The scenarios that the program lists, in a table.
fn scenario_table(list: &str) -> String {
    let scenarios: String = list
        .lines()
        .take_while(|line| !line.contains(": --set"))
        .map(|line| format!("{line}\n"))
        .collect();
    let row = |(name, about): (String, String)| format!("| `flashlag run {name}` | {about} |\n");
    let rows: String = listed(&scenarios).into_iter().map(row).collect();
    format!("| scenario | what it measures |\n|---|---|\n{rows}")
}

#[test]
fn the_document_of_commands_lists_what_the_help_lists() {
    let commands = command_table(&printed(&["--help"]));
    assert!(commands.contains("`flashlag run`") && commands.contains("`flashlag clean`"));
    between_marks("docs/commands.md", "commands", &format!("\n{commands}"));
    let scenarios = scenario_table(&printed(&["scenarios"]));
    between_marks("docs/commands.md", "scenarios", &format!("\n{scenarios}"));
}

/// The rows of `profiles/standing.csv`, which `profiles_hold` holds to what the model gives, as a table.
fn standing_table(csv: &str) -> String {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("| {} | {} of {} |\n", cells[0], cells[3], cells[1])
    };
    let rows: String = csv.lines().skip(1).map(row).collect();
    format!("| profile | rows that hold |\n|---|---|\n{rows}")
}

#[test]
fn the_model_says_how_many_published_rows_hold() {
    let table = standing_table(&read("profiles/standing.csv"));
    between_marks("docs/model.md", "standing", &format!("\n{table}"));
}
