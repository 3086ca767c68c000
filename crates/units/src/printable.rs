//! What may be shown: nothing that moves a cursor, changes a colour, ends a line or reorders it.

/// Whether a terminal shows this character and does nothing else by it: no control character (C0,
/// C1), none that sets the direction of what follows, and none that is invisible.
pub fn is_printable(character: char) -> bool {
    let acts = matches!(character,
        '\u{00AD}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}');
    !character.is_control() && !acts
}

/// One line of `text` that a terminal only shows: each character that does something else is a
/// space. Names of files and devices, and what programs answer, come from outside and are data.
pub fn printable_line(text: &str) -> String {
    text.chars().map(|character| if is_printable(character) { character } else { ' ' }).collect()
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
}
