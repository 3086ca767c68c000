//! A document counts nothing of the project but what is counted here.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use flashlag_runner::{BUILTINS, sim};
use flashlag_schema::CheckId;
use flashlag_spec::target::FilesystemKind;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The documents that say what is: not what was, as the changelog and the decisions do.
fn documents() -> Vec<(String, String)> {
    let in_folder = |folder: &str| {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.map(|name| format!("{folder}{name}")).collect::<Vec<_>>()
    };
    let mut files = [in_folder("./"), in_folder("docs/")].concat();
    files.retain(|file| file.ends_with(".md"));
    files.retain(|file| !["./CHANGELOG.md", "docs/decisions.md"].contains(&file.as_str()));
    files.sort();
    files
        .into_iter()
        .map(|file| (file.clone(), std::fs::read_to_string(root().join(&file)).unwrap()))
        .collect()
}

/// Nouns for what the project has.
const NOUNS: [&str; 20] = [
    "profiles",
    "devices",
    "scenarios",
    "checks",
    "findings",
    "commands",
    "mounts",
    "filesystems",
    "formats",
    "targets",
    "crates",
    "tests",
    "causes",
    "rules",
    "views",
    "tables",
    "columns",
    "lints",
    "metrics",
    "protocols",
];
/// Words that may stand between the number and the noun.
const BETWEEN: [&str; 6] = ["built-in", "trust", "simulated", "modelled", "virtual", "different"];
/// What is counted, and how many there are.
type Counted = (&'static str, fn() -> usize);
/// What a document may count.
const COUNTS: [Counted; 4] = [
    ("built-in scenarios", || BUILTINS.len()),
    ("built-in profiles", || sim::profile_names().count()),
    ("trust checks", || CheckId::ALL.len()),
    ("filesystems", || FilesystemKind::ALL.len()),
];
const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] =
    ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// The number that a word is, from 2 to 100.
fn number(word: &str) -> Option<usize> {
    let word = word.trim_start_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
    let place = |list: &[&str], word: &str| list.iter().position(|one| *one == word);
    let tens = |word: &str| place(&TENS, word).map(|at| 20 + 10 * at);
    let value = match word.split_once('-') {
        Some((first, second)) => tens(first)? + place(&SMALL, second)?,
        None if word == "hundred" => 100,
        None => word.parse().ok().or_else(|| place(&SMALL, &word)).or_else(|| tens(&word))?,
    };
    (2..=100).contains(&value).then_some(value)
}

/// The text without what a program wrote: code, and what stands between marks.
fn prose(text: &str) -> String {
    let (mut fenced, mut marked) = (false, false);
    let mut kept = String::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        marked |= line.contains(": begin");
        if !fenced && !marked {
            kept.push_str(line);
        }
        kept.push('\n');
        marked &= !line.contains(": end -->");
    }
    kept
}

/// The counts of a text: the number, and what is counted.
fn counts(text: &str) -> Vec<(usize, String)> {
    let text = prose(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(count) = number(word) else { continue };
        let end =
            |word: &&str| word.trim_end_matches(|sign: char| !sign.is_alphanumeric()).to_owned();
        let after: Vec<String> = words[at + 1..].iter().take(2).map(end).collect();
        let nouns = |word: &String| NOUNS.contains(&word.as_str());
        match after.as_slice() {
            [noun, ..] if nouns(noun) => found.push((count, noun.clone())),
            [between, noun] if BETWEEN.contains(&between.as_str()) && nouns(noun) => {
                found.push((count, format!("{between} {noun}")));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn a_document_counts_nothing_but_what_is_counted_here() {
    let mut wrong = Vec::new();
    for (file, text) in documents() {
        for (count, counted) in counts(&text) {
            let known =
                COUNTS.iter().find(|(words, _)| *words == counted).map(|(_, value)| value());
            if known != Some(count) {
                wrong.push(format!("{file}: {count} {counted}; the code says {known:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "leave the count out, or derive it in COUNTS: {wrong:#?}");
}

#[test]
fn a_count_is_found_in_digits_and_words_and_not_in_what_a_program_printed() {
    let text = "Eleven profiles on seven\nmounts, (twenty-one built-in scenarios); 15 trust checks.\n\
                ```\n10 checks pass\n```\n<!-- a: begin -->\n3 tables\n<!-- a: end -->\n10,000 devices, \
                one crate, two of its tests, a hundred\n  filesystems\n";
    let found = counts(text);
    let expected = [
        (11, "profiles"),
        (7, "mounts"),
        (21, "built-in scenarios"),
        (15, "trust checks"),
        (100, "filesystems"),
    ];
    assert_eq!(found, expected.map(|(count, noun)| (count, noun.to_owned())));
}
