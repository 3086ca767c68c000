use std::fmt::{self, Write};

use crate::markup::{Markup, escape};

/// A position or length in percent of the drawing, with at most two decimals.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Pct(pub(crate) f64);

impl fmt::Display for Pct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0 * 100.0).round();
        write!(f, "{}%", if hundredths.is_finite() { hundredths / 100.0 } else { 0.0 })
    }
}

/// The alignment of a text at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn attribute(self) -> &'static str {
        match self {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        }
    }
}

/// An SVG under construction. Classes are constants of this crate; texts are escaped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Svg(String);

impl Svg {
    pub(crate) fn new() -> Svg {
        Svg::default()
    }

    /// Adds SVG markup as it is, for shapes without a method. Takes no device text.
    pub(crate) fn shape(&mut self, shape: fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.0.write_fmt(shape);
    }

    /// A rectangle.
    pub(crate) fn rect(&mut self, class: &str, x: Pct, width: Pct, y: Pct, height: Pct) {
        self.shape(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    /// A line between two points, `(x, y)` each.
    pub(crate) fn line(&mut self, class: &str, from: (Pct, Pct), to: (Pct, Pct)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.shape(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    /// A line from left to right at the height of the group's origin.
    pub(crate) fn level(&mut self, class: &str, from: Pct, to: Pct) {
        self.shape(format_args!("<line class=\"{class}\" x1=\"{from}\" x2=\"{to}\"/>"));
    }

    /// A text at `at`, moved by pixels.
    pub(crate) fn text(
        &mut self,
        class: &str,
        at: (Pct, Pct),
        moved: (f64, f64),
        anchor: Anchor,
        text: &str,
    ) {
        let ((x, y), (dx, dy)) = (at, moved);
        let (anchor, text) = (anchor.attribute(), escape(text));
        self.shape(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" dx=\"{dx}\" dy=\"{dy}\"{anchor}>{text}</text>"
        ));
    }

    /// Adds a drawing of 1000 × 1000, stretched over this one.
    pub(crate) fn stretched(&mut self, draw: impl FnOnce(&mut Svg)) {
        self.shape(format_args!(
            "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" width=\"100%\" height=\"100%\">"
        ));
        draw(self);
        self.shape(format_args!("</svg>"));
    }

    /// Another drawing within this one; place and size in pixels.
    pub(crate) fn place(&mut self, drawing: Svg, at: (f64, f64), size: (f64, f64)) {
        let ((x, y), (width, height)) = (at, size);
        self.shape(format_args!(
            "<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" overflow=\"visible\">"
        ));
        self.0 += &drawing.0;
        self.shape(format_args!("</svg>"));
    }

    /// A text at a place in pixels.
    pub(crate) fn text_at(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let ((x, y), anchor, text) = (at, anchor.attribute(), escape(text));
        self.shape(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>"
        ));
    }

    /// A path; only within [`Svg::stretched`].
    pub(crate) fn path(&mut self, class: &str, path: &str) {
        self.shape(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
    }

    /// The markup so far.
    pub(crate) fn bare(self) -> Markup {
        Markup::drawn(self.0)
    }

    /// The drawing, `height` pixels high, with its text alternative.
    pub(crate) fn named(self, height: u32, label: &str) -> Markup {
        let label = escape(label);
        let head = format!("<svg role=\"img\" aria-label=\"{label}\" height=\"{height}\">");
        Markup::drawn(head + &self.0 + "</svg>")
    }

    /// The drawing without a text alternative, for content that stands beside it.
    pub(crate) fn hidden(self, height: u32) -> Markup {
        let head = format!("<svg aria-hidden=\"true\" height=\"{height}\">");
        Markup::drawn(head + &self.0 + "</svg>")
    }
}

/// A path through points of a 1000 × 1000 drawing, rounded to whole units, without repeated points.
pub(super) fn polyline(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    let mut last = None;
    for (x, y) in points {
        let point = (thousandth(x), thousandth(y));
        if last != Some(point) {
            let command = if last.is_none() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{} {}", point.0, point.1);
            last = Some(point);
        }
    }
    path
}

/// A path of upright and level lines through corners of a 1000 × 1000 drawing, rounded to whole
/// units; lines that go on in the same direction become one.
pub(super) fn stairs(corners: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut kept: Vec<(i64, i64)> = Vec::new();
    for (x, y) in corners {
        let corner = (thousandth(x), thousandth(y));
        if let [.., before, last] = kept.as_slice() {
            let level = before.1 == last.1 && last.1 == corner.1;
            let upright = before.0 == last.0 && last.0 == corner.0;
            if level || upright {
                kept.pop();
            }
        }
        if kept.last() != Some(&corner) {
            kept.push(corner);
        }
    }
    let mut path = String::new();
    let mut last: Option<(i64, i64)> = None;
    for (x, y) in kept {
        let _ = match last {
            None => write!(path, "M{x} {y}"),
            Some((_, before)) if before == y => write!(path, "H{x}"),
            Some((before, _)) if before == x => write!(path, "V{y}"),
            Some(_) => write!(path, "H{x}V{y}"),
        };
        last = Some((x, y));
    }
    path
}

/// A path of dots.
pub(super) fn dots(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        let _ = write!(path, "M{} {}h0", thousandth(x), thousandth(y));
    }
    path
}

/// A percentage as a whole number of thousandths, within the drawing.
fn thousandth(percent: f64) -> i64 {
    (percent * 10.0).round().clamp(0.0, 1000.0) as i64
}
