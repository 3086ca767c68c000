use flashlag_explain::{
    CompareRow, CompareSide, Comparison, Figures, Judgement, RatioKind, format,
};
use flashlag_schema::CheckStatus;

use crate::line::{Line, Page};
use crate::picture::{Bar, Picture, caveats, key};
use crate::style::{Role, Style};
use crate::table::Table;

/// Two or more runs side by side, at most `style.width` columns wide: the answer, the picture by
/// device with how sure each difference is, the other tests, what else differs, and the checks
/// that do not all pass.
pub fn comparison(comparison: &Comparison, style: Style) -> String {
    let mut page = Page::new(style);
    for warning in &comparison.warnings {
        page.paragraph(Role::Late, warning);
    }
    page.gap();
    page.paragraph(Role::Strong, &comparison.sentence);
    page.paragraph(Role::Ink, &comparison.more);
    page.paragraph(Role::Ink, &comparison.believe);
    page.gap();
    subjects(&mut page, comparison);
    page.gap();
    picture(&mut page, comparison);
    page.gap();
    others(&mut page, comparison);
    page.gap();
    differences(&mut page, comparison);
    page.gap();
    checks(&mut page, comparison);
    page.finish()
}

fn name(comparison: &Comparison, subject: usize) -> &str {
    comparison.subjects.get(subject).map_or("", |subject| subject.name.as_str())
}

fn subjects(page: &mut Page, comparison: &Comparison) {
    let widest = comparison.subjects.iter().map(|subject| crate::text::width(&subject.name)).max();
    let columns = widest.unwrap_or(0).min(page.style().columns() / 3);
    for subject in &comparison.subjects {
        let mut head = Line::new(page.style());
        head.left(Role::Strong, &subject.name, columns);
        let runs = format::plural(subject.runs.len(), "run", "runs");
        let about = match subject.about.is_empty() {
            true => runs,
            false => format!("{}; {runs}", subject.about),
        };
        page.hanging(&head, columns + 2, Role::Ink, &about);
    }
}

/// The rows of the picture, each with one bar for each subject and the ratios below.
fn picture(page: &mut Page, comparison: &Comparison) {
    let rows: Vec<&CompareRow> = comparison.rows.iter().filter(|row| row.in_strip).collect();
    if rows.is_empty() {
        return;
    }
    let all = rows.iter().flat_map(|row| bars(comparison, row));
    let picture = Picture::over(page.style(), all);
    picture.head(page);
    for row in &rows {
        page.paragraph(Role::Strong, &titled(comparison, row));
        for (subject, side) in row.sides.iter().enumerate() {
            if let Some(side) = side {
                picture.bar(page, &bar(name(comparison, subject), side));
            }
        }
        ratios(page, row);
    }
    picture.foot(page);
    key(page);
    let sides = rows.iter().flat_map(|row| {
        let sides = row.sides.iter().flatten();
        sides.map(|side| (row.title.as_str(), &side.judgement))
    });
    caveats(page, sides);
    page.paragraph(Role::Muted, "In parentheses: the 95% interval of the ratio.");
}

fn bars<'a>(
    comparison: &'a Comparison,
    row: &'a CompareRow,
) -> impl Iterator<Item = Bar<'a>> + Clone {
    let sides = row.sides.iter().enumerate();
    sides.filter_map(|(subject, side)| Some(bar(name(comparison, subject), side.as_ref()?)))
}

fn bar<'a>(label: &'a str, side: &'a CompareSide) -> Bar<'a> {
    let (figures, judgement): (&Figures, &Judgement) = (&side.figures, &side.judgement);
    Bar { label, figures, judgement, rate: None }
}

/// The row's title, and who did not measure it.
fn titled(comparison: &Comparison, row: &CompareRow) -> String {
    let missing = row.sides.iter().enumerate().filter(|(_, side)| side.is_none());
    let missing: Vec<String> =
        missing.map(|(subject, _)| name(comparison, subject).to_owned()).collect();
    match missing.as_slice() {
        [] => row.title.clone(),
        missing => format!("{} (not measured on {})", row.title, format::list(missing)),
    }
}

fn figure(kind: RatioKind) -> &'static str {
    match kind {
        RatioKind::P50 => "median",
        RatioKind::P99 => "p99",
        RatioKind::Throughput => "MB/s",
    }
}

/// How sure each difference is, in words.
fn ratios(page: &mut Page, row: &CompareRow) {
    for ratio in row.ratios.iter().filter(|ratio| ratio.kind != RatioKind::Throughput) {
        let mut head = Line::new(page.style());
        head.right(Role::Muted, figure(ratio.kind), 8);
        let role = if ratio.differs { Role::Ink } else { Role::Muted };
        page.hanging(&head, 10, role, &ratio.words);
    }
}

/// The tests that are not in the picture.
fn others(page: &mut Page, comparison: &Comparison) {
    let mut table = Table::new("")
        .column("MB/s", 0)
        .column("per s", 2)
        .column("p50 ms", 0)
        .column("p99 ms", 0)
        .column("n", 3)
        .column("runs", 4);
    for row in comparison.rows.iter().filter(|row| !row.in_strip) {
        table.section(&titled(comparison, row));
        for (subject, side) in row.sides.iter().enumerate() {
            let Some(side) = side else { continue };
            let (role, cells) = cells(side);
            let mark = if role == Role::Muted { " ✕" } else { "" };
            table.row((role, &format!("{}{mark}", name(comparison, subject))), cells);
        }
        for ratio in &row.ratios {
            let role = if ratio.differs { Role::Ink } else { Role::Muted };
            table.remark((role, &format!("  {}", figure(ratio.kind))), &ratio.words);
        }
    }
    if !table.is_empty() {
        table.print(page);
    }
}

fn cells(side: &CompareSide) -> (Role, Vec<(Role, String)>) {
    let trusted = side.judgement.failures().is_empty();
    let role = if trusted { Role::Ink } else { Role::Muted };
    let figures = &side.figures;
    let time = |value: Option<_>| value.map_or_else(|| format::NONE.to_owned(), format::ms);
    let cells = [
        format::mb_per_s(side.bytes_per_sec),
        format::per_second(side.ops_per_sec),
        time(figures.p50),
        time(figures.p99),
        format::count(figures.n),
        format::count(side.runs as u64),
    ];
    (role, cells.into_iter().map(|cell| (role, cell)).collect())
}

fn differences(page: &mut Page, comparison: &Comparison) {
    if comparison.differs.is_empty() {
        return;
    }
    page.paragraph(Role::Strong, "What else differs");
    for difference in &comparison.differs {
        page.paragraph(Role::Muted, &difference.field);
        for (subject, value) in difference.values.iter().enumerate() {
            each(page, comparison, subject, Role::Ink, value);
        }
    }
}

fn each(page: &mut Page, comparison: &Comparison, subject: usize, role: Role, text: &str) {
    let mut head = Line::new(page.style());
    let columns = page.style().columns() / 4;
    head.add(Role::Ink, "  ").left(Role::Ink, name(comparison, subject), columns);
    page.hanging(&head, columns + 4, role, text);
}

fn checks(page: &mut Page, comparison: &Comparison) {
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
            each(page, comparison, subject, role, &text);
        }
    }
}
