//! Lists of what is built in, in help and documents, are the program's own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use flashlag_runner::{BUILTINS, sim};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

/// What the program prints, on one line.
fn printed(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_flashlag")).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}");
    on_one_line(&String::from_utf8(output.stdout).unwrap())
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All documents.
fn documents() -> String {
    let files = |folder: &str| std::fs::read_dir(root().join(folder)).unwrap();
    let paths = files(".").chain(files("docs")).map(|entry| entry.unwrap().path());
    let documents = paths.filter(|path| path.extension().is_some_and(|end| end == "md"));
    documents.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn help_and_docstrings_list_every_built_in_scenario() {
    let names: Vec<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
    let list = format!("A scenario ({}) or a TOML file", names.join(", "));
    assert!(printed(&["run", "--help"]).contains(&list), "{list}");
    let docstring = on_one_line(&read("crates/python/python/flashlag/_run.py"));
    assert!(docstring.contains(&list), "{list}");
}

#[test]
fn every_built_in_scenario_and_profile_is_in_a_document() {
    let documents = documents();
    for name in BUILTINS.iter().map(|builtin| builtin.name) {
        let said = [format!("flashlag run {name}"), format!("scenario `{name}`")];
        let quick = name == BUILTINS[0].name;
        assert!(quick || said.iter().any(|said| documents.contains(said)), "{name}");
    }
    let model = read("docs/model.md");
    for name in sim::profile_names() {
        // A family's rows share their first words: `moto-x-2013-sandisk, -toshiba`.
        let last = name.rfind('-').map_or(name, |at| &name[at..]);
        assert!(model.contains(name) || model.contains(&format!(", {last}")), "{name}");
    }
}

#[test]
fn the_document_lists_every_form_of_a_report_that_the_help_does() {
    let help = printed(&["report", "--help"]);
    let (_, rest) = help.split_once("--format <").unwrap();
    let (_, rest) = rest.split_once("Possible values:").unwrap();
    let (rest, _) = rest.split_once(" --").unwrap();
    let names = rest.split(" - ").filter_map(|value| value.split_once(':'));
    let forms: Vec<&str> = names.map(|(name, _)| name).collect();
    assert!(forms.len() > 5, "{forms:?}");
    let document = read("docs/commands.md");
    let row =
        document.lines().find(|line| line.contains("`flashlag report RUN.json -o FILE`")).unwrap();
    for form in forms {
        let ending = match form {
            "markdown" => "md",
            "prometheus" => "prom",
            form => form,
        };
        let said = [format!("`{form}`"), format!(" {form}`"), format!("`.{ending}`")];
        assert!(said.iter().any(|said| row.contains(said)), "{form}: {row}");
    }
}
