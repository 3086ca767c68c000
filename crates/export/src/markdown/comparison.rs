//! A comparison as a Markdown page.

use std::fmt::Write;

use flashlag_views::{Column, Comparison, Gate, RatioKind, Table, comparison_table, format};

use super::{escape, figures, table};

/// A comparison as a Markdown page: a gate's judgement where there is a gate, the leading sentences, a
/// table for each test with the ratios, and what else differs.
pub(crate) fn comparison(comparison: &Comparison, gate: Option<&Gate>) -> String {
    let mut text = gate.map(judgement).unwrap_or_default();
    let (first, rest) = if comparison.faster.is_empty() {
        (&comparison.sentence, None)
    } else {
        (&comparison.faster, Some(&comparison.sentence))
    };
    let _ = writeln!(text, "# {}\n", escape(first));
    let paragraphs =
        rest.into_iter().chain([&comparison.largest, &comparison.more, &comparison.believe]);
    for paragraph in paragraphs.chain(&comparison.warnings) {
        if !paragraph.is_empty() {
            let _ = writeln!(text, "{}\n", escape(paragraph));
        }
    }
    tests(&mut text, comparison);
    differences(&mut text, comparison);
    text
}

/// What a gate found, for a reader who looks at nothing else: what is slower as a list.
fn judgement(gate: &Gate) -> String {
    let words = gate.to_string();
    let mut lines = words.lines();
    let mut text = format!("**{}**\n\n", escape(lines.next().unwrap_or_default()));
    for line in lines.by_ref() {
        let _ = writeln!(text, "- {}", escape(line.trim()));
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    text
}

/// The figures of a side, and their ratios to another one.
const COLUMNS: [Column; 14] = [
    Column::Speed,
    Column::Rate,
    Column::P50,
    Column::P90,
    Column::P99,
    Column::P999,
    Column::Longest,
    Column::Late,
    Column::N,
    Column::Verdict,
    Column::Against,
    Column::Ratio(RatioKind::P50),
    Column::Ratio(RatioKind::P99),
    Column::Ratio(RatioKind::Throughput),
];

const RATIOS: &str = "×: how many times the figure of the side in the column “against”, with the \
                      ends of its 95% interval.";

fn tests(text: &mut String, comparison: &Comparison) {
    let model = comparison_table(comparison).select(&COLUMNS);
    for (row, group) in comparison.rows.iter().zip(&model.groups) {
        let _ = writeln!(text, "## {}\n", escape(&group.title));
        let test = Table { groups: vec![group.clone()], ..model.clone() }.without_empty_columns();
        test.groups.iter().for_each(|group| figures(text, &test, &group.rows));
        let sides = comparison.subjects.iter().zip(&row.sides);
        let missing = sides.filter(|(_, side)| side.is_none()).map(|(it, _)| it.name.clone());
        let missing: Vec<String> = missing.collect();
        if !missing.is_empty() {
            let _ = writeln!(text, "Not measured: {}.\n", escape(&format::list(&missing)));
        }
    }
    let ratios = comparison.rows.iter().any(|row| !row.ratios.is_empty());
    for note in model.notes.iter().map(String::as_str).chain(ratios.then_some(RATIOS)) {
        let _ = writeln!(text, "{}\n", escape(note));
    }
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
