//! Words of a dialect that this project once had stay out of code, texts and documents.

use std::path::{Path, PathBuf};

use crate::{none, root};

/// What a stranger reads twice, and what to write instead.
const DIALECT: [(&str, &str); 6] = [
    ("told", "reported, known, named"),
    ("foretold", "forecast"),
    ("so many", "at most N, as many"),
    ("how-manieth", "index, number"),
    ("what it came to", "total, result"),
    ("where there is none", "without"),
];

/// Where people read, by ending.
const READ: [&str; 5] = ["rs", "md", "toml", "py", "html"];

/// Texts of others, or of the past.
const APART: [&str; 5] = ["target", ".git", "fixtures", "snapshots", "seeds"];

fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !APART.contains(&name.as_str()) {
            texts(&path, found);
        } else if path.extension().is_some_and(|end| READ.iter().any(|read| end == *read)) {
            found.push(path);
        }
    }
}

/// Plain English that has these words in it.
const PLAIN: [&str; 2] = [" told apart ", " told from "];

/// The words of a line in lower case, one space between; a hyphen joins words,
/// an underscore parts them: names are read too.
fn words(line: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '-';
    let words: Vec<&str> = line.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
    format!(" {} ", words.join(" ").to_lowercase())
}

fn dialect(line: &str) -> Option<&'static (&'static str, &'static str)> {
    let words = PLAIN.iter().fold(words(line), |words, plain| words.replace(plain, " "));
    DIALECT.iter().find(|(word, _)| words.contains(&format!(" {word} ")))
}

#[test]
fn no_text_has_words_of_a_dialect() {
    let mut files = Vec::new();
    texts(&root(), &mut files);
    assert!(files.len() > 500, "{} files", files.len());
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("tidy/words.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        for (index, line) in text.lines().enumerate() {
            if let Some((word, instead)) = dialect(line) {
                let path = file.strip_prefix(root()).unwrap_or(file).display();
                found.push(format!("{path}:{}: \"{word}\": write {instead}", index + 1));
            }
        }
    }
    none("words that a stranger reads once", found);
}

#[test]
fn dialect_is_found_as_whole_words_whatever_their_case_and_joints() {
    assert!(dialect("/// So  many, as it is").is_some_and(|(word, _)| *word == "so many"));
    assert!(dialect("let told = 1;").is_some());
    assert!(dialect("fn an_error_is_told_once() {").is_some());
    assert!(dialect("let retold = untold_riches;").is_none());
    assert!(dialect("two that were told apart from it").is_none());
}
