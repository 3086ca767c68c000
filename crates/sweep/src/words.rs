//! Words of a command line.

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
mod tests {
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
