//! What stands between marks in a document is made by a command, and everything outside is kept by it.

use std::path::PathBuf;
use std::process::Command;

use crate::documents::documents;
use crate::{none, root};

/// The names of the marks in a text that begin with this, in order.
fn names<'a>(text: &'a str, end: &str) -> Vec<&'a str> {
    let comments = text.split("<!-- ").skip(1).filter_map(|rest| rest.split_once(" -->"));
    let words = comments.map(|(comment, _)| comment.split(" (").next().unwrap_or(comment));
    words.filter_map(|words| words.strip_suffix(end)).collect()
}

/// The texts of what may write between marks: scripts, and tests that renew documents.
fn makers() -> String {
    let scripts = std::fs::read_dir(root().join("scripts")).unwrap();
    let scripts = scripts.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let tests = [
        "crates/cli/tests/program/readme.rs",
        "crates/cli/tests/program/tails.rs",
        "crates/cli/tests/program/watch_sim.rs",
        "crates/cli/tests/tidy/documents.rs",
        "crates/store/tests/it/documented.rs",
        "crates/sweep/src/table/tests.rs",
        "crates/runner/src/sim/inferred_tests.rs",
        "crates/runner/tests/it/prefs.rs",
    ];
    let tests = tests.iter().map(|path| root().join(path));
    let folders = ["crates/schema/tests/it", "crates/spec/tests/it"];
    let generated =
        folders.iter().flat_map(|folder| std::fs::read_dir(root().join(folder)).unwrap());
    let generated = generated.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    scripts.chain(tests).chain(generated).map(read).collect()
}

#[test]
fn marks_stand_in_pairs_and_each_pair_has_a_command_that_fills_it() {
    let makers = makers();
    let mut wrong = Vec::new();
    let mut found = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let begun = names(&text, ": begin");
        found += begun.len();
        if begun != names(&text, ": end") {
            wrong.push(format!("{}: marks are not in pairs: {begun:?}", document.display()));
        }
        let unmade = begun.iter().filter(|name| {
            !makers.contains(&format!("\"{name}\"")) && !makers.contains(&format!("<!-- {name}: "))
        });
        let unmade = unmade.map(|name| format!("{}: nothing makes {name}", document.display()));
        wrong.extend(unmade);
    }
    assert!(found >= 15, "{found} pairs of marks");
    none("what is between marks is made", wrong);
}

/// Runs `marks.put` of the scripts on a copy of a document.
fn put(document: &str, name: &str, body: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("document.md");
    std::fs::write(&copy, document).unwrap();
    let program = "import sys; import marks; marks.put(*sys.argv[1:])";
    let done = Command::new("python3")
        .args(["-B", "-c", program])
        .arg(&copy)
        .args([name, body])
        .env("PYTHONPATH", root().join("scripts"))
        .output()
        .unwrap();
    (done.status.success(), std::fs::read_to_string(copy).unwrap())
}

#[test]
fn a_command_that_writes_between_marks_keeps_every_line_outside() {
    if flashlag_need::program("python3", "python3").is_none() {
        return;
    }
    let text = std::fs::read_to_string(root().join("docs/benchmarks.md")).unwrap();
    for name in names(&text, ": begin") {
        let (done, after) = put(&text, name, "\nnew <!-- x: begin --> text\n\n");
        assert!(done, "{name}");
        let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
        let outside = |text: &str| {
            let (before, rest) = text.split_once(&begin).unwrap();
            (before.to_owned(), rest.split_once(&end).unwrap().1.to_owned())
        };
        assert_eq!(outside(&after), outside(&text), "{name}");
        let inside = after.split_once(&begin).unwrap().1.split_once(&end).unwrap().0.to_owned();
        assert_eq!(inside, "\nnew <!-- x: begin --> text\n");
    }
    for broken in [
        "no marks".to_owned(),
        "<!-- engine: end --> <!-- engine: begin -->".to_owned(),
        format!("{text}<!-- engine: begin -->"),
    ] {
        let (done, after) = put(&broken, "engine", "new");
        assert!(!done && after == broken, "a document without a pair is left as it was");
    }
}
