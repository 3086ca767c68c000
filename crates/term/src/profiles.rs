//! The list of simulated devices.

use flashlag_spec::profile::Profile;
use flashlag_units::{Bytes, sanitize};
use flashlag_views::{Standing, standings};

use crate::line::{Line, Page};
use crate::style::{Role, Style};

const USE: [&str; 3] = [
    "Run any scenario on one: flashlag run lifecycle --on sim:NAME[+FS,OPTION...]",
    "`flashlag profiles show NAME` prints one as a file to start your own from;",
    "`flashlag profiles check NAME` compares it with what reviewers published.",
];

/// Device profiles, two lines each: what the device is; its capacity, its filesystem and how many
/// published rows its model meets. Then how to use one.
pub fn profiles(profiles: &[Profile], style: Style) -> String {
    let mut page = Page::new(style);
    let names = profiles.iter().map(|profile| crate::text::width(&sanitize(&profile.name)));
    let widest = names.max().unwrap_or(0);
    for profile in profiles {
        let mut head = Line::new(style);
        head.left(Role::Strong, &sanitize(&profile.name), widest);
        page.hanging(&head, widest + 2, Role::Ink, &sanitize(&profile.about));
        let capacity = profile.model().map_or(Bytes::ZERO, |model| model.map.capacity.0);
        let standing = standings().iter().find(|standing| standing.profile == profile.name);
        let checked = standing.map_or_else(
            || "; nothing was published to check it by".to_owned(),
            |Standing { near, rows, .. }| format!("; {near} of {rows} published rows within 20%"),
        );
        let mut head = Line::new(style);
        head.left(Role::Ink, "", widest);
        let text = format!("{capacity} on {}{checked}", profile.filesystem);
        page.hanging(&head, widest + 2, Role::Muted, &sanitize(&text));
    }
    page.gap();
    USE.iter().for_each(|line| page.paragraph(Role::Ink, line));
    page.finish()
}
