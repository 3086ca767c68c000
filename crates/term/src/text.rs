use flashlag_units::is_printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `text` with nothing in it that could move a cursor, change a colour, end a line or reorder what
/// is read: control characters, format characters that set direction, and invisible ones become
/// spaces, and runs of spaces one. Names of devices and files come from outside and are data.
pub fn sanitize(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        let character = if is_harmless(character) { character } else { ' ' };
        if character != ' ' || !clean.ends_with(' ') {
            clean.push(character);
        }
    }
    clean.trim().to_owned()
}

/// As [`sanitize`], keeping runs of spaces: for text that is laid out already.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|character| if is_harmless(character) { character } else { ' ' }).collect()
}

fn is_harmless(character: char) -> bool {
    // Combining marks have no width of their own and could pile up on a neighbour.
    is_printable(character) && character.width().is_some_and(|width| width > 0)
}

/// Columns that `text` takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The ASCII for what these views print beyond it, column for column where a picture depends on
/// it; `?` for anything else.
pub(crate) fn to_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            character if character.is_ascii() => ascii.push(character),
            'µ' => ascii.push('u'),
            '×' | '✕' => ascii.push('x'),
            '✓' => ascii.push('+'),
            '▸' => ascii.push('>'),
            '●' => ascii.push('O'),
            '○' => ascii.push('o'),
            '◇' => ascii.push('*'),
            '━' | '█' => ascii.push('='),
            '╌' | '─' | '–' | '—' | '░' | '−' => ascii.push('-'),
            '┤' => ascii.push('|'),
            '│' | '╵' | '┊' => ascii.push(':'),
            '┼' | '┿' => ascii.push('+'),
            '…' => ascii.push('~'),
            '·' | '•' => ascii.push('.'),
            '≥' => ascii.push_str(">="),
            '≤' => ascii.push_str("<="),
            '→' => ascii.push_str("->"),
            '°' => {}
            '‘' | '’' => ascii.push('\''),
            '“' | '”' => ascii.push('"'),
            '\u{a0}' | '\u{2009}' | '\u{202f}' => ascii.push(' '),
            '▁'..='▇' => {
                ascii.push(['_', '.', ':', '-', '=', '+', '*'][character as usize - 0x2581])
            }
            _ => ascii.push('?'),
        }
    }
    ascii
}

/// As [`sanitize`], keeping the double spaces that set parts apart.
pub(crate) fn sanitize_parts(text: &str) -> String {
    text.split("  ").map(sanitize).collect::<Vec<_>>().join("  ")
}

/// At most `columns` of `text`; what is cut is marked by an ellipsis.
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

/// Lines of at most `columns`, broken at spaces but never between a number and its unit; a word
/// that is longer is broken where it must be.
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

/// A paragraph in lines of at most `columns`, for a terminal that would break it anywhere.
pub fn wrapped(text: &str, columns: usize) -> String {
    wrap(&sanitize(text), columns).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_reordering_marks_do_not_survive() {
        assert_eq!(sanitize("SD\u{1b}[31mX\r\n\tY\u{202e}Z\u{7}"), "SD [31mX Y Z");
        assert_eq!(sanitize("a\u{301}b"), "a b");
        assert_eq!(sanitize("\u{9b}2J"), "2J");
    }

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
