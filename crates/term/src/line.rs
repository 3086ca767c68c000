use flashlag_units::{harmless, to_ascii};

use crate::style::{Role, Style};
use crate::text::{cut, width, wrap};

/// One line of coloured pieces, with its width. Added text is stripped of control characters and, in
/// a style without Unicode, made ASCII.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    style: Style,
    pieces: Vec<(Role, String)>,
    used: usize,
}

impl Line {
    pub(crate) fn new(style: Style) -> Line {
        Line { style, pieces: Vec::new(), used: 0 }
    }

    /// Columns used so far.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Appends a piece.
    pub(crate) fn add(&mut self, role: Role, text: &str) -> &mut Line {
        let text = self.prepare(text);
        self.used += width(&text);
        match self.pieces.last_mut() {
            Some((last, piece)) if *last == role => piece.push_str(&text),
            _ => self.pieces.push((role, text)),
        }
        self
    }

    /// Appends a piece in exactly `columns`, aligned to the left.
    pub(crate) fn left(&mut self, role: Role, text: &str, columns: usize) -> &mut Line {
        let text = cut(&self.prepare(text), columns, self.style.unicode);
        let room = columns - width(&text).min(columns);
        self.add(role, &text).add(Role::Ink, &" ".repeat(room))
    }

    /// Appends a piece in exactly `columns`, aligned to the right.
    pub(crate) fn right(&mut self, role: Role, text: &str, columns: usize) -> &mut Line {
        let text = cut(&self.prepare(text), columns, self.style.unicode);
        let room = columns - width(&text).min(columns);
        self.add(Role::Ink, &" ".repeat(room)).add(role, &text)
    }

    /// Fills up to `column` with spaces.
    pub(crate) fn to(&mut self, column: usize) -> &mut Line {
        let room = column.saturating_sub(self.used);
        self.add(Role::Ink, &" ".repeat(room))
    }

    fn prepare(&self, text: &str) -> String {
        let text = harmless(text);
        if self.style.unicode { text } else { to_ascii(&text) }
    }

    /// The line, cut to the style's width, without spaces at its end.
    pub(crate) fn render(&self) -> String {
        let mut rendered = String::new();
        let mut room = self.style.columns();
        let last = self.pieces.iter().rposition(|(_, text)| !text.trim_end().is_empty());
        for (index, (role, text)) in self.pieces.iter().enumerate() {
            let Some(last) = last.filter(|last| index <= *last) else { break };
            let text = if index == last { text.trim_end() } else { text };
            let text = cut(text, room, self.style.unicode);
            room -= width(&text).min(room);
            match role.sgr().filter(|_| self.style.color && !text.trim().is_empty()) {
                Some(sgr) => rendered.push_str(&format!("\x1b[{sgr}m{text}\x1b[0m")),
                None => rendered.push_str(&text),
            }
            if room == 0 {
                break;
            }
        }
        rendered
    }
}

/// Lines of text.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    style: Style,
    lines: Vec<String>,
}

impl Page {
    pub(crate) fn new(style: Style) -> Page {
        Page { style, lines: Vec::new() }
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    pub(crate) fn push(&mut self, line: &Line) {
        self.lines.push(line.render());
    }

    /// An empty line, except at the start of the page or after another one.
    pub(crate) fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// A wrapped paragraph.
    pub(crate) fn paragraph(&mut self, role: Role, text: &str) {
        self.hanging(&Line::new(self.style), 0, role, text);
    }

    /// A wrapped paragraph: its first line begins with `head`, the others at column `indent`.
    pub(crate) fn hanging(&mut self, head: &Line, indent: usize, role: Role, text: &str) {
        let text = head.prepare(text);
        let mut line = head.clone();
        line.to(indent);
        // The first line has the columns that `head` leaves; it is wrapped as if indented by that much.
        let room = self.style.columns().saturating_sub(line.used.max(indent));
        if room < 2 {
            self.push(&line);
            return;
        }
        let texts = wrap(&text, room);
        if texts.is_empty() && line.used > 0 {
            self.push(&line);
        }
        for (index, text) in texts.iter().enumerate() {
            if index > 0 {
                line = Line::new(self.style);
                line.to(indent);
            }
            line.add(role, text);
            self.push(&line);
        }
    }

    pub(crate) fn finish(mut self) -> String {
        while self.lines.last().is_some_and(String::is_empty) {
            self.lines.pop();
        }
        self.lines.push(String::new());
        self.lines.join("\n")
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines
    }
}
