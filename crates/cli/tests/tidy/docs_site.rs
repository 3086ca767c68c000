//! The site of documents has all of them, and the files that they name.

use std::path::Path;
use std::process::{Command, Output};

use crate::root;

fn script(arguments: &[&Path]) -> Output {
    let mut command = Command::new("python3");
    command.arg("-B").arg(root().join("scripts/docs-site")).args(arguments).output().unwrap()
}

/// What `--check` says of a site of these two pages.
fn checked(index: &str, other: &str) -> (bool, String) {
    let site = tempfile::tempdir().unwrap();
    std::fs::write(site.path().join("index.html"), index).unwrap();
    std::fs::write(site.path().join("other.html"), other).unwrap();
    let output = script(&[Path::new("--check"), site.path()]);
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_site_has_a_place_for_each_document_and_each_file_that_one_names() {
    if flashlag_need::program("python3", "python3").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sources = folder.path().join("sources");
    let output = script(&[Path::new("--sources"), &sources]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = std::fs::read_to_string(sources.join("src/SUMMARY.md")).unwrap();
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            assert!(
                summary.contains(&format!("]({name})")),
                "{name} is not in the list of chapters"
            );
            assert!(sources.join("src").join(&name).is_file(), "{name}");
        }
    }
    assert!(sources.join("src/docs/pictures/report-dark.png").is_file());
}

#[test]
fn a_link_to_no_page_or_heading_and_a_page_from_the_network_are_found() {
    if flashlag_need::program("python3", "python3").is_none() {
        return;
    }
    let page = "<h1 id=top>A</h1><a href=other.html#top>b</a><a href=https://example.org>c</a>";
    let problems = |index: &str| {
        let (passed, said) = checked(index, "<h1 id=top>B</h1>");
        assert!(!passed, "a site without the documents passed: {said}");
        said.lines()
            .filter(|line| !line.contains("the search does not have"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let only_the_sum = problems(page);
    assert_eq!(only_the_sum.len(), 1, "{only_the_sum:?}");
    for (wrong, said) in [
        ("<a href=gone.html>x</a>", "index.html: gone.html leads to no file"),
        ("<a href=other.html#gone>x</a>", "index.html: other.html#gone leads to no heading"),
        ("<img src=https://example.org/a.png>", "index.html loads https://example.org/a.png"),
        ("<link rel=stylesheet href=//example.org/a.css>", "index.html loads //example.org/a.css"),
    ] {
        let found = problems(&format!("{page}{wrong}"));
        assert!(found.iter().any(|line| line == said), "{found:?} lacks {said}");
    }
}
