//! One point of a grid: a device, a state and a scenario, and the command that reproduces it.

use flashlag_units::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Digits of an id: with ten million points, two ids are equal once in 370,000 sweeps.
const ID_DIGITS: usize = 16;

/// One combination of a grid's values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// A built-in scenario, or a TOML file.
    pub scenario: String,
    /// A built-in profile, or a TOML file.
    pub profile: String,
    /// The filesystem, with options; empty for the profile's.
    pub filesystem: String,
    /// Options of the mount, between commas; may be empty.
    pub options: String,
    /// The device's capacity; empty for the profile's.
    pub size: String,
    /// The device's state at the start: `new`, `full` or `aged:12mo`; empty for new.
    pub age: String,
    /// The share of the room for files that is in use before the tests, in millionths; 0 for none.
    pub full: u32,
    /// Settings of the scenario.
    pub set: Vec<(String, String)>,
    /// Parameters of the profile.
    pub parameters: Vec<(String, String)>,
    /// The seed of every random choice.
    pub seed: u64,
}

impl Point {
    /// The filesystem with all options, after `+`; empty for the profile's own without further
    /// options.
    pub(crate) fn mount(&self, profiles_own: &str) -> String {
        let filesystem = if self.filesystem.is_empty() { profiles_own } else { &self.filesystem };
        let mut words: Vec<String> = [filesystem, &self.options]
            .iter()
            .flat_map(|text| text.split(','))
            .map(str::to_owned)
            .collect();
        for (name, value) in [("size", &self.size), ("state", &self.age)] {
            words.extend((!value.is_empty()).then(|| format!("{name}={value}")));
        }
        let name = |word: &String| word.split('=').next().unwrap_or_default().trim().to_owned();
        // If an option occurs twice the later one counts, since a target has each option once.
        let later = |at: usize| words[at + 1..].iter().any(|other| name(other) == name(&words[at]));
        let kept = (0..words.len()).filter(|at| !words[*at].trim().is_empty() && !later(*at));
        kept.map(|at| words[at].as_str()).collect::<Vec<_>>().join(",")
    }

    /// The target: `sim:nexus7-2012+ext4,size=256MiB`.
    pub(crate) fn target(&self, profiles_own: &str) -> String {
        format!("sim:{}+{}", self.profile, self.mount(profiles_own))
    }

    /// The point's name in the table: the same in every grid that has it.
    pub fn id(&self) -> String {
        // Writing a plain struct as JSON can't fail.
        let canonical = serde_json::to_vec(self).unwrap_or_default();
        let mut id = hex(&Sha256::digest(&canonical));
        id.truncate(ID_DIGITS);
        id
    }

    /// The command that reproduces the point; `leave` is the free space that its fill leaves.
    pub(crate) fn command(&self, profiles_own: &str, leave: Option<Bytes>) -> String {
        let mut words = vec!["flashlag".to_owned(), "run".to_owned(), self.scenario.clone()];
        words.extend(["--on".to_owned(), self.target(profiles_own)]);
        for (option, pairs) in [("--set", &self.set), ("--parameter", &self.parameters)] {
            for (key, value) in pairs {
                words.extend([option.to_owned(), format!("{key}={value}")]);
            }
        }
        words.extend(["--seed".to_owned(), self.seed.to_string()]);
        if let Some(leave) = leave {
            words.extend(["--leave".to_owned(), format!("{}B", leave.0)]);
        }
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A word quoted for a shell: in single quotes if it has characters with a meaning.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The setting of a scenario that fills the storage before its tests.
pub(crate) const FILLED: &str = "filled";

#[cfg(test)]
mod quoted_tests {
    use super::quoted;

    #[test]
    fn a_word_is_quoted_only_where_a_shell_would_change_it() {
        let target = "sim:nexus7-2012+ext4,size=64MiB,state=aged:12mo";
        assert_eq!(quoted(target), target);
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $x"), r"'it'\''s $x'");
    }
}
