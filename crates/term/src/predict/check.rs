//! A profile compared with published measurements.

use flashlag_predict::check::{Bar, Cell, CheckReport, FittedParameter, Move, Verdict};
use flashlag_views::format::plural;

use super::{NONE, figures, item, list, number, row, signed};
use crate::line::Page;
use crate::style::{Role, Style};

/// Published beside simulated, row by row, with the parameters fitted to each and the rows out of
/// bounds.
pub fn check(report: &CheckReport, style: Style) -> String {
    let mut page = Page::new(style);
    item(&mut page, &format!("{}: ", report.profile), 2, &report.about);
    let seeds: Vec<String> = report.seeds.iter().map(u64::to_string).collect();
    let seeds = seeds.join(", ");
    let seeds = format!("Mean of seeds {seeds}; lowest and highest in brackets where they differ.");
    page.paragraph(Role::Ink, &seeds);
    page.paragraph(
        Role::Ink,
        "Bars: throughput within 20%, one write cell of a device within 35%; medians within 15%, p90 \
         within 20%, p99 within 25%; losses within 5 points; torture within a factor of two. A check \
         may have narrower ones.",
    );
    page.gap();
    rows(&mut page, report);
    page.paragraph(Role::Ink, "* a parameter was fitted to this row");
    page.gap();
    misses(&mut page, report);
    fitted(&mut page, report);
    sensitivity(&mut page, report);
    list(&mut page, "Assumed:", &report.assumptions);
    page.finish()
}

fn rows(page: &mut Page, report: &CheckReport) {
    let table = figures(&["condition"]).words("test").column("published", 0).words("");
    let table = table.column("simulated", 0).column("spread", 1).column("error", 0);
    let mut table = table.words("");
    for cell in &report.cells {
        let (simulated, spread) = match &cell.simulated {
            Ok(simulated) if simulated.each.len() > 1 => {
                let (low, high) = (number(simulated.low), number(simulated.high));
                let spread = if low == high { String::new() } else { format!("[{low} {high}]") };
                (number(simulated.mean), spread)
            }
            Ok(simulated) => (number(simulated.mean), String::new()),
            Err(_) => (NONE.to_owned(), String::new()),
        };
        let star = if cell.fitted.is_empty() { "" } else { "*" };
        let cells = [
            format!("{}{star}", cell.test),
            number(cell.published.value),
            unit(cell),
            simulated,
            spread,
            cell.error.map(signed).unwrap_or_default() + error_unit(cell),
            verdict(cell.verdict).to_owned(),
        ];
        row(&mut table, &shortened(&cell.published.condition), cells);
    }
    table.print(page);
}

/// A condition cut at its end, where conditions differ least.
pub(super) fn shortened(condition: &str) -> String {
    const MOST: usize = 18;
    if condition.chars().count() <= MOST {
        return condition.to_owned();
    }
    let cut: String = condition.chars().take(MOST - 1).collect();
    format!("{cut}…")
}

fn unit(cell: &Cell) -> String {
    match cell.published.metric.strip_prefix("latency ") {
        Some(percentile) => format!("{percentile} {}", cell.published.unit),
        None => cell.published.unit.clone(),
    }
}

fn error_unit(cell: &Cell) -> &'static str {
    match (cell.error, cell.bar) {
        (None, _) => "",
        (_, Bar::Points(_)) => " pt",
        _ => "%",
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "ok",
        Verdict::Allowance => "ok ±35",
        Verdict::Fail => "MISS",
        Verdict::Missing => "NONE",
    }
}

fn misses(page: &mut Page, report: &CheckReport) {
    let of = |verdict: Verdict| report.cells.iter().filter(move |cell| cell.verdict == verdict);
    let (failed, missing) = (of(Verdict::Fail).count(), of(Verdict::Missing).count());
    let good = report.cells.len() - failed - missing;
    let near = report.near();
    let line = format!(
        "{good} of {} rows within their bars, {failed} missed, {missing} missing; {near} within 20%; {} pairs \
         of rows in the wrong order.",
        report.cells.len(),
        report.inversions.len()
    );
    page.paragraph(Role::Strong, &line);
    for cell in of(Verdict::Missing) {
        if let Err(reason) = &cell.simulated {
            item(page, &format!("- {}: ", cell.label()), 2, &reason.to_string());
        }
    }
    for inversion in &report.inversions {
        let (device, workload, metric) = &inversion.column;
        let line = format!(
            "{workload} ({metric}) of {device}: {} was above {} ({} and {}), but the simulation \
             is below it ({} and {})",
            inversion.higher,
            inversion.lower,
            number(inversion.published.0),
            number(inversion.published.1),
            number(inversion.simulated.0),
            number(inversion.simulated.1),
        );
        item(page, "- ", 2, &line);
    }
}

fn fitted(page: &mut Page, report: &CheckReport) {
    let counts = report.overfitting;
    let fitted = format!(
        "{} fitted to {}",
        plural(counts.parameters, "parameter was", "parameters were"),
        plural(counts.fitted_cells, "row", "rows")
    );
    let line = match (counts.fitted_cells, counts.free_cells) {
        (0, _) => "No parameter was fitted to any of these rows.".to_owned(),
        (_, 0) => format!("{fitted}: no row is left that could test the profile."),
        (_, free) => format!(
            "{fitted}; of the {} to which none was fitted, {} within their bars.",
            plural(free, "row", "rows"),
            plural(counts.free_passed, "is", "are"),
        ),
    };
    page.gap();
    page.paragraph(Role::Ink, &line);
    for parameter in &report.fitted {
        item(page, &format!("- {} = ", parameter.key), 4, &about(parameter));
    }
}

fn about(parameter: &FittedParameter) -> String {
    let range = match &parameter.range {
        Some((low, high)) => format!("plausible: {low} to {high}"),
        None => "no range is given".to_owned(),
    };
    let place = match (parameter.outside, parameter.bound) {
        (true, _) => "; OUTSIDE ITS RANGE".to_owned(),
        (false, Some(bound)) => format!("; ON ITS {} BOUND", bound.to_uppercase()),
        (false, None) => String::new(),
    };
    let rows = parameter.rows.join(", ");
    format!("{} ({range}{place}); fitted to {rows}; {}", parameter.value, parameter.source)
}

fn sensitivity(page: &mut Page, report: &CheckReport) {
    if report.sensitivity.is_empty() {
        return;
    }
    page.gap();
    let head = "Changes of rows when a parameter changes by a tenth, or by its smallest step (one seed; \
                changes below 1% are left out):";
    page.paragraph(Role::Ink, head);
    for one in &report.sensitivity {
        item(page, "  ", 2, &one.key);
        for moved in [&one.down, &one.up] {
            item(page, &format!("    {}: ", moved.value), 6, &effect(report, moved));
        }
    }
}

fn effect(report: &CheckReport, moved: &Move) -> String {
    let changes = match &moved.cells {
        Ok(changes) => changes,
        Err(reason) => return format!("can't be simulated: {reason}"),
    };
    let rows: Vec<String> = report
        .cells
        .iter()
        .zip(changes)
        .filter_map(|(cell, change)| {
            let change = (*change)?;
            (change.abs() >= 1.0).then(|| format!("{} {}", cell.label(), signed(change)))
        })
        .collect();
    if rows.is_empty() { "nothing".to_owned() } else { rows.join(", ") }
}
