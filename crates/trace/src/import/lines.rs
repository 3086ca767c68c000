//! Lines of bounded length.

use std::io::{self, BufRead};

/// The longest line that is read, in bytes. strace prints paths of 4,096 bytes with each byte escaped.
const LONGEST: usize = 1 << 16;

/// The next piece of the text.
pub(super) enum Piece<'a> {
    /// A line without its end. Bytes that are not UTF-8 are replaced.
    Line(&'a str),
    /// A line longer than any of a trace, skipped.
    TooLong,
}

/// Whether the lines of a text with this beginning end in bare carriage returns, as on an old Mac.
pub(super) fn has_returns_only(head: &[u8]) -> bool {
    head.contains(&b'\r') && !head.contains(&b'\n')
}

/// A text whose carriage returns are turned into newlines.
pub(super) struct Returns<R>(pub(super) R);

impl<R: io::Read> io::Read for Returns<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(into)?;
        for byte in into.iter_mut().take(read).filter(|byte| **byte == b'\r') {
            *byte = b'\n';
        }
        Ok(read)
    }
}

/// The lines of a text, read in bounded memory.
pub(super) struct Lines<R> {
    from: R,
    bytes: Vec<u8>,
    text: String,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(from: R) -> Lines<R> {
        Lines { from, bytes: Vec::new(), text: String::new() }
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        self.bytes.clear();
        let (mut any, mut too_long) = (false, false);
        loop {
            let part = match self.from.fill_buf() {
                Ok(part) => part,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if part.is_empty() {
                break;
            }
            any = true;
            let end = part.iter().position(|byte| *byte == b'\n');
            let line = &part[..end.unwrap_or(part.len())];
            too_long |= self.bytes.len() + line.len() > LONGEST;
            if !too_long {
                self.bytes.extend_from_slice(line);
            }
            let used = end.map_or(part.len(), |end| end + 1);
            self.from.consume(used);
            if end.is_some() {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        if too_long {
            return Ok(Some(Piece::TooLong));
        }
        let mut bytes = self.bytes.as_slice();
        while let Some(rest) = bytes.strip_suffix(b"\r") {
            bytes = rest;
        }
        self.text.clear();
        self.text.push_str(&String::from_utf8_lossy(bytes));
        Ok(Some(Piece::Line(&self.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8], capacity: usize) -> Vec<Option<String>> {
        let mut lines = Lines::new(io::BufReader::with_capacity(capacity, text));
        let mut found = Vec::new();
        while let Some(piece) = lines.next().unwrap() {
            found.push(match piece {
                Piece::Line(line) => Some(line.to_owned()),
                Piece::TooLong => None,
            });
        }
        found
    }

    #[test]
    fn a_line_is_the_same_however_it_is_read_and_one_too_long_is_skipped() {
        let mut text = b"one\r\n\n\xfftwo\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', LONGEST + 1));
        text.extend(b"\nlast");
        let line = |text: &str| Some(text.to_owned());
        let expected = vec![line("one"), line(""), line("\u{fffd}two"), None, line("last")];
        for capacity in [1, 7, 1 << 20] {
            assert_eq!(all(&text, capacity), expected, "{capacity}");
        }
        assert!(all(b"", 8).is_empty());
    }
}
