mod names;
mod rates;

use flashlag_schema::CheckStatus;
use flashlag_views::{
    CompareRow, CompareSide, Comparison, Ratio, RatioKind, busy_note, format, whether,
};

use crate::line::{Line, Page};
use crate::picture::{Bar, Picture, key};
use crate::style::{Role, Style};
use names::fitted;
use rates::{name, short, titled};

/// A comparison of runs, at most `style.width` columns wide: which side is faster, the verdict of each,
/// the picture by test with the interval of each difference, the rates, and one line each for what
/// else differs and for the checks that do not pass on every side.
pub fn comparison(comparison: &Comparison, style: Style) -> String {
    let mut page = first(comparison, style);
    let names = fitted(comparison, style);
    figures(&mut page, comparison, &names);
    page.gap();
    differences_in_short(&mut page, comparison);
    checks_in_short(&mut page, comparison, &names);
    page.finish()
}

/// As [`comparison`], with tables of what else differs and of those checks.
pub fn comparison_in_full(comparison: &Comparison, style: Style) -> String {
    let mut page = first(comparison, style);
    let names = fitted(comparison, style);
    figures(&mut page, comparison, &names);
    page.gap();
    differences(&mut page, comparison, &names);
    page.gap();
    checks(&mut page, comparison, &names);
    page.finish()
}

/// The sentences of [`comparison`] alone.
pub fn comparison_verdict(comparison: &Comparison, style: Style) -> String {
    first(comparison, style).finish()
}

/// The leading sentences.
fn first(comparison: &Comparison, style: Style) -> Page {
    let mut page = Page::new(style);
    page.paragraph(Role::Strong, &comparison.faster);
    page.paragraph(Role::Strong, &comparison.sentence);
    page.paragraph(Role::Ink, &comparison.largest);
    page.paragraph(Role::Ink, &comparison.more);
    page.paragraph(Role::Ink, &comparison.believe);
    for warning in &comparison.warnings {
        page.paragraph(Role::Late, warning);
    }
    page
}

/// The sides, the picture and the rates.
fn figures(page: &mut Page, comparison: &Comparison, names: &[String]) {
    page.gap();
    subjects(page, comparison, names);
    page.gap();
    picture(page, comparison, names);
    page.gap();
    rates::rates(page, comparison, names);
}

fn subjects(page: &mut Page, comparison: &Comparison, names: &[String]) {
    let widest = names.iter().map(|name| crate::text::width(name)).max().unwrap_or(0);
    for (subject, short) in comparison.subjects.iter().zip(names) {
        let mut head = Line::new(page.style());
        head.left(Role::Strong, short, widest);
        let runs = format::plural(subject.runs.len(), "run", "runs");
        let full = (*short != subject.name).then(|| subject.name.clone());
        let about = Some(subject.about.clone()).filter(|about| !about.is_empty());
        let parts: Vec<String> = [full, about, Some(runs)].into_iter().flatten().collect();
        page.hanging(&head, widest + 2, Role::Ink, &parts.join("; "));
    }
}

/// The rows of the picture, each with one bar for each subject and the ratios below.
fn picture(page: &mut Page, comparison: &Comparison, names: &[String]) {
    let rows: Vec<&CompareRow> = comparison.rows.iter().filter(|row| row.in_strip).collect();
    if rows.is_empty() {
        return;
    }
    let all = rows.iter().flat_map(|row| bars(names, row));
    let picture = Picture::over(page.style(), all);
    picture.head(page);
    for row in &rows {
        page.paragraph(Role::Strong, &titled(names, row));
        for (subject, side) in row.sides.iter().enumerate() {
            let Some(side) = side else { continue };
            match &side.overload {
                None => picture.bar(page, &bar(name(names, subject), side)),
                Some(overload) => {
                    let doubted =
                        if side.judgement.failures().is_empty() { "" } else { "not judged: " };
                    let name = name(names, subject);
                    let text =
                        format!("{name}: {doubted}{}", overload.in_words().replacen(':', ",", 1));
                    page.paragraph(Role::Late, &text);
                }
            }
        }
        ratios(page, comparison, names, row);
    }
    picture.foot(page);
    key(page, rows.iter().flat_map(|row| row.sides.iter().flatten()).any(is_doubtful));
    if rows.iter().any(|row| has_caveat(row)) {
        let words =
            "* n is too small for a percentile of the rule: judged by the values there are.";
        page.paragraph(Role::Muted, words);
    }
    if let Some(note) = busy_note(rows.iter().map(|row| row.title.as_str())) {
        page.paragraph(Role::Muted, note);
    }
    let has_interval = |ratio: &Ratio| ratio.interval.is_some() && ratio.words.contains('(');
    if rows.iter().any(|row| row.ratios.iter().any(has_interval)) {
        page.paragraph(Role::Muted, "In parentheses: the 95% interval of the ratio.");
    }
}

fn is_doubtful(side: &CompareSide) -> bool {
    side.overload.is_none() && !side.judgement.failures().is_empty()
}

