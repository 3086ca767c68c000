use std::collections::BTreeMap;
use std::fmt::Write;

use flashlag_schema::State;
use flashlag_schema::profile::FittedFrom;

use super::table::Table;
use super::{number, percent, warned, wrapped};
use crate::fit::{Confounded, Fit, FitParameter, Residual, Told, Tuned};

const ENOUGH: &str = ", as many as were allowed: more may find a better one";

/// What was fitted, how close it comes, and what the run does not determine.
pub fn fit(fit: &Fit) -> String {
    let mut text = wrapped(
        &format!(
            "Fitted to {} on {}, from {}: figures are off by {} typically, by {} before the fit. \
             {} simulations from {} starts{}.",
            fit.run,
            fit.filesystem,
            fit.start,
            percent(fit.misfit),
            percent(fit.misfit_before),
            fit.simulations,
            fit.starts.len(),
            if fit.exhausted {
                ", as many as were allowed: more may find a better one"
            } else {
                ""
            },
        ),
        "",
        0,
    );
    let starts: Vec<String> = fit.starts.iter().map(|one| percent(*one)).collect();
    let _ =
        writeln!(text, "Typical error of the best fit from each start: {}.\n", starts.join(", "));
    let from = fit.profile.fitted_from.as_ref();
    warned(&from.map(FittedFrom::warnings).unwrap_or_default(), &mut text);
    let _ = write!(text, "{}", parameters(&fit.parameters));
    text.push('\n');
    let _ = write!(text, "{}", residuals(&fit.residuals));
    untold(&fit.told, &fit.parameters, &mut text);
    if !fit.lacks.is_empty() {
        text.push_str("\nWhat the run lacks:\n");
        for lack in &fit.lacks {
            text.push_str(&wrapped(lack, "- ", 2));
        }
    }
    text
}

/// What a profile's values became, and what its published rows do not determine.
pub fn tuned(tuned: &Tuned) -> String {
    let mut text = wrapped(
        &format!(
            "Rows are off by {} typically, by {} before; {} runs from {} starts{}.",
            percent(tuned.misfit),
            percent(tuned.misfit_before),
            tuned.simulations,
            tuned.starts.len(),
            if tuned.exhausted { ENOUGH } else { "" },
        ),
        "",
        0,
    );
    text.push('\n');
    let _ = write!(text, "{}", parameters(&tuned.parameters));
    untold(&tuned.told, &tuned.parameters, &mut text);
    text
}

fn parameters(all: &[FitParameter]) -> Table {
    let mut table =
        Table::new(&["parameter", "start", "fitted", "±", "", "from the figures of"], &[4, 5]);
    let told = |one: &&FitParameter| one.uncertainty.is_some() || one.before != one.after;
    for one in all.iter().filter(told) {
        table.row(vec![
            one.key.clone(),
            one.before.clone(),
            one.after.clone(),
            one.uncertainty.map(percent).unwrap_or_default(),
            one.bound.map(|bound| format!("on its {bound} bound")).unwrap_or_default(),
            one.rows.join(", "),
        ]);
    }
    table
}

/// p50, p99 and rate of a phase: before and after the fit.
type Line = [Option<(f64, f64)>; 3];

/// Simulated over measured, a line for each phase.
fn residuals(all: &[Residual]) -> Table {
    let mut lines: BTreeMap<(State, u32, &str), Line> = BTreeMap::new();
    let mut order = Vec::new();
    for residual in all {
        let figure = &residual.figure;
        let key = (figure.state, figure.run, figure.test.as_str());
        if !lines.contains_key(&key) {
            order.push(key);
        }
        let place = match figure.what {
            "p50" => 0,
            "p99" => 1,
            "rate" => 2,
            // Bands of ranks are between these, and too many for a page.
            _ => continue,
        };
        lines.entry(key).or_default()[place] = Some((residual.before, residual.after));
    }
    let head = ["simulated / measured", "p50", "before", "p99", "before", "rate", "before"];
    let mut table = Table::new(&head, &[]);
    for key in order {
        let mut row = vec![key.0.label(key.1, key.2)];
        for figure in lines[&key] {
            match figure {
                Some((before, after)) => row.extend([number(after), number(before)]),
                None => row.extend(["-".to_owned(), "-".to_owned()]),
            }
        }
        table.row(row);
    }
    table
}

fn untold(told: &Told, parameters: &[FitParameter], text: &mut String) {
    if !told.confounded.is_empty() {
        text.push_str("\nParameters that can't be told apart (one makes up for the other):\n");
        for one in &told.confounded {
            text.push_str(&wrapped(&pair(one), "- ", 2));
        }
    }
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in parameters {
        if let Some(why) = &one.held {
            reasons.entry(why).or_default().push(&one.key);
        }
    }
    if !reasons.is_empty() {
        text.push_str("\nLeft as in the starting profile:\n");
        for (why, keys) in reasons {
            text.push_str(&wrapped(&keys.join(", "), &format!("- {why}: "), 2));
        }
    }
}

fn pair(one: &Confounded) -> String {
    match one.correlation {
        Some(correlation) => {
            format!("{} (their effects correlate by {correlation:.3})", one.keys.join(" and "))
        }
        None => format!("{} together", one.keys.join(", ")),
    }
}
