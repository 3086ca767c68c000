//! The trace that was replayed.

use askama::Template;
use flashlag_schema::Run;
use flashlag_views::{REPLAY_RULE, replayed_traces};

use super::Section;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/replay.html")]
struct Body {
    traces: Vec<Trace>,
}

struct Trace {
    sentence: String,
    /// Medians where the trace was made and here; empty where it does not say.
    traced: String,
    sha256: String,
    notes: Vec<String>,
}

/// The section; `None` where no trace was replayed.
pub(super) fn section(run: &Run) -> Option<Section> {
    let traces: Vec<Trace> = replayed_traces(run)
        .into_iter()
        .map(|trace| {
            let (sentence, sha256) = (trace.sentence + ".", trace.sha256);
            Trace { sentence, traced: trace.traced, sha256, notes: trace.notes }
        })
        .collect();
    let heading = match traces.as_slice() {
        [] => return None,
        [only] => only.sentence.trim_end_matches('.').to_owned(),
        several => format!("A trace was replayed {} times", several.len()),
    };
    let body = Body { traces };
    Some(Section {
        id: "replay",
        name: "Replayed trace",
        heading,
        side: vec![REPLAY_RULE.to_owned()],
        body: Markup::of(&body),
    })
}
