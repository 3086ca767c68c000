//! One save or write, layer by layer: bytes passed on, and time waited.

use askama::Template;
use flashlag_schema::Run;
use flashlag_units::Bytes;
use flashlag_views::{LayerShare, Layered, format, layered};

use super::Section;
use crate::chart::plain_bar;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/layered.html")]
struct Body {
    caption: String,
    rows: Vec<Row>,
}

struct Row {
    name: &'static str,
    bytes: String,
    bytes_bar: Option<Markup>,
    time: String,
    time_bar: Option<Markup>,
    detail: String,
}

/// The section; `None` where neither bytes nor times are known.
pub(super) fn section(run: &Run) -> Option<Section> {
    let layered = layered(run)?;
    let most = layered.most_bytes().max(1.0);
    let rows = layered.rows.iter().map(|row| row_of(&layered, row, most));
    let Layered { one, title, mean, .. } = &layered;
    let mean = format::time(*mean);
    let heading =
        layered.sentence().unwrap_or_else(|| format!("What each layer writes for a {one}"));
    Some(Section {
        id: "layers",
        name: "Layer by layer",
        heading: heading.trim_end_matches('.').to_owned(),
        side: vec![
            "Bytes that each layer passes on, and time waited in it, for one operation on average; \
             the bars are shares of the largest and of the whole wait."
                .to_owned(),
        ],
        body: Markup::of(&Body {
            caption: format!("A mean {one} of {mean}: {title}."),
            rows: rows.collect(),
        }),
    })
}

fn row_of(layered: &Layered, row: &LayerShare, most: f64) -> Row {
    let parts = [row.requests.as_str(), row.what.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let unknown = || format::NONE.to_owned();
    Row {
        name: row.name,
        bytes: row.bytes.map_or_else(unknown, |bytes| Bytes(bytes.round() as u64).to_string()),
        bytes_bar: row.bytes.map(|bytes| plain_bar(bytes / most)),
        time: row.time.map_or_else(unknown, format::time),
        time_bar: row.time.map(|_| plain_bar(layered.share(row))),
        detail: parts.join("; "),
    }
}
