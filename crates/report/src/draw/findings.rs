//! Findings, each with both measured sides on the picture's axis.

use askama::Template;
use flashlag_views::page::FindingItem;
use flashlag_views::{FindingSide, format};

use crate::chart::{LatencyAxis, StripMarks, strip_row};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "block/findings.html")]
struct List<'a> {
    found: Vec<Found<'a>>,
}

struct Found<'a> {
    item: &'a FindingItem,
    fix: Markup,
    price: Option<Markup>,
    /// The side that was measured, and the other one: a drawing, and the share that is late.
    now: Option<(Markup, String)>,
    fixed: Option<(Markup, String)>,
}

pub(super) fn list(found: &[FindingItem], axis: &LatencyAxis) -> Markup {
    let late = |side: &FindingSide| match side.figures.late_share() {
        Some(share) => format!("{} late", format::share(share)),
        None => String::new(),
    };
    let draw = |side: &FindingSide| {
        (strip_row(axis, &side.figures, StripMarks::Solid, &side.label), late(side))
    };
    let found = found.iter().map(|item| Found {
        item,
        fix: Markup::with_code(&item.fix),
        price: item.price.as_deref().map(Markup::with_code),
        now: item.sides.as_ref().map(|(now, _)| draw(now)),
        fixed: item.sides.as_ref().and_then(|(_, fixed)| fixed.as_ref()).map(draw),
    });
    Markup::of(&List { found: found.collect() })
}
