//! Published figures with their sources, and the rank of this run among them.

use askama::Template;
use flashlag_schema::Run;
use flashlag_views::{MARKS_NOTE, marks_beside, places};

use super::Section;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/published.html")]
struct Body {
    places: Vec<Place>,
    marks: Vec<Mark>,
}

struct Place {
    title: String,
    sentence: String,
    caveat: String,
}

struct Mark {
    device: String,
    figures: String,
    source: String,
    note: String,
}

/// The section.
pub(super) fn section(run: &Run) -> Option<Section> {
    let places: Vec<Place> = places(run)
        .into_iter()
        .map(|place| Place { title: place.title, sentence: place.sentence, caveat: place.caveat })
        .collect();
    let body = Body { places, marks: mark_rows(marks_beside(run)) };
    if body.places.is_empty() && body.marks.is_empty() {
        return None;
    }
    Some(Section {
        id: "published",
        name: "Published figures",
        heading: "How it compares with published devices".to_owned(),
        side: vec![MARKS_NOTE.to_owned()],
        body: Markup::of(&body),
    })
}

fn mark_rows(marks: Vec<flashlag_views::Mark>) -> Vec<Mark> {
    let marks = marks.into_iter().map(|mark| {
        let figures: Vec<String> = mark.points.into_iter().map(|point| point.label).collect();
        Mark {
            device: mark.device,
            figures: figures.join(", "),
            source: mark.source,
            note: mark.note,
        }
    });
    marks.collect()
}
