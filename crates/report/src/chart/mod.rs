//! Drawings as inline SVG. Positions are percentages of the drawing, so that it can stretch while
//! its text keeps its size; lines are in an inner drawing that stretches, with strokes that do not.

mod axis;
mod bars;
mod cause;
mod depth;
mod distribution;
mod labels;
mod layers;
mod mark;
mod plot;
mod rate;
mod ratio;
mod series;
mod strip;
mod svg;
#[cfg(test)]
pub(crate) mod testing;

pub use axis::LatencyAxis;
pub(crate) use bars::{plain_bar, share_bar, split_bar, status_icon};
pub(crate) use cause::{Kind, mark as cause_mark, swatch};
pub(crate) use depth::{DepthPlot, DepthPoint};
pub use distribution::DistributionPlot;
pub(crate) use layers::Layers;
pub use mark::SeriesMark;
pub(crate) use plot::{FillPlot, Stroke};
pub(crate) use rate::RatePlot;
pub(crate) use ratio::{RatioAxis, RatioMark};
pub(crate) use series::SeriesPlot;
pub(crate) use strip::{
    ROOM_FOR_A_NAME, axis_drawing, ground_drawing, head_drawing, key_drawing, mark_row, row_drawing,
};
pub use strip::{StripMarks, strip_axis, strip_head, strip_key, strip_row, strip_style};
pub(crate) use svg::{Anchor, Svg};
