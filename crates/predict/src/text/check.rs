use std::fmt::Write;

use super::table::Table;
use super::{number, signed, wrapped};
use crate::check::{Bar, Cell, CheckReport, Fitted, Move, Verdict};

/// Published beside simulated, row by row; what was fitted to which; what misses its bar.
pub fn check(report: &CheckReport) -> String {
    let mut text = wrapped(&report.about, &format!("{}: ", report.profile), 2);
    let seeds: Vec<String> = report.seeds.iter().map(u64::to_string).collect();
    let _ = writeln!(text, "Mean of seeds {}, lowest and highest in brackets.", seeds.join(", "));
    text.push_str(&wrapped(
        "Bars: throughput within 20%, one write cell of a device within 35%; medians within 15%; \
         losses within 5 points; torture within a factor of two.",
        "",
        0,
    ));
    text.push('\n');
    let _ = write!(text, "{}", rows(report));
    text.push_str("* a parameter was fitted to this row\n\n");
    misses(report, &mut text);
    fitted(report, &mut text);
    sensitivity(report, &mut text);
    if !report.assumptions.is_empty() {
        text.push_str("\nAssumed:\n");
        for assumption in &report.assumptions {
            text.push_str(&wrapped(assumption, "- ", 2));
        }
    }
    text
}

fn rows(report: &CheckReport) -> Table {
    let head = ["condition", "test", "published", "", "simulated", "spread", "error", ""];
    let mut table = Table::new(&head, &[1, 3, 7]);
    for cell in &report.cells {
        let (simulated, spread) = match &cell.simulated {
            Ok(simulated) if simulated.each.len() > 1 => {
                let (low, high) = (number(simulated.low), number(simulated.high));
                (number(simulated.mean), format!("[{low} {high}]"))
            }
            Ok(simulated) => (number(simulated.mean), String::new()),
            Err(_) => ("-".to_owned(), String::new()),
        };
        let star = if cell.fitted.is_empty() { "" } else { "*" };
        table.row(vec![
            shortened(&cell.published.condition),
            format!("{}{star}", cell.test),
            number(cell.published.value),
            unit(cell),
            simulated,
            spread,
            cell.error.map(signed).unwrap_or_default() + error_unit(cell),
            verdict(cell.verdict).to_owned(),
        ]);
    }
    table
}

/// Conditions are sentences in places; their ends tell them apart least.
fn shortened(condition: &str) -> String {
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

fn misses(report: &CheckReport, text: &mut String) {
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
    text.push_str(&wrapped(&line, "", 0));
    for cell in of(Verdict::Missing) {
        if let Err(reason) = &cell.simulated {
            text.push_str(&wrapped(reason, &format!("- {}: ", cell.label()), 2));
        }
    }
    for inversion in &report.inversions {
        let (device, workload, metric) = &inversion.column;
        let line = format!(
            "{workload} ({metric}) of {device}: {} was above {} ({} and {}), but comes out below \
             it ({} and {})",
            inversion.higher,
            inversion.lower,
            number(inversion.published.0),
            number(inversion.published.1),
            number(inversion.simulated.0),
            number(inversion.simulated.1),
        );
        text.push_str(&wrapped(&line, "- ", 2));
    }
}

fn fitted(report: &CheckReport, text: &mut String) {
    let counts = report.overfitting;
    let _ = writeln!(
        text,
        "\n{} parameters were fitted to {} rows; of the {} other rows {} are within their bars.",
        counts.parameters, counts.fitted_cells, counts.free_cells, counts.free_passed
    );
    for parameter in &report.fitted {
        text.push_str(&wrapped(&about(parameter), &format!("- {} = ", parameter.key), 4));
    }
}

fn about(parameter: &Fitted) -> String {
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

fn sensitivity(report: &CheckReport, text: &mut String) {
    if report.sensitivity.is_empty() {
        return;
    }
    text.push('\n');
    let head = "What moves when a parameter moves by a tenth, or by its smallest step (one seed; rows \
                that move by less than 1% are left out):";
    text.push_str(&wrapped(head, "", 0));
    for one in &report.sensitivity {
        let _ = writeln!(text, "  {}", one.key);
        for moved in [&one.down, &one.up] {
            text.push_str(&wrapped(&effect(report, moved), &format!("    {}: ", moved.value), 6));
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
