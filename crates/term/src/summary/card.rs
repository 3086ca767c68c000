use flashlag_schema::Run;
use flashlag_units::sanitize;
use flashlag_views::cards;

use super::Depth;
use crate::line::{Line, Page};
use crate::style::Role;

/// What was done to prove a card, and what was found.
pub(super) fn proof(page: &mut Page, run: &Run, _: Depth) {
    for (name, text) in cards(run).into_iter().flat_map(|answer| answer.facts) {
        let mut head = Line::new(page.style());
        head.left(Role::Muted, name, 16);
        page.hanging(&head, 16, Role::Ink, &sanitize(&text));
    }
}
