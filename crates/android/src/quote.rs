use std::fmt;

/// A command for the phone's shell with every word quoted: a path or a serial number from the phone
/// is never interpreted by the shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommand(String);

impl ShellCommand {
    /// A command of these words, each of which reaches the program unchanged.
    pub fn of(words: &[&str]) -> ShellCommand {
        let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        ShellCommand(quoted.join(" "))
    }

    /// Text for the shell itself, with nothing in it that comes from outside.
    pub(crate) fn script(text: String) -> ShellCommand {
        ShellCommand(text)
    }

    /// The text for the shell.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ShellCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A word in single quotes, within which a POSIX shell interprets nothing but the closing quote.
/// Plain words stay as they are.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_words_stay_readable() {
        let command = ShellCommand::of(&["mkdir", "-p", "/data/local/tmp/a", "it's", ""]);
        assert_eq!(command.text(), "mkdir -p /data/local/tmp/a 'it'\\''s' ''");
    }

    proptest! {
        #[test]
        fn a_shell_gives_each_word_to_the_program_as_it_was(words in prop::collection::vec("[^\0]{0,12}", 1..5)) {
            let mut all = vec!["printf", "%s|"];
            all.extend(words.iter().map(String::as_str));
            let printed = Command::new("sh").arg("-c").arg(ShellCommand::of(&all).text()).output().unwrap();
            let expected: String = words.iter().map(|word| format!("{word}|")).collect();
            prop_assert_eq!(String::from_utf8(printed.stdout).unwrap(), expected);
        }
    }
}
