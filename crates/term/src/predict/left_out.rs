//! What profiles forecast of published rows that were left out.

use flashlag_predict::fit::LeftOut;
use flashlag_views::format::plural;

use super::{figures, number, row, signed};
use crate::line::Page;
use crate::style::{Role, Style};

/// One profile, row by row; several, a line for each. They may be a family that was fitted at once.
pub fn left_out(all: &[LeftOut], is_family: bool, style: Style) -> String {
    let mut page = Page::new(style);
    match all {
        [one] => rows(&mut page, one),
        several => lines(&mut page, several),
    }
    let else_in =
        if is_family { " or, where others of the family have it, near theirs" } else { "" };
    page.paragraph(
        Role::Muted,
        &format!(
            "Each test's rows were left out once, and the parameters that were fitted to any row were \
             fitted again to the others. A parameter that only the left-out test decides is in the \
             middle of its plausible range then{else_in}. With one seed."
        ),
    );
    page.finish()
}

fn rows(page: &mut Page, one: &LeftOut) {
    page.paragraph(Role::Strong, &one.profile);
    let mut table = figures(&["condition"]).words("test").column("published", 0).words("");
    table = table.column("fitted", 0).column("left out", 0);
    for left in &one.rows {
        let unit = if left.published.unit == "%" { " pt" } else { "%" };
        let cells = [
            left.label.clone(),
            number(left.published.value),
            format!("{} {}", left.published.metric, left.published.unit),
            signed(left.own) + unit,
            signed(left.error) + unit,
        ];
        row(&mut table, &super::check::shortened(&left.published.condition), cells);
    }
    table.print(page);
    page.paragraph(Role::Strong, &sentence(one));
}

fn sentence(one: &LeftOut) -> String {
    match one.median_and_worst() {
        Some((median, worst)) => format!(
            "{} left out: median error {}%, worst {}%; {} fitted.",
            plural(one.rows.len(), "row", "rows"),
            number(median),
            number(worst),
            plural(one.parameters.len(), "parameter", "parameters"),
        ),
        None => format!("Nothing of {} was fitted to a published row.", one.profile),
    }
}

fn lines(page: &mut Page, all: &[LeftOut]) {
    let mut table = figures(&["profile", "parameters", "rows", "median error", "worst"]);
    for one in all {
        let (median, worst) = match one.median_and_worst() {
            Some((median, worst)) => {
                (format!("{}%", number(median)), format!("{}%", number(worst)))
            }
            None => (super::NONE.to_owned(), super::NONE.to_owned()),
        };
        let counts = [one.parameters.len(), one.rows.len()].map(|count| count.to_string());
        let [parameters, rows] = counts;
        row(&mut table, &one.profile, [parameters, rows, median, worst]);
    }
    table.print(page);
}
