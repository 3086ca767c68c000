//! The result of power cuts during saves.

use flashlag_schema::Cuts;
use flashlag_units::printable_line;

use crate::line::{Line, Page};
use crate::style::{Role, Style};

/// Power cuts during saves: how many lost acknowledged saves, damaged the database or left a
/// filesystem that does not mount, and the first failures.
pub fn power_cuts(cuts: &Cuts, style: Style) -> String {
    let mut page = Page::new(style);
    let Cuts { target, cuts: count, saves, with_loss, lost, acknowledged, .. } = cuts;
    page.paragraph(Role::Strong, &format!("{count} power cuts during {saves} saves on {target}"));
    let lines = [
        format!(
            "{with_loss} lost acknowledged saves, {lost} of {acknowledged} in all, {} at most in \
             one",
            cuts.most_lost
        ),
        format!(
            "{} left a damaged database, {} a filesystem that does not mount",
            cuts.damaged, cuts.unmountable
        ),
        format!("{} left a file that is gone or empty", cuts.empty),
    ];
    for text in lines.into_iter().chain(cuts.failures.iter().map(|text| printable_line(text))) {
        let mut head = Line::new(style);
        head.add(Role::Ink, " ");
        page.hanging(&head, 2, Role::Ink, &text);
    }
    page.finish()
}
