//! The rates of each side, test by test.

use flashlag_views::{CompareRow, CompareSide, Comparison, Ratio, RatioKind, format};

use crate::line::Page;
use crate::style::Role;
use crate::table::Table;

pub(super) fn name(names: &[String], subject: usize) -> &str {
    names.get(subject).map_or("", String::as_str)
}

/// The row's title, and the sides that did not measure it.
pub(super) fn titled(names: &[String], row: &CompareRow) -> String {
    let missing = row.sides.iter().enumerate().filter(|(_, side)| side.is_none());
    let missing: Vec<String> =
        missing.map(|(subject, _)| name(names, subject).to_owned()).collect();
    match missing.as_slice() {
        [] => row.title.clone(),
        missing => format!("{} (not measured on {})", row.title, format::list(missing)),
    }
}

/// `Moto Z 0.15× (0.14 to 0.15)`.
pub(super) fn short(names: &[String], ratio: &Ratio) -> String {
    format!("{} {}{}", name(names, ratio.of), ratio.brief, ratio.doubt())
}

/// One row for each test and one column for each subject, if that fits; otherwise a block for each
/// test.
pub(super) fn rates(page: &mut Page, comparison: &Comparison, names: &[String]) {
    let rows: Vec<&CompareRow> = comparison.rows.iter().filter(|row| is_rated(row)).collect();
    if rows.is_empty() {
        return;
    }
    let pair = comparison.subjects.len() == 2;
    let mut table = Table::new("");
    for name in names {
        table = table.column(name, 0);
    }
    if pair {
        table = table.column("ratio, 95% interval", 1);
    }
    for row in &rows {
        let mut cells: Vec<(Role, String)> = row.sides.iter().map(|side| cell(row, side)).collect();
        if pair {
            let ratio = rate_ratio(row).next();
            let role = if ratio.is_some_and(|r| r.differs) { Role::Ink } else { Role::Muted };
            cells.push((role, ratio.map_or_else(String::new, |ratio| ratio.brief.clone())));
        }
        table.row((Role::Ink, &format!("{}, {}", row.title, row.rate_unit())), cells);
    }
    page.paragraph(Role::Strong, "How much a second");
    if table.fits(page.style()) { table.print(page) } else { by_test(page, &rows, names) }
}

/// A schedule decides the rate of an open loop.
fn is_rated(row: &CompareRow) -> bool {
    row.kind != Some(flashlag_views::GroupKind::BusySave)
}

fn rate_ratio(row: &CompareRow) -> impl Iterator<Item = &Ratio> {
    row.ratios.iter().filter(|ratio| ratio.kind == RatioKind::Throughput)
}

fn cell(row: &CompareRow, side: &Option<CompareSide>) -> (Role, String) {
    let Some(side) = side else { return (Role::Muted, format::NONE.to_owned()) };
    let trusted = side.judgement.failures().is_empty();
    let rate = row.rate_in_words(side);
    if trusted { (Role::Ink, rate) } else { (Role::Muted, format!("{rate} ✕")) }
}

/// One line for each subject below the name of each test.
fn by_test(page: &mut Page, rows: &[&CompareRow], names: &[String]) {
    let mut table = Table::new("").column("a second", 0).column("", 0).column("runs", 1);
    for row in rows {
        table.section(&titled(names, row));
        for (subject, side) in row.sides.iter().enumerate() {
            let Some(known) = side else { continue };
            let (role, text) = cell(row, side);
            let runs = format::count(known.runs as u64);
            let cells = vec![(role, text), (Role::Muted, row.rate_unit().to_owned()), (role, runs)];
            table.row((Role::Ink, name(names, subject)), cells);
        }
        let shown: Vec<String> = rate_ratio(row).map(|ratio| short(names, ratio)).collect();
        if let Some(first) = rate_ratio(row).next() {
            let words = format!("against {}: {}", name(names, first.against), shown.join("; "));
            table.remark((Role::Muted, "  ratio"), &words);
        }
    }
    table.print(page);
}
