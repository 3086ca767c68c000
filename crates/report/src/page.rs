use askama::Template;
use flashlag_schema::Run;
use flashlag_schema::history::History;
use flashlag_views::Comparison;
use flashlag_views::history::history_page;
use flashlag_views::page::{Lede, Page, comparison_page, run_page};

use crate::chart::strip_style;
use crate::draw::{self, Drawn, picture};
use crate::markup::Markup;

/// What a page says in addition to the run files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The names of the run files, in the order of the runs, so that a reader finds the raw data.
    pub run_files: Vec<String>,
    /// A line across the top of the page: where the data are synthetic, that no device was
    /// measured.
    pub banner: Option<String>,
}

#[derive(Template)]
#[template(path = "page.html")]
struct PageTemplate<'a> {
    title: &'a str,
    style: Markup,
    /// CSS properties of the picture's axis.
    axis: Markup,
    banner: Option<&'a str>,
    meta: &'a [String],
    sentence: &'a str,
    ledes: &'a [Lede],
    first: Markup,
    sections: Vec<Drawn>,
    footer: String,
}

#[derive(Template)]
#[template(path = "style.css", escape = "none")]
struct Style;

/// The style sheet, without its comments.
pub fn style() -> Markup {
    Markup::of(&Style)
}

/// A page with its style sheet.
fn drawn(page: &Page, options: &Options) -> String {
    let axis = picture::axis_of(&page.picture);
    let loads = "This page loads nothing from the network and runs no script.";
    let template = PageTemplate {
        title: &page.title,
        style: style(),
        axis: strip_style(&axis),
        banner: options.banner.as_deref(),
        meta: &page.meta,
        sentence: &page.sentence,
        ledes: &page.ledes,
        first: picture::draw(&page.picture, &axis),
        sections: page.sections.iter().map(|section| draw::section(section, &axis)).collect(),
        footer: format!("{} {loads}", page.footer).trim().to_owned(),
    };
    Markup::of(&template).into_string()
}

/// The page of one run.
pub(crate) fn report(run: &Run, options: &Options) -> String {
    drawn(&run_page(run, &options.run_files), options)
}

/// The page of a history.
pub(crate) fn history(history: &History) -> String {
    drawn(&history_page(history), &Options::default())
}

/// The page of a comparison.
pub(crate) fn comparison(comparison: &Comparison, runs: &[Run], options: &Options) -> String {
    drawn(&comparison_page(comparison, runs, &options.run_files), options)
}

/// The first screen of the page as a piece of another page: sentences, and the picture as an image that
/// shares no style with what is around it.
#[derive(Template)]
#[template(path = "first_screen.html")]
struct FirstScreen {
    meta: Vec<String>,
    sentence: String,
    ledes: Vec<Lede>,
    /// The picture as an SVG in a data URI; empty without one.
    picture: String,
}

/// The first screen of the page of one run.
pub(crate) fn first_screen(run: &Run, picture: Option<&str>) -> String {
    let Page { meta, sentence, ledes, .. } = run_page(run, &[]);
    let picture = picture.map(data_uri).unwrap_or_default();
    Markup::of(&FirstScreen { meta, sentence, ledes, picture }).into_string()
}

/// An SVG as the address of an image.
fn data_uri(svg: &str) -> String {
    let mut uri = "data:image/svg+xml;charset=utf-8,".to_owned();
    for byte in svg.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b' '
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b'/'
            | b'='
            | b':'
            | b','
            | b';' => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
