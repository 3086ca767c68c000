//! What errors in texts say: suggestions for mistyped names, types in words, lines.

/// Least similarity of a suggestion: one letter wrong, missing or too many in a name of four.
const ALIKE: f64 = 0.8;
/// Fewest letters of a prefix that counts as similar to its name.
const PREFIX: usize = 3;

/// The name in `known` that is most similar to `name`; `None` if none is similar. Case, `-` and `_`
/// do not matter, and a prefix is similar to its name.
///
/// ```
/// assert_eq!(flashlag_units::nearest("lifecylce", ["quick", "lifecycle"]), Some("lifecycle"));
/// assert_eq!(flashlag_units::nearest("banana", ["quick", "lifecycle"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody mistypes a longer name, and comparing takes quadratic time.
    if name.len() > 128 {
        return None;
    }
    let name = plain(name);
    let mut best: Option<(f64, &str)> = None;
    for candidate in known {
        let alike = likeness(&name, &plain(candidate));
        if alike >= ALIKE && best.is_none_or(|(highest, _)| alike > highest) {
            best = Some((alike, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// ``; did you mean `quick`?`` for the end of an error message; empty if no known name is similar.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// A message of serde with the type as a person says it: `expected u64` becomes `expected a whole number, 0 or more`.
///
/// ```
/// let message = "invalid type: string \"ten\", expected f64";
/// assert!(flashlag_units::types_in_words(message).ends_with("expected a number"));
/// ```
pub fn types_in_words(message: &str) -> String {
    let Some((before, kind)) = message.rsplit_once("expected ") else { return message.to_owned() };
    let words = match kind {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "text in quotes",
        "a sequence" => "a list in [ ]",
        "a map" => "keys with values",
        _ => return message.to_owned(),
    };
    format!("{before}expected {words}")
}

/// The line of a byte's offset in a text, counted from 1; the last one beyond the text's end.
///
/// ```
/// assert_eq!(flashlag_units::line_at("a = 1\nb = = 2\n", 10), 2);
/// ```
pub fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace('-', "_")
}

/// Similarity from 0, nothing in common, to 1, equal.
fn likeness(name: &str, candidate: &str) -> f64 {
    let alike = strsim::jaro_winkler(name, candidate);
    let begins = name.chars().count() >= PREFIX && candidate.starts_with(name);
    // Above all names that are merely similar, below the name itself.
    if begins && name != candidate { alike.max(0.99) } else { alike }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_of_the_language_is_said_in_words_and_nothing_else_changes() {
        let said = "invalid value: integer `-1`, expected u64";
        let plain = "invalid value: integer `-1`, expected a whole number, 0 or more";
        assert_eq!(types_in_words(said), plain);
        for kept in
            ["missing field `name`", "unknown variant `x`, expected `read` or `write`", "expected "]
        {
            assert_eq!(types_in_words(kept), kept);
        }
    }

    const SCENARIOS: [&str; 6] = ["quick", "fill", "lifecycle", "sqlite", "soak", "disk"];

    #[test]
    fn a_name_with_one_letter_off_is_found() {
        let cases = [
            ("quik", "quick"),
            ("Quick", "quick"),
            ("filll", "fill"),
            ("lifecycel", "lifecycle"),
            ("sqllite", "sqlite"),
            ("saok", "soak"),
            ("life", "lifecycle"),
            ("dsik", "disk"),
        ];
        for (typed, meant) in cases {
            assert_eq!(nearest(typed, SCENARIOS), Some(meant), "{typed}");
        }
        assert_eq!(
            nearest("rand-write-4k", ["rand_read_4k", "rand_write_4k"]),
            Some("rand_write_4k")
        );
        assert_eq!(
            nearest("rand_wrte_4k", ["rand_read_4k", "rand_write_4k"]),
            Some("rand_write_4k")
        );
        assert_eq!(nearest("rnus", ["runs", "span", "idle"]), Some("runs"));
    }

    #[test]
    fn a_name_unlike_all_of_them_is_not_guessed_at() {
        for typed in ["banana", "nonsense", "", "x", "ntfs", &"q".repeat(100_000)] {
            assert_eq!(nearest(typed, SCENARIOS), None, "{typed}");
        }
        assert_eq!(nearest("ntfs", ["raw", "ext4", "f2fs"]), None);
        assert_eq!(nearest("quick", []), None);
    }

    #[test]
    fn the_end_of_an_error_is_empty_where_there_is_nothing_to_offer() {
        assert_eq!(did_you_mean("quik", SCENARIOS), "; did you mean `quick`?");
        assert_eq!(did_you_mean("banana", SCENARIOS), "");
    }
}