fn has_caveat(row: &CompareRow) -> bool {
    row.sides.iter().flatten().any(|side| side.judgement.is_of_few())
}

fn bars<'a>(names: &'a [String], row: &'a CompareRow) -> impl Iterator<Item = Bar<'a>> + Clone {
    let sides = row.sides.iter().enumerate();
    sides.filter_map(|(subject, side)| {
        let side = side.as_ref().filter(|side| side.overload.is_none())?;
        Some(bar(name(names, subject), side))
    })
}

fn bar<'a>(label: &'a str, side: &'a CompareSide) -> Bar<'a> {
    Bar { label, figures: &side.figures, judgement: &side.judgement, rate: None }
}

/// The ratios of median and p99 with their intervals: in words for a pair, otherwise all against
/// the first side.
fn ratios(page: &mut Page, comparison: &Comparison, names: &[String], row: &CompareRow) {
    for kind in [RatioKind::P50, RatioKind::P99] {
        let of_kind: Vec<&Ratio> = row.ratios.iter().filter(|ratio| ratio.kind == kind).collect();
        let Some(first) = of_kind.first() else { continue };
        let words = match (of_kind.as_slice(), comparison.subjects.len()) {
            ([only], 2) => only.words.clone(),
            _ => format!(
                "against {}: {}",
                name(names, first.against),
                of_kind.iter().map(|ratio| short(names, ratio)).collect::<Vec<_>>().join("; ")
            ),
        };
        let mut head = Line::new(page.style());
        head.right(Role::Muted, kind.name(row.operation), 8);
        let role = if of_kind.iter().any(|r| r.differs) { Role::Ink } else { Role::Muted };
        page.hanging(&head, 10, role, &words);
    }
}

fn differences_in_short(page: &mut Page, comparison: &Comparison) {
    let fields: Vec<String> = comparison.differs.iter().map(|it| it.field.to_lowercase()).collect();
    if !fields.is_empty() {
        let text = format!("What else differs (-v: how): {}.", format::list(&fields));
        page.paragraph(Role::Muted, &text);
    }
}

/// A line for each check, with the sides on which it does not pass.
fn checks_in_short(page: &mut Page, comparison: &Comparison, names: &[String]) {
    for check in &comparison.checks {
        let on = |status: CheckStatus| {
            let sides = check.outcomes.iter().enumerate();
            let sides =
                sides.filter(move |(_, outcome)| matches!(outcome, Some((s, _)) if *s == status));
            sides.map(|(side, _)| name(names, side).to_owned()).collect::<Vec<String>>()
        };
        for (status, mark, role) in [
            (CheckStatus::Fail, "✕ fail", Role::Late),
            (CheckStatus::Unknown, "? unknown", Role::Unknown),
        ] {
            let sides = on(status);
            if !sides.is_empty() {
                let mut head = Line::new(page.style());
                head.left(role, mark, 9).add(Role::Ink, "  ");
                let claim = match status {
                    CheckStatus::Unknown => whether(&check.claim),
                    CheckStatus::Fail | CheckStatus::Pass => check.claim.clone(),
                };
                let text = format!("{claim} (-v: why): {}", format::list(&sides));
                page.hanging(&head, 11, Role::Ink, &text);
            }
        }
    }
}

fn differences(page: &mut Page, comparison: &Comparison, names: &[String]) {
    if comparison.differs.is_empty() {
        return;
    }
    page.paragraph(Role::Strong, "What else differs");
    for difference in &comparison.differs {
        page.paragraph(Role::Muted, &difference.field);
        for (subject, value) in difference.values.iter().enumerate() {
            each(page, names, subject, Role::Ink, value);
        }
    }
}

fn each(page: &mut Page, names: &[String], subject: usize, role: Role, text: &str) {
    let mut head = Line::new(page.style());
    let columns = names.iter().map(|name| crate::text::width(name)).max().unwrap_or(0);
    head.add(Role::Ink, "  ").left(Role::Ink, name(names, subject), columns);
    page.hanging(&head, columns + 4, role, text);
}

fn checks(page: &mut Page, comparison: &Comparison, names: &[String]) {
    if comparison.checks.is_empty() {
        return;
    }
    page.paragraph(Role::Strong, "Checks that do not all pass");
    for check in &comparison.checks {
        page.paragraph(Role::Ink, &check.claim);
        for (subject, outcome) in check.outcomes.iter().enumerate() {
            let (role, text) = match outcome {
                None => (Role::Muted, "not checked".to_owned()),
                Some((CheckStatus::Pass, _)) => (Role::Pass, "✓ pass".to_owned()),
                Some((CheckStatus::Fail, detail)) => (Role::Late, format!("✕ fail: {detail}")),
                Some((CheckStatus::Unknown, detail)) => {
                    (Role::Unknown, format!("? unknown: {detail}"))
                }
            };
            each(page, names, subject, role, &text);
        }
    }
}
