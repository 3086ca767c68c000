//! Unsafe code is in few places, each with its proof.

use std::path::Path;

use crate::source::Source;
use crate::{crate_names, none, root};

/// Crates that may have unsafe code, and why.
const UNSAFE: [(&str, &str); 5] = [
    ("engine", "io_uring's rings, registered buffers and FITRIM"),
    ("inspect", "FIEMAP, which counts the pieces of a database, and opening a file by its inode"),
    ("page", "the names that its module exports to the page, and nothing else"),
    ("seccomp", "a signal handler, its place before `main`, and the registers that it changes"),
    ("sqlite", "SQLite's calls into a VFS, and the memory that its connections share"),
];

#[test]
fn every_crate_root_forbids_unsafe_code() {
    let mut violations = Vec::new();
    for name in crate_names() {
        let level = if UNSAFE.iter().any(|(known, _)| *known == name) { "deny" } else { "forbid" };
        let wanted = format!("#![{level}(unsafe_code)]");
        for file in ["lib.rs", "main.rs"] {
            let path = format!("crates/{name}/src/{file}");
            let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
            if !text.lines().any(|line| line == wanted) {
                violations.push(format!("{path}:1: add `{wanted}`"));
            }
        }
        let has_root = ["lib.rs", "main.rs"]
            .iter()
            .any(|file| Path::new(&root()).join(format!("crates/{name}/src/{file}")).exists());
        if !has_root {
            violations.push(format!("crates/{name}: has neither src/lib.rs nor src/main.rs"));
        }
    }
    none("unsafe code", violations);
}

#[test]
fn every_unsafe_block_is_preceded_by_its_proof() {
    none("proofs of unsafe code", Source::all().iter().flat_map(unproved).collect());
}

fn unproved(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().collect();
    let tokens = source.tokens();
    let opening = tokens.windows(2).filter(|pair| {
        // An `unsafe fn` says what it needs in its documentation; its callers have the proof.
        pair[0].text == "unsafe" && ["{", "impl"].contains(&pair[1].text.as_str())
    });
    let found = opening.map(|pair| pair[0].line).filter(|line| !proved(&lines, *line));
    let say = |line: usize| {
        let path = &source.path;
        format!("{path}:{line}: say in a `// SAFETY:` comment right above why this is sound")
    };
    found.map(say).collect()
}

#[test]
fn a_proof_is_right_above_its_statement_and_nowhere_else() {
    let count = |text: &str| unproved(&Source::of("crates/x/src/lib.rs", text.to_owned())).len();
    assert_eq!(count("fn f() {\n    unsafe { g() }\n}"), 1);
    assert_eq!(count("fn f() {\n    // Fine.\n    unsafe { g() }\n}"), 1);
    assert_eq!(count("fn f() {\n    // SAFETY: it is.\n    h();\n    unsafe { g() }\n}"), 1);
    assert_eq!(count("fn f() {\n    // SAFETY: it is,\n    // always.\n    unsafe { g() }\n}"), 0);
    assert_eq!(
        count("fn f() {\n    // SAFETY: it is.\n    let x =\n        unsafe { g() };\n}"),
        0
    );
    assert_eq!(count("// SAFETY: it is.\nunsafe impl Send for X {}"), 0);
    assert_eq!(count("unsafe impl Send for X {}"), 1);
    assert_eq!(count("unsafe fn f() {}"), 0);
}

/// Whether the comment above the statement that has `line` (from 1) holds a proof. A statement
/// may begin some lines before its block.
fn proved(lines: &[&str], line: usize) -> bool {
    let mut above = lines[..line - 1].iter().rev().map(|line| line.trim_start()).peekable();
    for _ in 0..3 {
        match above.peek() {
            Some(text) if !text.starts_with("//") && !ends_statement(text) => drop(above.next()),
            _ => break,
        }
    }
    let comment = above.take_while(|text| text.starts_with("//"));
    comment.into_iter().any(|text| text.starts_with("// SAFETY:"))
}

fn ends_statement(text: &str) -> bool {
    text.is_empty() || text.ends_with([';', '{', '}'])
}
