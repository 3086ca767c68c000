//! Repeats the typed command line with some options changed, for errors that suggest a command to
//! paste.

use std::fmt;

/// The names of an option.
#[derive(Clone, Copy, Debug)]
pub struct OptionNames {
    long: &'static str,
    short: Option<char>,
}

/// `-o`, `--output`
pub const OUTPUT: OptionNames = OptionNames { long: "--output", short: Some('o') };
/// `--report`
pub const REPORT: OptionNames = OptionNames { long: "--report", short: None };
/// `--leave`
pub const LEAVE: OptionNames = OptionNames { long: "--leave", short: None };
/// `--set`; options with different keys may be combined.
pub const SET: OptionNames = OptionNames { long: "--set", short: None };

/// An error with a command that works instead. The command is printed on its own line, to be
/// pasted.
#[derive(Debug)]
pub struct Suggestion {
    /// The error itself.
    pub error: String,
    /// The command that works.
    pub command: String,
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)
    }
}

impl std::error::Error for Suggestion {}

/// An error that suggests the typed command with these options set.
pub fn suggest(error: impl fmt::Display, changes: &[(OptionNames, &str)]) -> anyhow::Error {
    Suggestion { error: format!("{error}; this would work:"), command: with(changes) }.into()
}

/// The error of a stopped run, with the command that resumes it.
pub fn resumed(output: &str) -> anyhow::Error {
    let command = resuming(std::env::args().skip(1).collect(), output);
    let error = "stopped; its measurements are kept, and this command resumes it:".to_owned();
    Suggestion { error, command }.into()
}

/// The error that ended a run, whose measurements are kept.
pub fn ended(error: &str, output: &str) -> anyhow::Error {
    let command = resuming(std::env::args().skip(1).collect(), output);
    let error = format!(
        "{error}\n  The measurements before it are kept, and once that is fixed, this command \
         continues:"
    );
    Suggestion { error, command }.into()
}

fn resuming(mut words: Vec<String>, output: &str) -> String {
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".to_owned());
    }
    changed(words, &[(OUTPUT, output)])
}

/// The typed command with these options set, each in place of its former value.
fn with(changes: &[(OptionNames, &str)]) -> String {
    changed(std::env::args().skip(1).collect(), changes)
}

fn changed(mut words: Vec<String>, changes: &[(OptionNames, &str)]) -> String {
    for (option, value) in changes {
        remove(&mut words, *option, value);
        words.push(option.short.map_or(option.long.to_owned(), |short| format!("-{short}")));
        words.push((*value).to_owned());
    }
    let words = std::iter::once("flashlag".to_owned()).chain(words.iter().map(|word| quoted(word)));
    words.collect::<Vec<_>>().join(" ")
}

/// Removes an option and its value, in every spelling; of `--set`, only the one with the same key.
fn remove(words: &mut Vec<String>, option: OptionNames, value: &str) {
    let key = |pair: &str| pair.split('=').next().map(str::to_owned);
    let is_meant = |given: &str| option.long != SET.long || key(given) == key(value);
    let short = option.short.map(|short| format!("-{short}"));
    let joined = format!("{}=", option.long);
    let mut kept = Vec::with_capacity(words.len());
    let mut all = words.drain(..);
    while let Some(word) = all.next() {
        let is_short = short.as_ref().is_some_and(|short| word.starts_with(short.as_str()));
        if word == option.long || Some(&word) == short.as_ref() {
            if let Some(given) = all.next().filter(|given| !is_meant(given)) {
                kept.extend([word, given]);
            }
        } else if let Some(given) = word.strip_prefix(&joined) {
            if !is_meant(given) {
                kept.push(word);
            }
        } else if !is_short {
            kept.push(word);
        }
    }
    drop(all);
    *words = kept;
}

/// A word, quoted for a shell where necessary.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./:=,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(words: &[&str], changes: &[(OptionNames, &str)]) -> String {
        changed(words.iter().map(|&word| word.to_owned()).collect(), changes)
    }

    #[test]
    fn an_option_is_replaced_however_it_was_given() {
        for given in [&["-o", "a b"][..], &["-oa"], &["--output", "x"], &["--output=x"], &[]] {
            let words = [&["run", "quick"], given, &["--on", "."]].concat();
            let expected = "flashlag run quick --on . -o new.json";
            assert_eq!(after(&words, &[(OUTPUT, "new.json")]), expected, "{given:?}");
        }
    }

    #[test]
    fn of_settings_only_the_one_of_the_same_key_is_replaced() {
        let words = ["run", "--set", "time=2s", "--set=span=9MB", "--set", "span=8MB"];
        let command = after(&words, &[(SET, "span=4MB"), (LEAVE, "1MB")]);
        assert_eq!(command, "flashlag run --set time=2s --set span=4MB --leave 1MB");
    }

    #[test]
    fn a_stopped_run_goes_on_with_its_scenario_its_settings_and_its_file() {
        let words = ["run", "lifecycle", "--on", ".", "--set", "time=2s"].map(str::to_owned);
        let first = resuming(words.to_vec(), "a.json");
        assert_eq!(first, "flashlag run lifecycle --on . --set time=2s --resume -o a.json");
        let again = first.split(' ').skip(1).map(str::to_owned).collect();
        assert_eq!(resuming(again, "a.json"), first);
    }

    #[test]
    fn words_are_quoted_as_a_shell_needs_it() {
        let command = after(&["run", "--on", "my disk's"], &[(REPORT, "$x.html")]);
        assert_eq!(command, r"flashlag run --on 'my disk'\''s' --report '$x.html'");
    }
}
