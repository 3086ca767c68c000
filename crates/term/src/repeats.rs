use flashlag_spec::Operation;
use flashlag_units::Nanos;
use flashlag_views::{
    Column, Judgement, LagVerdict, RepeatRow, Repeats, Spread, busy_note, format,
};

use crate::line::Page;
use crate::style::{Role, Style};
use crate::table::Table;

/// Repeats of a run: the verdict over all, and for each test the mean with the standard deviation
/// between the runs.
pub fn repeats(repeats: &Repeats, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Role::Strong, &repeats.sentence);
    page.gap();
    let mut table = Table::new("")
        .column("a second", 1)
        .column(&Column::P50.title_with_unit(), 3)
        .column(&Column::P99.title_with_unit(), 2)
        .column(Column::Verdict.title(), 0)
        .cut_in_the_middle();
    for row in &repeats.rows {
        table.row((Role::Ink, &label(row, repeats.runs)), cells(row));
        if let Some(overload) = &row.overload {
            table.line((Role::Muted, &format!("  {}", overload.beside_the_verdict())));
        }
    }
    if !table.is_empty() {
        table.print(&mut page);
        let spread = repeats.rows.iter().any(|row| row.ops_per_sec.deviation.is_some());
        if spread {
            let words = "The mean of the runs ± the standard deviation between them, where it is not \
                         less than the last digit.";
            page.paragraph(Role::Muted, words);
        }
        if let Some(note) = busy_note(repeats.rows.iter().map(|row| row.title.as_str())) {
            page.paragraph(Role::Muted, note);
        }
    }
    page.finish()
}

fn label(row: &RepeatRow, runs: usize) -> String {
    let unit = match row.operation {
        Operation::Save => "saves/s",
        operation if !operation.moves_bytes() => "ops/s",
        _ => "MB/s",
    };
    if row.runs == runs {
        format!("{}, {unit}", row.title)
    } else {
        format!("{}, {unit} ({} of {runs} runs)", row.title, row.runs)
    }
}

fn cells(row: &RepeatRow) -> Vec<(Role, String)> {
    let rate = match row.operation {
        operation if !operation.moves_bytes() => row.ops_per_sec.in_words(1.0, format::per_second),
        _ => row.bytes_per_sec.in_words(1e6, format::mb_per_s),
    };
    let time = |spread: &Option<Spread>| {
        let print = |nanos: f64| format::ms(Nanos(nanos.round() as u64));
        let words = spread.map_or_else(|| format::NONE.to_owned(), |s| s.in_words(1e6, print));
        (Role::Ink, words)
    };
    let verdict = row.judgement.as_ref().map(|judgement| (role(judgement), judgement.word()));
    let (role, word) = verdict.unwrap_or((Role::Ink, ""));
    vec![(Role::Ink, rate), time(&row.p50), time(&row.p99), (role, word.to_owned())]
}

fn role(judgement: &Judgement) -> Role {
    match judgement.verdict() {
        Some(LagVerdict::Smooth) => Role::InTime,
        Some(LagVerdict::Hitches) => Role::Strong,
        Some(_) => Role::Late,
        None => Role::Muted,
    }
}
