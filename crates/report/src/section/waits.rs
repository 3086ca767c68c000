//! The parts of a wait: on the CPU, waiting for one, blocked on storage.

use askama::Template;
use flashlag_schema::Run;
use flashlag_views::{WaitGroup, WaitPart, format, waits};

use super::{Flag, Section};
use crate::chart::split_bar;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/waits.html")]
struct Body {
    what: String,
    rows: Vec<Row>,
}

struct Row {
    label: String,
    range: String,
    flag: Option<Flag>,
    doubt: bool,
    mean: String,
    bar: Markup,
    parts: Vec<(String, String)>,
}

/// The section; `None` if no wait was split.
pub(super) fn section(run: &Run) -> Option<Section> {
    let waits = waits(run)?;
    let rows = waits.groups.iter().map(|group| row(run, group));
    let body = Body { what: waits.what.clone(), rows: rows.collect() };
    Some(Section {
        id: "waits",
        name: "Where the wait goes",
        heading: waits.heading,
        side: vec![
            "The scheduler’s account of the measuring thread: running, runnable but waiting for a \
             CPU, and the rest."
                .to_owned(),
        ],
        body: Markup::of(&body),
    })
}

fn row(run: &Run, group: &WaitGroup) -> Row {
    let part = |part: WaitPart| (format::time(part.time), format::share(part.share));
    Row {
        label: format!("{}, {}", group.label, group.stage.to_lowercase()),
        range: format!("{}, n = {}; {}", group.range, format::count(group.n), group.basis()),
        flag: Flag::of(run, &group.failures),
        doubt: !group.failures.is_empty(),
        mean: format::time(group.mean),
        bar: split_bar(group),
        parts: [group.on_cpu, group.waiting_for_cpu, group.blocked].map(part).to_vec(),
    }
}
