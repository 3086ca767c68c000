use flashlag_schema::Run;
use flashlag_units::sanitize;
use flashlag_views::{Required, Requires, format, good_enough as answer, other_purposes};

use super::figures::Depth;
use crate::line::Page;
use crate::style::Role;
use crate::table::Table;

/// Which other purposes the figures of the run decide.
pub(super) fn purposes(page: &mut Page, run: &Run, depth: Depth) {
    others(page, run, depth == Depth::Full);
}

/// Which other purposes the figures of the run decide: in short without the figures.
pub(crate) fn others(page: &mut Page, run: &Run, full: bool) {
    let others = other_purposes(run);
    if let Some(heading) = others.heading() {
        page.gap();
        page.paragraph(Role::Ink, &sanitize(&format!("{heading}.")));
    }
    if full {
        for one in &others.judged {
            page.paragraph(Role::Muted, &sanitize(&one.sentence));
        }
        if let Some(rest) = others.not_measured() {
            page.paragraph(Role::Muted, &rest);
        }
    }
}

/// Whether the storage is good enough for the purpose of the scenario: the answer, then each figure with its limit and
/// who published that.
pub(super) fn good_enough(page: &mut Page, run: &Run, _: Depth) {
    let Some(answer) = answer(run) else { return };
    page.paragraph(Role::Strong, &sanitize(&answer.sentence));
    let mut table = Table::new("requirement").column("measured", 0).column("limit", 0).words("");
    for Required { figure, measured, limit, verdict, .. } in &answer.requirements {
        let role = match verdict {
            Requires::Met => Role::Pass,
            Requires::NotMet => Role::Late,
            Requires::Unknown => Role::Unknown,
        };
        let measured = measured.clone().unwrap_or_else(|| format::NONE.to_owned());
        let cells = vec![
            (role, measured),
            (Role::Muted, limit.clone()),
            (role, verdict.in_words().to_owned()),
        ];
        table.row((Role::Ink, &sanitize(figure)), cells);
    }
    table.print(page);
    let mut sources: Vec<&str> = Vec::new();
    for required in &answer.requirements {
        if !sources.contains(&required.source.as_str()) {
            sources.push(&required.source);
        }
    }
    for source in sources {
        page.paragraph(Role::Muted, &sanitize(&format!("Source: {source}.")));
    }
}
