//! What the help says that an example finds is what it finds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

fn said(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The line that begins with these words.
fn line<'a>(text: &'a str, words: &str) -> &'a str {
    let found = text.lines().find(|line| line.trim_start().starts_with(words));
    found.unwrap_or_else(|| panic!("no line begins with {words}: {text}")).trim()
}

/// The numbers in a line.
fn numbers(line: &str) -> Vec<f64> {
    line.split([' ', ':']).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn writes_slow_down_on_full_storage_as_the_help_of_predict_says() {
    let help = said(&["predict", "--help"]);
    let example = line(&help, "flashlag predict");
    let claimed = numbers(line(&help, "Durable 4 KiB writes fall"));
    let mut arguments: Vec<&str> = example.split_whitespace().skip(1).collect();
    // Less than a day's writes: the state that they begin in is steady.
    arguments.extend(["-q", "--daily", "100MB"]);
    let found = said(&arguments);
    // The last of the line: MB/s as it is, and sustained of the full device.
    let last = |words: &str| *numbers(line(&found, words)).last().unwrap();
    let (before, after) = (last("as it is"), last("full=90%  "));
    let [_, from, to] = claimed[..] else { panic!("{claimed:?}") };
    assert!((before / from - 1.0).abs() < 0.02, "{before} for {from}: {found}");
    assert!((after / to - 1.0).abs() < 0.03, "{after} for {to}: {found}");
    assert!((0.45..0.55).contains(&(after / before)), "about half: {found}");
    assert!(found.contains("until figures were steady"), "{found}");
}
