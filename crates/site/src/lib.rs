//! Turns run files into a static site: all devices in one table, a page per device, a comparison of
//! any two, and the runs that do not count with the reason.
//!
//! The pages work from a web host and from a `file://` address. Tables and drawings need no script.
//! Searching, sorting, filtering and comparing need one: it is part of the page, and the content
//! security policy allows only its hash, so that nothing in a run file can be executed.
#![forbid(unsafe_code)]

mod apart;
mod cells;
mod compare;
mod data;
mod device;
mod frame;
mod index;
mod model;
mod pool;
mod setup;
mod words;
mod write;

use flashlag_store::{Entry, TableFormat, results_table, runs_table};

pub use model::{Options, Site};
pub use write::{WriteSiteError, Written, write_site};

/// A file of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFile {
    /// Its path within the site: `device/nexus-5.html`.
    pub path: String,
    pub contents: Vec<u8>,
}

/// Every file of the site, one at a time.
pub fn files<'a>(
    site: &'a Site<'a>,
    entries: &'a [Entry],
    options: &'a Options,
) -> impl Iterator<Item = SiteFile> + 'a {
    let page = |path: String, html: String| SiteFile { path, contents: html.into_bytes() };
    let style = SiteFile { path: "style.css".to_owned(), contents: frame::sheet().into_bytes() };
    let tables = index::pages(site, options).into_iter().map(move |(path, html)| page(path, html));
    let devices = (0..site.devices.len())
        .map(move |at| page(site.devices[at].path(), device::page(site, at, options)));
    let others = [
        ("compare.html", compare::page(site, options)),
        ("apart.html", apart::page(site, options)),
    ];
    let others = others.into_iter().map(move |(path, html)| page(path.to_owned(), html));
    std::iter::once(style).chain(tables).chain(others).chain(downloads(entries)).chain(devices)
}

/// The tables for download.
fn downloads(entries: &[Entry]) -> impl Iterator<Item = SiteFile> + '_ {
    let tables = [("runs", runs_table(entries)), ("phases", results_table(entries))];
    tables.into_iter().flat_map(|(name, table)| {
        frame::DOWNLOADS.into_iter().filter_map(move |(ending, _, format)| {
            // A format that this program was built without is not offered.
            let contents = TableFormat::write(format, &table, 0).ok()?;
            Some(SiteFile { path: format!("data/{name}.{ending}"), contents })
        })
    })
}
