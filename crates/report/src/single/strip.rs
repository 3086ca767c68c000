//! The picture of the first screen as one drawing: labels at the left, figures at the right.

use flashlag_schema::Run;
use flashlag_views::page::{caveats, named_rows};
use flashlag_views::{Column, RULES, StripRow, figure_cell, strip};

use super::frame::{Frame, WIDTH};
use crate::chart::{
    Anchor, LatencyAxis, StripMarks, Svg, axis_drawing, ground_drawing, head_drawing, key_drawing,
    row_drawing,
};
use crate::draw::figures::verdict_class;
use crate::draw::picture::{DOUBTFUL, axis_for};

/// Where the plot begins and how wide it is.
const PLOT: (f64, f64) = (210.0, 366.0);
/// Where the columns of figures end.
const COLUMNS: [(Column, f64); 4] =
    [(Column::P99, 628.0), (Column::P999, 684.0), (Column::Longest, 738.0), (Column::Late, 786.0)];
/// The place at which the verdicts begin.
const WORD: f64 = 800.0;
const HEAD: f64 = 36.0;
const ROW: f64 = 27.0;
const GROUP: f64 = 30.0;

/// The chart.
pub(super) fn frame(run: &Run, title: &str) -> Frame {
    let strip = strip(run);
    let measured = strip.groups.iter().flat_map(|group| &group.rows);
    let axis = axis_for(measured.map(|row| &row.figures), &strip.marks);
    let rows: usize = strip.groups.iter().map(|group| group.rows.len()).sum();
    let height = HEAD + rows as f64 * ROW + strip.groups.len() as f64 * GROUP;
    let mut svg = Svg::new();
    svg.place(ground_drawing(&axis), (PLOT.0, HEAD), (PLOT.1, height - HEAD));
    svg.place(head_drawing(&axis), (PLOT.0, 0.0), (PLOT.1, HEAD));
    for (column, x) in COLUMNS {
        svg.text_at("ax", (x, 29.0), Anchor::End, column.title());
    }
    let mut top = HEAD;
    for group in &strip.groups {
        svg.text_at("n over", (0.0, top + 20.0), Anchor::Start, &group.title);
        top += GROUP;
        for row in &group.rows {
            draw_row(&mut svg, &axis, row, top);
            top += ROW;
        }
    }
    svg.place(axis_drawing(&axis), (PLOT.0, height), (PLOT.1, 20.0));
    svg.place(key_drawing(), (PLOT.0, height + 30.0), (290.0, 40.0));
    let all = strip.groups.iter().flat_map(|group| &group.rows);
    let mut notes = vec![
        String::new(),
        String::new(),
        "Latency in ms. Late: longer than 16.67 ms, one 60 Hz frame.".to_owned(),
    ];
    notes.extend(wrapped(RULES));
    if all.clone().any(|row| !row.trusted()) {
        notes.push(DOUBTFUL.to_owned());
    }
    let judged = all.zip(named_rows(&strip)).map(|(row, name)| (name, &row.judgement));
    notes.extend(caveats(judged).iter().flat_map(|caveat| wrapped(caveat)));
    Frame {
        title: title.to_owned(),
        words: notes.join(" ").trim().to_owned(),
        notes,
        plot: svg,
        margins: (16.0, 16.0),
        size: (WIDTH, height),
    }
}

fn draw_row(svg: &mut Svg, axis: &LatencyAxis, row: &StripRow, top: f64) {
    let marks = if row.trusted() { StripMarks::Solid } else { StripMarks::Doubtful };
    let base = top + 18.0;
    svg.text_at("", (0.0, base), Anchor::Start, &row.label);
    svg.place(row_drawing(axis, &row.figures, marks), (PLOT.0, top), (PLOT.1, ROW));
    for (column, x) in COLUMNS {
        let cell = figure_cell(column, &row.figures, None);
        svg.text_at("", (x, base), Anchor::End, &cell.text());
    }
    let class = format!("word v-{}", verdict_class(&row.judgement));
    svg.text_at(&class, (WORD, base), Anchor::Start, row.judgement.word());
}

/// A text in lines that fit the chart.
fn wrapped(text: &str) -> Vec<String> {
    const MOST: usize = 138;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < MOST => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
