//! Compares numbers as text: a changed digit may leave the value unchanged (the seventeenth of a
//! float, `1e3` for `1000.0`), but is still a change of the file.

use super::figures::Discrepancy;

/// The first number of `stored` whose text differs from the same number in `written`, the same run
/// as this program writes it. Spaces and the order of lines do not matter.
pub(super) fn first_changed_number(stored: &str, written: &str) -> Option<Discrepancy> {
    let mut stored = Tokens::new(stored);
    let mut written = Tokens::new(written);
    loop {
        match (stored.next_number(), written.next_number()) {
            (None, None) => return None,
            (Some(number), Some(again)) if number == again => {}
            (number, again) => {
                return Some(Discrepancy {
                    path: written.key.to_owned(),
                    stored: number.unwrap_or("no number").to_owned(),
                    recomputed: again.unwrap_or("no number").to_owned(),
                });
            }
        }
    }
}

/// The numbers of a JSON text that is known to be valid.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
    /// The last string: the key of a number, or of the list that it is in.
    key: &'a str,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Tokens<'a> {
        Tokens { text, at: 0, key: "" }
    }

    fn next_number(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => self.skip_string(),
                b'-' | b'0'..=b'9' => return Some(self.take_number()),
                _ => self.at += 1,
            }
        }
        None
    }

    /// Every byte of a number is ASCII, so both ends are character boundaries.
    fn take_number(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Quotes and backslashes are ASCII, so both ends are character boundaries.
    fn skip_string(&mut self) {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut end = start;
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        self.key = self.text.get(start..end).unwrap_or_default();
        self.at = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(stored: &str, written: &str) -> Option<(String, String, String)> {
        first_changed_number(stored, written).map(|one| (one.path, one.stored, one.recomputed))
    }

    fn at(path: &str, stored: &str, written: &str) -> Option<(String, String, String)> {
        Some((path.to_owned(), stored.to_owned(), written.to_owned()))
    }

    #[test]
    fn the_same_numbers_are_the_same_whatever_stands_between_them() {
        assert_eq!(changed("{\"a\":[1,-2.5e-3]}", "{ \"a\": [\n 1,\t-2.5e-3 ] }"), None);
        assert_eq!(changed("{}", "{}"), None);
        assert_eq!(changed("7", "7"), None);
    }

    #[test]
    fn a_number_is_all_of_its_digits_sign_point_and_exponent() {
        for (stored, written) in [
            ("1.5e+3", "1500"),
            ("1e3", "1000.0"),
            ("1E3", "1e3"),
            ("-1", "1"),
            ("0.30000000000000004", "0.3"),
            ("12", "1"),
        ] {
            let texts = (format!("{{\"k\": {stored}}}"), format!("{{\"k\": {written}}}"));
            assert_eq!(changed(&texts.0, &texts.1), at("k", stored, written));
        }
    }

    #[test]
    fn digits_in_strings_are_no_numbers_and_the_last_string_names_the_next_number() {
        assert_eq!(changed("{\"a1\": \"23\"}", "{\"a1\": \"45\"}"), None);
        let stored = r#"{"first": 1, "a \"2\" \\": 3, "last": [4, 5]}"#;
        assert_eq!(changed(stored, stored), None);
        let other = r#"{"first": 1, "a \"2\" \\": 3, "last": [4, 6]}"#;
        assert_eq!(changed(stored, other), at("last", "5", "6"));
        assert_eq!(changed(r#"{"x": "\"", "y": 1}"#, r#"{"x": "\"", "y": 2}"#), at("y", "1", "2"));
    }

    #[test]
    fn a_number_too_many_or_too_few_is_a_change() {
        assert_eq!(changed("{\"k\": [1, 2]}", "{\"k\": [1]}"), at("k", "2", "no number"));
        assert_eq!(changed("{\"k\": [1]}", "{\"k\": [1, 2]}"), at("k", "no number", "2"));
    }
}
