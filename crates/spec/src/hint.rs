use flashlag_units::{did_you_mean, types_in_words};

/// A message of the TOML reader about an unknown name, with the name that was probably meant: the
/// reader quotes the unknown name first and then every allowed name. Types are said in words.
pub(crate) fn with_hint(message: &str) -> String {
    let unknown =
        ["unknown field ", "unknown variant "].iter().any(|start| message.starts_with(start));
    let mut quoted = message.split('`').skip(1).step_by(2);
    match (unknown, quoted.next()) {
        (true, Some(written)) => format!("{message}{}", did_you_mean(written, quoted)),
        _ => types_in_words(message),
    }
}

#[cfg(test)]
mod tests {
    use super::with_hint;

    #[test]
    fn only_unknown_names_get_a_hint() {
        let message = "unknown field `patern`, expected one of `name`, `pattern`";
        assert_eq!(with_hint(message), format!("{message}; did you mean `pattern`?"));
        let message = "unknown variant `banana`, expected `read` or `write`";
        assert_eq!(with_hint(message), message);
        assert_eq!(with_hint("missing field `name`"), "missing field `name`");
        assert_eq!(with_hint("unknown field `"), "unknown field `");
    }
}
