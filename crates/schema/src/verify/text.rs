//! Numbers as text: a digit may be changed without changing the value (the seventeenth of a float,
//! `1e3` for `1000.0`), and is a changed byte of a figure all the same.

use super::Discrepancy;

/// The first number of `stored` whose text differs from the one in the same place of `written`,
/// the same run as this program writes it. Spaces and the order of lines do not matter.
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

    /// Every byte of a number is ASCII, so both ends are at characters.
    fn take_number(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Quotes and backslashes are ASCII, so both ends are at characters.
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
