//! Files that `docs/architecture.md` names exist, and links between documents lead somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::source::Source;
use crate::{crate_names, none, root};

/// A path within a crate's name, as the document writes it: `lab/src/spec.rs`, `lab/src/layout`.
fn is_path(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_.-".contains(c);
    word.contains("/src/") && word.chars().all(plain) && !word.contains("NAME")
}

#[test]
fn every_file_that_the_architecture_names_exists() {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let words = text.split('`').skip(1).step_by(2);
    let paths: Vec<&str> = words.filter(|word| is_path(word)).collect();
    assert!(paths.len() > 30, "the document names {} files", paths.len());
    let absent = paths.into_iter().filter(|path| !root().join("crates").join(path).exists());
    none("docs/architecture.md names what exists", absent.map(str::to_owned).collect());
}

#[test]
fn every_source_file_that_a_document_names_exists() {
    let mut absent = Vec::new();
    let mut named = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let words = text.split('`').filter(|word| word.starts_with("crates/"));
        for path in words.filter(|word| !word.contains(['*', ' ', '{', '<'])) {
            named += 1;
            if !root().join(path).exists() && !path.contains("NAME") {
                absent.push(format!("{}: {path}", document.display()));
            }
        }
    }
    assert!(named > 10, "{named} files named");
    none("documents name files that exist", absent);
}

/// The anchors of a document's headings, as forges make them: lower case, spaces as hyphens, without
/// punctuation.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let headings = text.lines().filter(|line| {
        fenced ^= line.starts_with("```");
        !fenced && line.starts_with('#')
    });
    let anchor = |line: &str| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// The targets of links and pictures in Markdown, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        // Odd pieces are within backquotes.
        let plain: Vec<&str> = line.split('`').step_by(2).collect();
        let rest = if fenced { String::new() } else { plain.join("code") };
        for piece in rest.split("](").skip(1) {
            found.extend(piece.split(')').next().map(str::to_owned));
        }
        for piece in rest.split("src=\"").chain(rest.split("srcset=\"").skip(1)).skip(1) {
            found.extend(piece.split('"').next().map(str::to_owned));
        }
    }
    found
}

pub fn documents() -> Vec<PathBuf> {
    let of = |folder: PathBuf| {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|end| end == "md"))
    };
    let apart = ["profiles/README.md", "crates/python/README.md"].map(|file| root().join(file));
    of(root()).chain(of(root().join("docs"))).chain(apart).collect()
}

fn is_broken(document: &Path, link: &str) -> bool {
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, at)| (file, Some(at)));
    let target = match file {
        "" => document.to_owned(),
        file => document.parent().unwrap().join(file),
    };
    let missing = |at: &str| {
        std::fs::read_to_string(&target).map_or(true, |text| !anchors(&text).contains(at))
    };
    !target.exists() || anchor.is_some_and(missing)
}

#[test]
fn every_link_between_documents_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    let mut followed = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let inside = links(&text).into_iter().filter(|link| !link.contains("://"));
        for link in inside {
            followed += 1;
            if is_broken(&document, &link) {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(followed > 20, "{followed} links found");
    none("links lead somewhere", broken);
}

#[test]
fn a_link_to_a_heading_that_is_not_there_is_broken() {
    let text = "# A b, c\n```\n# no heading\n```\n[x](#a-b-c) `[y](z)` ![p](p.png)\n";
    assert_eq!(links(text), ["#a-b-c", "p.png"]);
    assert_eq!(anchors(text), BTreeSet::from(["a-b-c".to_owned()]));
    let document = root().join("CONTRIBUTING.md");
    assert!(!is_broken(&document, "docs/architecture.md#floors"));
    assert!(is_broken(&document, "docs/architecture.md#storeys"));
    assert!(is_broken(&document, "docs/absent.md"));
}

/// What each crate says of itself in its manifest, as a table.
fn crate_table() -> String {
    let row = |name: String| {
        let path = root().join("crates").join(&name).join("Cargo.toml");
        let manifest = std::fs::read_to_string(path).unwrap();
        let of = |line: &str| line.strip_prefix("description = \"").map(str::to_owned);
        let about = manifest.lines().find_map(of).unwrap();
        format!("| {name} | {} |\n", about.trim_end_matches('"'))
    };
    let rows: String = crate_names().into_iter().map(row).collect();
    format!("\n\n| crate | what it is |\n|---|---|\n{rows}\n")
}

#[test]
fn the_architecture_lists_every_crate_as_its_manifest_describes_it() {
    flashlag_testing::between_marks("docs/architecture.md", "crates", &crate_table());
}

/// More than this nobody reads, and nobody keeps true.
const MOST_WORDS: usize = 30_000;

/// The words of a document that no command writes: all that stand outside of marks.
fn words_by_hand(text: &str) -> usize {
    let mut marked = false;
    let mut words = 0;
    for line in text.lines() {
        marked |= line.starts_with("<!-- ") && line.contains(": begin");
        if !marked {
            words += line.split_whitespace().count();
        }
        marked &= !line.contains(": end -->");
    }
    words
}

#[test]
fn what_is_written_by_hand_stays_short_enough_to_be_read() {
    let count = |path: &PathBuf| words_by_hand(&std::fs::read_to_string(path).unwrap());
    let mut all: Vec<(usize, PathBuf)> =
        documents().into_iter().map(|path| (count(&path), path)).collect();
    all.sort();
    all.reverse();
    let sum: usize = all.iter().map(|(words, _)| words).sum();
    let longest: Vec<String> =
        all.iter().take(5).map(|(words, path)| format!("{words} {}", path.display())).collect();
    assert!(sum <= MOST_WORDS, "{sum} words by hand, at most {MOST_WORDS}: {longest:#?}");
}

#[test]
fn words_between_marks_are_not_by_hand() {
    let text = "one two\n<!-- a: begin (made) -->\nthree\n<!-- a: end -->\nfour | five |\n";
    assert_eq!(words_by_hand(text), 6);
}

/// Whether the text of a source file has an example that rustdoc would compile: a fence that opens without the
/// name of another language.
fn has_example(text: &str) -> bool {
    let mut open = false;
    text.lines().any(|line| {
        let Some(rest) = line.trim_start().strip_prefix("//") else { return false };
        let Some(language) = rest.trim_start_matches(['/', '!']).trim().strip_prefix("```") else {
            return false;
        };
        open = !open;
        open && ["", "rust", "no_run", "should_panic", "compile_fail"].contains(&language)
    })
}

#[test]
fn every_crate_with_examples_in_its_documentation_has_them_run() {
    let mut unrun = Vec::new();
    let mut with = 0;
    for name in crate_names() {
        let folder = root().join("crates").join(&name);
        let within = format!("crates/{name}/src/");
        let mut sources = Source::all().iter().filter(|source| source.path.starts_with(&within));
        let examples = sources.any(|source| has_example(&source.text));
        with += usize::from(examples);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if examples && manifest.contains("doctest = false") {
            unrun.push(format!("crates/{name}: remove `doctest = false` from Cargo.toml"));
        }
    }
    assert!(with >= 3, "{with} crates with examples");
    none("examples in documentation are run", unrun);
}
