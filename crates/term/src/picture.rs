use flashlag_schema::Lag;
use flashlag_units::Nanos;
use flashlag_views::{
    Column, Figures, Judgement, LagVerdict, StripRow, brief_label, figure_cell, format,
};

use crate::axis::Axis;
use crate::line::{Line, Page};
use crate::style::{Role, Style};
use crate::table::styled;
use crate::text::width;

/// The picture of a run: a row for each distribution on one latency axis, with its figures.
pub(crate) struct Picture {
    style: Style,
    brief: bool,
    axis: Axis,
    label: usize,
    columns: Vec<Column>,
}

/// One row to draw.
pub(crate) struct Bar<'a> {
    pub(crate) label: &'a str,
    pub(crate) figures: &'a Figures,
    pub(crate) judgement: &'a Judgement,
    /// Operations a second, if they are shown.
    pub(crate) rate: Option<f64>,
}

impl<'a> From<&'a StripRow> for Bar<'a> {
    fn from(row: &'a StripRow) -> Bar<'a> {
        Bar { label: &row.label, figures: &row.figures, judgement: &row.judgement, rate: None }
    }
}

/// The title of a column; the key names the median's mark.
fn title(column: Column) -> &'static str {
    match column {
        Column::P50 => "median",
        Column::Verdict => "",
        other => other.title(),
    }
}

fn room_of(column: Column) -> usize {
    match column {
        Column::Verdict => 12,
        Column::Longest => 9,
        _ => 7,
    }
}

/// The columns beside the bars, by width.
fn columns_in(width: usize) -> Vec<Column> {
    use Column::{Late, Longest, P50, P90, P99, P999, Verdict};
    match width {
        104.. => vec![P50, P90, P99, P999, Longest, Late, Verdict],
        88.. => vec![P50, P99, P999, Late, Verdict],
        // The bar shows p99.9, and a table below has it.
        74.. => vec![P50, P99, Late, Verdict],
        // The verdict is shown at any width.
        56.. => vec![P50, P99, Verdict],
        46.. => vec![P50, Verdict],
        _ => vec![Verdict],
    }
}

/// The label has a space after it, and room for a mark if the row has one.
fn label_width(bar: &Bar<'_>, short: bool) -> usize {
    let columns = if short { width(&brief_label(bar.label)) } else { width(bar.label) };
    columns + if bar.judgement.failures().is_empty() { 1 } else { 3 }
}

/// Width to which the plot is shortened before labels are cut.
const SHORT_PLOT: usize = 10;
/// Minimum width of the plot.
const LEAST_PLOT: usize = 8;
/// Maximum width of the plot: 14 columns a decade.
const WIDEST_PLOT: usize = 71;

impl Picture {
    /// Whether there is room for every figure beside the bars.
    pub(crate) fn is_full(style: Style) -> bool {
        columns_in(style.columns()).contains(&Column::P90)
    }

    /// A picture laid out for these rows.
    pub(crate) fn over<'a>(style: Style, bars: impl Iterator<Item = Bar<'a>> + Clone) -> Picture {
        let room = style.columns();
        let mut columns = columns_in(room);
        if bars.clone().any(|bar| bar.rate.is_some()) {
            columns.insert(columns.len() - 1, Column::Rate);
        }
        let most = if room < 74 { room * 2 / 5 } else { room / 4 };
        let widest = |short: bool| {
            let labels = bars.clone().map(|bar| label_width(&bar, short));
            labels.max().unwrap_or(0)
        };
        let brief = widest(false) > most;
        let taken = |columns: &[Column]| -> usize { columns.iter().copied().map(room_of).sum() };
        // What differs between two tests is often the end of their labels: a bar is shortened first.
        let most = most.max(room.saturating_sub(taken(&columns) + SHORT_PLOT));
        let label = widest(brief).clamp(10, most);
        // The rate is in a table below, and the verdict stays whole.
        if label + taken(&columns) + LEAST_PLOT > room {
            columns.retain(|column| *column != Column::Rate);
        }
        let plot = room.saturating_sub(label + taken(&columns)).clamp(LEAST_PLOT, WIDEST_PLOT);
        let values = bars.flat_map(|bar| {
            let figures = bar.figures;
            [figures.p50, figures.p99, figures.p999, figures.max].into_iter().flatten()
        });
        Picture { style, brief, axis: Axis::over(values, plot), label, columns }
    }

    /// The axis, and the titles of the columns.
    pub(crate) fn head(&self, page: &mut Page) {
        let mut line = Line::new(self.style);
        let unit = if self.label >= 13 { "milliseconds" } else { "ms" };
        line.left(Role::Muted, unit, self.label).left(
            Role::Muted,
            &self.axis.labels(),
            self.axis.columns(),
        );
        for column in &self.columns {
            line.right(Role::Muted, title(*column), room_of(*column));
        }
        page.push(&line);
    }

    /// One row.
    pub(crate) fn bar(&self, page: &mut Page, bar: &Bar<'_>) {
        let trusted = bar.judgement.failures().is_empty();
        let mut line = Line::new(self.style);
        let label = if self.brief { brief_label(bar.label) } else { bar.label.to_owned() };
        let (role, label) =
            if trusted { (Role::Ink, label) } else { (Role::Muted, format!("{label} ✕")) };
        line.left(role, &label, self.label);
        for (role, mark) in self.cells(bar.figures, trusted) {
            line.add(role, mark.encode_utf8(&mut [0; 4]));
        }
        for column in &self.columns {
            if *column == Column::Verdict {
                let (role, text) = verdict(bar);
                line.add(Role::Ink, "  ").left(role, &text, room_of(*column) - 2);
            } else {
                let (role, text) = styled(&figure_cell(*column, bar.figures, bar.rate), trusted);
                line.right(role, &text, room_of(*column));
            }
        }
        page.push(&line);
    }

    /// The frame's name under its line.
    pub(crate) fn foot(&self, page: &mut Page) {
        let mut line = Line::new(self.style);
        line.to(self.label + self.axis.place(Lag::FRAME_60HZ));
        let names = ["╵ one 60 Hz frame, 16.67 ms", "╵ one 60 Hz frame", "╵ 60 Hz"];
        let room = self.style.columns().saturating_sub(line.used());
        let fits = names.iter().find(|name| width(name) <= room);
        line.add(Role::Muted, fits.unwrap_or(&names[2]));
        page.push(&line);
    }

    fn cells(&self, figures: &Figures, trusted: bool) -> Vec<(Role, char)> {
        let frame = self.axis.place(Lag::FRAME_60HZ);
        let mut cells = vec![' '; self.axis.columns()];
        if let Some(cell) = cells.get_mut(frame) {
            *cell = '│';
        }
        let place = |value: Option<Nanos>| value.map(|value| self.axis.place(value));
        let (median, p99, p999) = (place(figures.p50), place(figures.p99), place(figures.p999));
        let (thick, thin, dot) =
            if trusted { ('━', '─', '●') } else { ('╌', '╌', '○') };
        if let (Some(p99), Some(p999)) = (p99, p999) {
            fill(&mut cells, p99, p999, thin, '┼');
            put(&mut cells, p999, '┤');
        }
        if let (Some(median), Some(p99)) = (median, p99) {
            fill(&mut cells, median, p99, thick, if trusted { '┿' } else { '┼' });
        }
        // The mark of the longest wait never hides the end of a bar.
        if let Some(longest) = place(figures.max)
            && matches!(cells.get(longest), Some(' ' | '│'))
        {
            put(&mut cells, longest, '◇');
        }
        if let Some(median) = median {
            put(&mut cells, median, dot);
        }
        let role = |column: usize, mark: char| match mark {
            ' ' => Role::Ink,
            '│' | '┿' | '┼' if column == frame => Role::Muted,
            _ if !trusted => Role::Muted,
            _ if column > frame => Role::Late,
            _ => Role::InTime,
        };
        cells.into_iter().enumerate().map(|(column, mark)| (role(column, mark), mark)).collect()
    }
}

