//! Safe output: no characters that move a cursor, change a colour, end a line or reorder it.

use unicode_width::UnicodeWidthChar;

/// Whether a terminal only shows this character: it is no control character (C0, C1), does not set
/// the direction of text, and is not invisible.
pub fn is_printable(character: char) -> bool {
    let acts = matches!(character,
        '\u{00AD}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}');
    !character.is_control() && !acts
}

/// `text` as one safe line: every character that is not printable becomes a space. Names of files
/// and devices, and the output of programs, come from outside.
pub fn printable_line(text: &str) -> String {
    text.chars().map(|character| if is_printable(character) { character } else { ' ' }).collect()
}

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
pub fn harmless(text: &str) -> String {
    text.chars().map(|character| if is_harmless(character) { character } else { ' ' }).collect()
}

fn is_harmless(character: char) -> bool {
    // Combining marks have no width of their own and could pile up on a neighbour.
    is_printable(character) && character.width().is_some_and(|width| width > 0)
}

/// Text in ASCII: a stand-in for each other character that flashlag prints, of the same width where
/// a picture depends on the columns, and `?` for any character that flashlag does not print itself.
pub fn to_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            character if character.is_ascii() => ascii.push(character),
            'µ' => ascii.push('u'),
            '×' | '✕' => ascii.push('x'),
            '✓' => ascii.push('+'),
            '±' => ascii.push_str("+-"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_becomes_a_space() {
        let hostile = "a\u{1b}[31m\u{1b}]0;x\u{7}\r\n\u{9b}2J\u{85}\u{202e}b\u{2066}\u{200f}\tü°";
        assert_eq!(printable_line(hostile), "a [31m ]0;x    2J  b   ü°");
        assert!(printable_line(hostile).chars().all(is_printable));
    }

    #[test]
    fn escape_sequences_and_reordering_marks_do_not_survive() {
        assert_eq!(sanitize("SD\u{1b}[31mX\r\n\tY\u{202e}Z\u{7}"), "SD [31mX Y Z");
        assert_eq!(sanitize("a\u{301}b"), "a b");
        assert_eq!(sanitize("\u{9b}2J"), "2J");
    }
}
