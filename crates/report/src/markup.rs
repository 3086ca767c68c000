use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;

/// HTML or SVG that was made here, from templates and drawings that escape what they are given.
/// Templates print it as it is; every other string they print is escaped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markup(String);

impl Markup {
    /// What a template renders to.
    pub(crate) fn of(template: &impl Template) -> Markup {
        // Rendering into a String fails only where a Display implementation does; none here does.
        Markup(template.render().unwrap_or_default())
    }

    /// A drawing, whose builder has escaped its texts.
    pub(crate) fn drawn(svg: String) -> Markup {
        Markup(svg)
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

/// Text within an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The page with every character that could hide, reorder or break text shown as U+FFFD. Run over
/// the finished page, so that no string of a device can be forgotten.
pub(crate) fn visible(page: &str) -> String {
    page.chars().map(|c| if hides(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Control characters but tab and newline, marks that set the direction of text, invisible
/// separators, tags and noncharacters. Zero-width joiners stay: scripts and emoji need them.
fn hides(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}' => true,
        '\u{fdd0}'..='\u{fdef}' | '\u{fff9}'..='\u{fffb}' => true,
        _ => c.is_control() || (u32::from(c) & 0xfffe) == 0xfffe,
    }
}

#[cfg(test)]
mod tests {
    use super::{escape, visible};

    #[test]
    fn markup_of_a_device_becomes_text() {
        assert_eq!(escape("<a b='c' d=\"e\">&"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;");
    }

    #[test]
    fn characters_that_hide_or_reorder_are_shown_as_replaced() {
        assert_eq!(visible("a\u{0}b\u{1b}[c\u{202e}d\u{2066}e\u{200f}f\u{feff}g\u{e0041}"), {
            "a\u{fffd}b\u{fffd}[c\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}g\u{fffd}"
        });
        assert_eq!(visible("Ελλ 日本 עברית \n\t é 👩‍💻"), "Ελλ 日本 עברית \n\t é 👩‍💻");
    }
}
