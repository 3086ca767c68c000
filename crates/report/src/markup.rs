use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;

/// HTML or SVG that was made here, from templates and drawings that escape what they are given.
/// Templates print it as it is; every other string they print is escaped.
#[derive(Clone, Debug, Default)]
pub struct Markup(String);

impl Markup {
    /// What a template renders to.
    pub fn of(template: &impl Template) -> Markup {
        // Rendering into a String fails only where a Display implementation does; none here does.
        Markup(template.render().unwrap_or_default())
    }

    /// A drawing, whose builder has escaped its texts.
    pub fn drawn(svg: String) -> Markup {
        Markup(svg)
    }

    /// Text of flashlag's own in which commands stand between backticks: they are set as code.
    pub fn with_code(text: &str) -> Markup {
        let parts: Vec<&str> = text.split('`').collect();
        if parts.len().is_multiple_of(2) {
            return Markup(escape(text));
        }
        let pieces = parts.iter().enumerate().map(|(index, part)| match index % 2 {
            1 => format!("<code>{}</code>", escape(part)),
            _ => escape(part),
        });
        Markup(pieces.collect())
    }

    /// The text of the markup.
    pub fn into_string(self) -> String {
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
pub fn escape(text: &str) -> String {
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

/// The page as it is given away: nothing hides in it, and no line of its text breaks between a number
/// and its unit or within an option.
pub fn finished(page: &str) -> String {
    glued(&visible(page))
}

/// Elements whose text stays as it is: programs' text, and drawings, which place theirs.
const AS_IT_IS: [&str; 6] = ["style", "title", "pre", "code", "svg", "script"];

/// Every text between tags through [`glue`]. What is no tag has no `<`: templates escape it.
fn glued(page: &str) -> String {
    let mut finished = String::with_capacity(page.len() + page.len() / 50);
    // The element that is left alone, and how many of that name are open.
    let mut inside: Option<(&str, u32)> = None;
    let mut rest = page;
    while let Some(begin) = rest.find('<') {
        let end = rest[begin..].find('>').map_or(rest.len(), |length| begin + length + 1);
        match inside {
            Some(_) => finished.push_str(&rest[..begin]),
            None => glue(&rest[..begin], &mut finished),
        }
        let tag = &rest[begin..end];
        let closes = tag.starts_with("</");
        let name = tag.trim_start_matches(['<', '/']);
        let name = &name[..name.find([' ', '>', '/']).unwrap_or(name.len())];
        inside = match (inside, closes) {
            (Some((known, count)), true) if known == name => {
                (count > 1).then_some((known, count - 1))
            }
            (Some((known, count)), false) if known == name && !tag.ends_with("/>") => {
                Some((known, count + 1))
            }
            (None, false) if AS_IT_IS.contains(&name) && !tag.ends_with("/>") => Some((name, 1)),
            (inside, _) => inside,
        };
        finished.push_str(tag);
        rest = &rest[end..];
    }
    finished.push_str(rest);
    finished
}

/// One text, without the places where no line may break.
fn glue(text: &str, finished: &mut String) {
    let is_space = |c: char| c == ' ';
    let ends = text.trim_start_matches(is_space);
    finished.push_str(&text[..text.len() - ends.len()]);
    let inner = ends.trim_end_matches(is_space);
    for (index, word) in flashlag_units::line_words(inner).enumerate() {
        if index > 0 {
            finished.push(' ');
        }
        let word = word.replace(' ', "\u{a0}");
        // A browser breaks lines after the dashes of `--set`.
        let option = word.trim_start_matches('(').strip_prefix("--");
        if option.is_some_and(|name| name.len() <= 24 && name.starts_with(char::is_alphabetic)) {
            *finished += &format!("<span class=\"nb\">{word}</span>")
        } else {
            *finished += &word
        }
    }
    finished.push_str(&ends[inner.len()..]);
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
    use super::{Markup, escape, finished, visible};

    #[test]
    fn no_line_breaks_before_a_unit_or_within_an_option() {
        let page = "<h1>a 60 Hz frame, <b>4 KiB</b> </h1><p> try --set x=1</p><pre>4 KiB --a</pre>\
                    <svg><svg><text>4 KiB</text></svg> 5 ms</svg> 5 ms";
        let wanted = "<h1>a 60\u{a0}Hz frame, <b>4\u{a0}KiB</b> </h1><p> try \
                      <span class=\"nb\">--set</span> x=1</p><pre>4 KiB --a</pre>\
                      <svg><svg><text>4 KiB</text></svg> 5 ms</svg> 5 ms";
        assert_eq!(finished(page), wanted);
        assert_eq!(finished("<p>5 ms</p>"), "<p>5\u{a0}ms</p>");
        assert_eq!(finished("<p title=\"5 ms\">a</p"), "<p title=\"5 ms\">a</p");
    }

    #[test]
    fn commands_between_backticks_are_code_and_a_lone_backtick_is_text() {
        let of = |text| Markup::with_code(text).into_string();
        assert_eq!(of("Mount with `data=<x>`."), "Mount with <code>data=&lt;x&gt;</code>.");
        assert_eq!(of("`a` or `b`"), "<code>a</code> or <code>b</code>");
        assert_eq!(of("a `<b>"), "a `&lt;b&gt;");
    }

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
