//! Fits of a profile to a run.

use std::collections::BTreeMap;

use flashlag_predict::fit::{ConfoundedGroup, Fit, FitParameter, Identifiability, Residual};
use flashlag_spec::State;
use flashlag_spec::profile::FittedFrom;

use super::{NONE, figures, item, list, number, row, warnings};
use crate::line::Page;
use crate::style::{Role, Style};
use crate::table::Table;

/// A fit: its misfit, each fitted value, the figures before and after, and the parameters that the run
/// does not determine.
pub fn fit(fit: &Fit, style: Style) -> String {
    let mut page = Page::new(style);
    let exhausted =
        if fit.exhausted { ", as many as were allowed: more may find a better one" } else { "" };
    let first = format!(
        "Fitted to {} on {}, from {}: figures are off by {} typically, by {} before the fit. \
         {} simulations from {} starts{exhausted}.",
        fit.run,
        fit.filesystem,
        fit.start,
        percent(fit.misfit),
        percent(fit.misfit_before),
        fit.simulations,
        fit.starts.len(),
    );
    page.paragraph(Role::Ink, &first);
    let starts: Vec<String> = fit.starts.iter().map(|one| percent(*one)).collect();
    let starts = starts.join(", ");
    page.paragraph(Role::Ink, &format!("Typical error of the best fit from each start: {starts}."));
    page.gap();
    let from = fit.profile.fitted_from.as_ref();
    warnings(&mut page, &from.map(FittedFrom::warnings).unwrap_or_default());
    parameters(&mut page, &fit.parameters);
    page.gap();
    residuals(&mut page, &fit.residuals);
    undetermined(&mut page, &fit.identifiability, &fit.parameters);
    list(&mut page, "What the run lacks:", &fit.lacks);
    page.finish()
}

/// A share as a percentage: `0.3%`, `31%`, `more than 100%` where it says little.
fn percent(share: f64) -> String {
    if share.is_finite() && share <= 1.0 {
        flashlag_units::percent(share)
    } else {
        "more than 100%".to_owned()
    }
}

fn parameters(page: &mut Page, all: &[FitParameter]) {
    let mut table: Table =
        figures(&["parameter, from the figures of", "start", "fitted", "±"]).words("");
    let is_fitted = |one: &&FitParameter| one.uncertainty.is_some() || one.before != one.after;
    for one in all.iter().filter(is_fitted) {
        let cells = [
            one.before.clone(),
            one.after.clone(),
            one.uncertainty.map(percent).unwrap_or_default(),
            one.bound.map(|bound| format!("on its {bound} bound")).unwrap_or_default(),
        ];
        row(&mut table, &one.key, cells);
        if !one.rows.is_empty() {
            table.line((Role::Muted, &one.rows.join(", ")));
        }
    }
    table.print(page);
}

/// p50, p99 and rate of a phase: before and after the fit.
type Line = [Option<(f64, f64)>; 3];

/// Simulated over measured, a line for each phase.
fn residuals(page: &mut Page, all: &[Residual]) {
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
    let titles = ["simulated / measured", "p50", "before", "p99", "before", "rate", "before"];
    let mut table = figures(&titles);
    for key in order {
        let cells = lines[&key].into_iter().flat_map(|figure| match figure {
            Some((before, after)) => [number(after), number(before)],
            None => [NONE.to_owned(), NONE.to_owned()],
        });
        row(&mut table, &key.0.label(key.1, key.2), cells);
    }
    table.print(page);
}

fn undetermined(page: &mut Page, found: &Identifiability, parameters: &[FitParameter]) {
    let pairs: Vec<String> = found.confounded.iter().map(pair).collect();
    let title = "Parameters that can't be separated (one compensates for the other):";
    list(page, title, &pairs);
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in parameters {
        if let Some(why) = &one.held {
            reasons.entry(why).or_default().push(&one.key);
        }
    }
    if !reasons.is_empty() {
        page.gap();
        page.paragraph(Role::Strong, "Left as in the starting profile:");
        for (why, keys) in reasons {
            item(page, &format!("- {why}: "), 2, &keys.join(", "));
        }
    }
}

fn pair(one: &ConfoundedGroup) -> String {
    match one.correlation {
        Some(correlation) => {
            format!("{} (their effects correlate by {correlation:.3})", one.keys.join(" and "))
        }
        None => format!("{} together", one.keys.join(", ")),
    }
}
