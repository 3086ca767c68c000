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

pub use single::{Chart, NoChart, Theme, chart_svg, charts};

/// What a page says in addition to the run files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The names of the run files, in the order of the runs, so that a reader finds the raw data.
    pub run_files: Vec<String>,
    /// A line across the top of the page: where the data are synthetic, that no device was
    /// measured.
    pub banner: Option<String>,
}

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
