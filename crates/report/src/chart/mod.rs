//! Drawings as inline SVG. Positions are percentages of the drawing, so that it stretches while
//! its type keeps its size; lines run in a stretched inner drawing with strokes that don't stretch.

mod axis;
mod bars;
mod distribution;
mod labels;
mod mark;
mod plot;
mod rate;
mod ratio;
mod series;
mod strip;
mod svg;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use axis::LatencyAxis;
pub(crate) use bars::{share_bar, split_bar, status_icon};
pub(crate) use distribution::DistributionPlot;
pub(crate) use mark::SeriesMark;
pub(crate) use plot::{FillPlot, Stroke};
pub(crate) use rate::RatePlot;
pub(crate) use ratio::{RatioAxis, RatioMark};
pub(crate) use series::{SeriesPlot, SeriesPoint, SeriesStall, cause_key};
pub(crate) use strip::{
    StripMarks, mark_row, strip_axis, strip_head, strip_key, strip_row, strip_style,
};
