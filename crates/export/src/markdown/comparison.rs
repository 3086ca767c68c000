//! A comparison as a Markdown page.

use std::fmt::Write;

use flashlag_views::{CompareRow, Comparison, Ratio, RatioKind, format};

use super::{escape, ms, table};

/// A comparison as a Markdown page: who is faster, what each is like, a table for
/// each test with the ratios to the first side, and what else differs.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    let (first, rest) = match comparison.faster.is_empty() {
        true => (&comparison.sentence, None),
        false => (&comparison.faster, Some(&comparison.sentence)),
    };
    let _ = writeln!(text, "# {}\n", escape(first));
    let paragraphs =
        rest.into_iter().chain([&comparison.largest, &comparison.more, &comparison.believe]);
    for paragraph in paragraphs.chain(&comparison.warnings) {
        if !paragraph.is_empty() {
            let _ = writeln!(text, "{}\n", escape(paragraph));
        }
    }
    for row in &comparison.rows {
        let _ = writeln!(text, "## {}\n", escape(&row.title));
        test(&mut text, comparison, row);
    }
    differences(&mut text, comparison);
    text
}

fn test(text: &mut String, comparison: &Comparison, row: &CompareRow) {
    let rate = row.rate_unit();
    let against = row.ratios.first().and_then(|ratio| comparison.subjects.get(ratio.against));
    let against = against.map(|subject| escape(&subject.name));
    let title = |figure: &str| match &against {
        Some(name) => format!("{figure} × {name}'s (95%)"),
        None => format!("{figure} ratio"),
    };
    let titles = [title("median"), title("p99"), title(rate)];
    let mut head = vec!["", "median ms", "p99 ms", "p99.9 ms", "longest ms", "late", rate];
    head.extend(["n", "verdict"]);
    head.extend(titles.iter().map(String::as_str));
    let mut rows = Vec::new();
    for (subject, side) in row.sides.iter().enumerate() {
        let name = comparison.subjects.get(subject).map_or("", |subject| subject.name.as_str());
        let Some(side) = side else {
            rows.push(filled(vec![name.to_owned(), "not measured".to_owned()], head.len()));
            continue;
        };
        if let Some(overload) = &side.overload {
            let mut cells = filled(vec![name.to_owned(), overload.in_words()], head.len());
            for (title, cell) in head.iter().zip(&mut cells) {
                match *title {
                    "n" => *cell = format::count(side.figures.n),
                    "verdict" => *cell = side.judgement.word().to_owned(),
                    _ => {}
                }
            }
            rows.push(cells);
            continue;
        }
        let figures = &side.figures;
        let late = figures.late_share().map_or_else(|| format::NONE.to_owned(), format::share);
        let mut cells = vec![name.to_owned()];
        cells.extend([figures.p50, figures.p99, figures.p999, figures.max].map(ms));
        cells.push(late);
        cells.push(row.rate_in_words(side));
        cells.push(format::count(figures.n));
        let word = if row.is_judged(side) { side.judgement.word() } else { "" };
        cells.push(word.to_owned());
        for kind in [RatioKind::P50, RatioKind::P99, RatioKind::Throughput] {
            let ratio = row.ratios.iter().find(|ratio| ratio.of == subject && ratio.kind == kind);
            cells.push(ratio.map(ratio_in_words).unwrap_or_default());
        }
        rows.push(cells);
    }
    table(text, &head, &rows);
}

fn ratio_in_words(ratio: &Ratio) -> String {
    format!("{}{}", ratio.brief, ratio.doubt())
}

fn filled(mut cells: Vec<String>, columns: usize) -> Vec<String> {
    cells.resize(columns, String::new());
    cells
}

fn differences(text: &mut String, comparison: &Comparison) {
    if comparison.differs.is_empty() {
        return;
    }
    let _ = writeln!(text, "## What else differs\n");
    let names: Vec<String> = comparison.subjects.iter().map(|s| escape(&s.name)).collect();
    let head: Vec<&str> = [""].into_iter().chain(names.iter().map(String::as_str)).collect();
    let rows: Vec<Vec<String>> = comparison
        .differs
        .iter()
        .map(|difference| [vec![difference.field.clone()], difference.values.clone()].concat())
        .collect();
    table(text, &head, &rows);
}
