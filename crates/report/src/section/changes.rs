//! What the interval series show: cache exhausted, throttled, periodic stalls, steady state.

use askama::Template;
use flashlag_explain::{changes, changes_heading, format};
use flashlag_schema::Run;

use super::Section;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/changes.html")]
struct Body {
    changes: Vec<Row>,
}

struct Row {
    title: String,
    name: &'static str,
    when: String,
    written: String,
    rate: Option<String>,
    period: Option<String>,
    detail: String,
}

/// The section; `None` where no series shows anything.
pub(super) fn section(run: &Run) -> Option<Section> {
    let rows: Vec<Row> = changes(run)
        .into_iter()
        .map(|seen| Row {
            title: seen.title,
            name: seen.name,
            when: format::time(seen.change.t_ns),
            written: format::size(seen.change.written_bytes),
            rate: seen.change.bytes_per_sec.map(|(before, after)| {
                format!("{} to {} MB/s", format::mb_per_s(before), format::mb_per_s(after))
            }),
            period: seen.change.period_ns.map(|period| format!("every {}", format::time(period))),
            detail: seen.change.detail.clone(),
        })
        .collect();
    (!rows.is_empty()).then(|| Section {
        id: "changes",
        name: "Changes",
        heading: changes_heading(run),
        side: vec![
            "Numbers are those in the charts above.".to_owned(),
            "Steady: five rounds within 20% of their mean, and a slope within 10% (SNIA)."
                .to_owned(),
        ],
        body: Markup::of(&Body { changes: rows }),
    })
}