fn put(cells: &mut [char], column: usize, mark: char) {
    if let Some(cell) = cells.get_mut(column) {
        *cell = mark;
    }
}

fn fill(cells: &mut [char], from: usize, to: usize, mark: char, crossing: char) {
    for cell in cells.iter_mut().take(to + 1).skip(from) {
        *cell = if matches!(cell, '│' | '┿' | '┼') { crossing } else { mark };
    }
}

fn verdict(bar: &Bar<'_>) -> (Role, String) {
    let role = match bar.judgement.verdict() {
        Some(LagVerdict::Smooth) => Role::InTime,
        Some(LagVerdict::Hitches) => Role::Strong,
        Some(_) => Role::Late,
        None => Role::Muted,
    };
    let caveat = matches!(bar.judgement, Judgement::Judged { caveat: Some(_), .. });
    // The word fills the column: it refers to the footnote itself.
    let caveat = caveat && bar.judgement.verdict() != Some(LagVerdict::Overloaded);
    (role, format!("{}{}", bar.judgement.word(), if caveat { "*" } else { "" }))
}

/// The key of the marks, and of those of rows that a failed check covers if there are any.
pub(crate) fn key(page: &mut Page, has_doubtful: bool) {
    let texts = [
        "● median  ━ to p99  ─┤ to p99.9  ◇ longest  log scale  late: over 16.67 ms",
        "● median  ━ to p99  ─┤ to p99.9  ◇ longest  log scale",
        "● p50 ━ p99 ─┤ p99.9 ◇ longest",
    ];
    let mut line = Line::new(page.style());
    let room = page.style().columns();
    let fits = texts.iter().find(|text| width(text) <= room);
    line.add(Role::Muted, fits.unwrap_or(&texts[2]));
    page.push(&line);
    if has_doubtful {
        page.paragraph(Role::Muted, "○ ╌ ✕ a failed check covers the row: do not quote it");
    }
}

/// The footnote of all verdicts over few values, in one line.
pub(crate) fn caveat<'a>(page: &mut Page, rows: impl Iterator<Item = (&'a str, &'a Judgement)>) {
    if rows.into_iter().any(|(_, judgement)| judgement.is_of_few()) {
        page.paragraph(Role::Muted, "* n is too small for p99.9: judged by the longest waits");
    }
}

/// The footnotes of verdicts over few values, each once for all its rows.
pub(crate) fn caveats<'a>(page: &mut Page, rows: impl Iterator<Item = (&'a str, &'a Judgement)>) {
    let mut notes: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for (label, judgement) in rows {
        let Judgement::Judged { caveat: Some(caveat), .. } = judgement else { continue };
        let common = caveat.split(", the longest").next().unwrap_or(caveat);
        match notes.iter_mut().find(|(text, _)| *text == common) {
            Some((_, rows)) => rows.push((label, caveat)),
            None => notes.push((common, vec![(label, caveat)])),
        }
    }
    for (common, rows) in &notes {
        let text = match rows.as_slice() {
            [(label, caveat)] => format!("{label}: {caveat}"),
            _ => format!("{} rows: {common}", format::count(rows.len() as u64)),
        };
        let mut head = Line::new(page.style());
        head.add(Role::Muted, "*");
        page.hanging(&head, 2, Role::Muted, &text);
    }
}
