//! The trace that was replayed.

use flashlag_schema::Run;
use flashlag_units::sanitize;
use flashlag_views::replayed_traces;

use super::figures::Depth;
use crate::line::Page;
use crate::style::Role;

/// What was replayed, and how long its operations took where the trace was recorded; in the full
/// summary also its hash.
pub(super) fn replayed(page: &mut Page, run: &Run, depth: Depth) {
    for trace in replayed_traces(run) {
        page.paragraph(Role::Ink, &format!("{}.", trace.sentence));
        if !trace.traced.is_empty() {
            page.paragraph(Role::Ink, &format!("{}.", trace.traced));
        }
        for note in &trace.notes {
            page.paragraph(Role::Muted, &sanitize(note));
        }
        if depth == Depth::Full {
            page.paragraph(
                Role::Muted,
                &format!("SHA-256 of the trace: {}", sanitize(&trace.sha256)),
            );
        }
    }
}
