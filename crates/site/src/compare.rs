//! The page that compares any two devices, set-ups or runs.

use askama::Template;
use flashlag_report::parts::Markup;
use flashlag_spec::PackedText;

use crate::frame::{Page, embedded};
use crate::model::Site;
use crate::{Options, data};

/// Packed by the build script.
static SCRIPT: PackedText =
    PackedText::new(include_bytes!(concat!(env!("OUT_DIR"), "/compare.js")));

#[derive(Template)]
#[template(path = "compare.html")]
struct Body {}

/// The page.
pub(crate) fn page(site: &Site<'_>, options: &Options) -> String {
    let page = Page {
        title: "Compare two devices or runs".to_owned(),
        root: "",
        style: Markup::default(),
        body: Markup::of(&Body {}),
        script: Some((SCRIPT.text(), embedded(&data::comparison(site)))),
    };
    page.html(site, options)
}
