//! Files that `docs/architecture.md` names exist.

use crate::{none, root};

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
