use flashlag_units::sanitize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Width of `text` in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// As [`sanitize`], but keeps the double spaces between parts.
pub(crate) fn sanitize_parts(text: &str) -> String {
    text.split("  ").map(sanitize).collect::<Vec<_>>().join("  ")
}

/// `text` cut to `columns`, with an ellipsis in place of what is cut.
pub(crate) fn cut(text: &str, columns: usize, unicode: bool) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for character in text.chars() {
        let next = character.width().unwrap_or(0);
        if used + next + 1 > columns {
            break;
        }
        used += next;
        kept.push(character);
    }
    if columns > 0 {
        kept.push(if unicode { '…' } else { '~' });
    }
    kept
}

/// Lines of at most `columns`, broken at spaces but never between a number and its unit; a longer word
/// is broken anywhere.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in flashlag_units::line_words(text) {
        let needed = width(word);
        if used > 0 && used + 1 + needed > columns {
            lines.push(std::mem::take(&mut line));
            used = 0;
        } else if used > 0 {
            line.push(' ');
            used += 1;
        }
        for character in word.chars() {
            let next = character.width().unwrap_or(0);
            if used + next > columns {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(character);
            used += next;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// A paragraph wrapped at `columns`.
pub fn wrapped(text: &str, columns: usize) -> String {
    wrap(&sanitize(text), columns).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_lose_nothing_but_spaces() {
        let text = "a directory /with/a/path/longer/than/the/line and words";
        for columns in 2..60 {
            let lines = wrap(text, columns);
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:?}");
            let all: String = lines.concat().split(' ').collect();
            assert_eq!(all, text.replace(' ', ""), "{columns}");
        }
    }

    #[test]
    fn a_wide_character_is_never_cut_in_half() {
        assert_eq!(cut("日本語ですよ", 6, true), "日本…");
        assert_eq!(width(&cut("日本語ですよ", 5, true)), 5);
        assert_eq!(cut("abc", 3, true), "abc");
        assert_eq!(cut("abcd", 3, false), "ab~");
        assert_eq!(cut("abcd", 0, true), "");
    }
}
