//! Turns run files into one self-contained HTML page.
//!
//! The page needs no network and no script: a content security policy forbids both. Charts are
//! inline SVG. It opens from disk, in light and dark, from 360 px to a desktop, and prints.
//! `flashlag-views` decides what it says; this crate decides how it looks.
//!
//! Every string of a run is untrusted: templates and drawings escape it, and characters that could
//! hide or reorder text are shown as replaced.
#![forbid(unsafe_code)]

mod chart;
mod draw;
mod markup;
mod page;
pub mod parts;
mod single;

use flashlag_schema::Run;
use flashlag_schema::history::History;
use flashlag_views::Comparison;

pub use page::Options;
pub use single::{Chart, NoChart, Theme, chart_svg, charts};

/// The report of one run.
pub fn html(run: &Run, options: &Options) -> String {
    markup::finished(&page::report(run, options))
}

/// The first screen of the report as a piece of another page, as a notebook shows it: what the run says,
/// and the picture. It brings no style sheet and needs none.
pub fn first_screen(run: &Run) -> String {
    let picture = chart_svg(run, single::STRIP, Theme::Light).ok();
    markup::finished(&page::first_screen(run, picture.as_deref()))
}

/// Two or more runs side by side: the runs that `comparison` was made of, in the same order.
pub fn comparison_html(comparison: &Comparison, runs: &[Run], options: &Options) -> String {
    markup::finished(&page::comparison(comparison, runs, options))
}

/// A history of months.
pub fn history_html(history: &History) -> String {
    markup::finished(&page::history(history))
}
