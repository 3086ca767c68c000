//! Parts for other pages: the style sheet, drawings as inline SVG, and escaping.
//!
//! A page made of these looks like a report, in both themes, on a phone and on paper.

pub use crate::chart::{
    DistributionPlot, LatencyAxis, SeriesMark, StripMarks, strip_axis, strip_head, strip_key,
    strip_row, strip_style,
};
pub use crate::markup::{Markup, escape, finished};
pub use crate::page::style;
