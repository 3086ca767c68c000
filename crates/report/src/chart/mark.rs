use super::svg::{Pct, Svg};

/// The style of a curve: colour, shape and dashes. Curves differ in each of them, and the colours in
/// lightness too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesMark(usize);

impl SeriesMark {
    /// Number of marks.
    pub const COUNT: usize = flashlag_views::page::CURVES;

    /// The mark of a curve by its index; marks repeat after the last.
    pub fn nth(index: usize) -> SeriesMark {
        SeriesMark(index % SeriesMark::COUNT)
    }

    pub(crate) fn index(self) -> usize {
        self.0
    }

    /// The class of the style sheet that sets its colour and line.
    pub(crate) fn class(self) -> &'static str {
        ["s0", "s1", "s2", "s3", "s4"].get(self.0).copied().unwrap_or("s0")
    }

    /// Circle, square, triangle, diamond, cross.
    fn shape(self) -> &'static str {
        match self.0 {
            0 => "M-3.5 0A3.5 3.5 0 1 0 3.5 0A3.5 3.5 0 1 0-3.5 0Z",
            1 => "M-3.5-3.5H3.5V3.5H-3.5Z",
            2 => "M0-4.5L4 3H-4Z",
            3 => "M-4.5 0L0-4.5L4.5 0L0 4.5Z",
            _ => "M-3.5-3.5L3.5 3.5M3.5-3.5L-3.5 3.5",
        }
    }

    /// Draws the shape.
    pub(crate) fn draw(self, svg: &mut Svg, x: Pct, y: Pct) {
        self.draw_beside(svg, x, y, 0.0);
    }

    /// Draws the shape `moved` pixels to the right of a place.
    pub(crate) fn draw_beside(self, svg: &mut Svg, x: Pct, y: Pct, moved: f64) {
        let (class, shape) = (self.class(), self.shape());
        let place = match moved {
            0.0 => String::new(),
            moved => format!(" transform=\"translate({moved},0)\""),
        };
        svg.shape(format_args!(
            "<svg x=\"{x}\" y=\"{y}\" overflow=\"visible\"><path class=\"mk {class}\"{place} d=\"{shape}\"/></svg>"
        ));
    }
}
