//! A page as data: which blocks, in which order. The HTML report and the Markdown page are drawings of it.

mod card;
mod changes;
mod comparison;
mod distribution;
mod environment;
mod figures;
mod findings;
mod model;
mod picture;
mod reproduce;
mod required;
mod run;
mod stalls;
mod trust;

pub use changes::{numbered_in_words, rate_series};
pub use comparison::comparison_page;
pub use distribution::distributions;
pub use model::{
    Block, CURVES, ChangeLine, CheckLine, Curve, Distributions, FiguresTable, FindingItem, Flag,
    Lede, Link, Matrix, MatrixCell, NamedCause, Page, Panel, PhaseSeries, Picture, PictureGroup,
    PictureRow, RateSeries, RatioRow, Ratios, Section, SeriesMedian, SeriesPoint, SeriesStall,
    TableKind, Term, Waited,
};
pub use picture::{caveats, named_rows, picture};
pub use reproduce::{done_otherwise, not_run};
pub use run::{meta, run_page, storage};
pub use stalls::{phase_series, series_rule};
pub use trust::{check_lines, status_name};
