//! The picture of the first screen as HTML: rows on one latency axis, each with a one-word verdict.

use askama::Template;
use flashlag_units::Nanos;
use flashlag_views::page::{Picture, PictureRow};
use flashlag_views::{Cell as Value, Column, Figures, Mark, Missing, RULES, figure_cell, format};

use super::figures::{Cell, DENSE, verdict_class};
use super::flagged;
use crate::chart::{
    LatencyAxis, ROOM_FOR_A_NAME, StripMarks, mark_row, strip_axis, strip_head, strip_key,
    strip_row,
};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "block/picture.html")]
struct PictureTable<'a> {
    /// Whether rows stand close together because there are many.
    dense: bool,
    head: Markup,
    groups: Vec<Group<'a>>,
    /// Published devices.
    marks: Vec<(&'a str, Markup)>,
    axis: Markup,
    key: Markup,
    /// Titles and units of the figures.
    heads: [(&'static str, &'static str); COLUMNS.len()],
    rules: &'static str,
    /// What the marks of doubtful rows mean; absent without one.
    doubtful: Option<&'static str>,
    caveats: &'a [String],
}

struct Group<'a> {
    name: &'a str,
    title: &'a str,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    label: &'a str,
    flag: Markup,
    note: Option<&'a str>,
    doubt: bool,
    mini: String,
    svg: Markup,
    cells: [Cell; COLUMNS.len()],
    word: &'static str,
    verdict: &'static str,
}

/// The axis of a picture.
pub(crate) fn axis_of(picture: &Picture) -> LatencyAxis {
    let rows = picture.groups.iter().flat_map(|group| &group.rows);
    axis_for(rows.filter(|row| row.overload.is_none()).map(|row| &row.figures), &picture.marks)
}

/// The axis that covers all rows and marks.
pub(crate) fn axis_for<'a>(rows: impl Iterator<Item = &'a Figures>, marks: &[Mark]) -> LatencyAxis {
    let rows: Vec<&Figures> = rows.collect();
    let measured = rows.iter().flat_map(|f| [f.p50, f.p99, f.p999, f.max]).flatten();
    let published = marks.iter().flat_map(|mark| &mark.points).flat_map(|p| [p.from, p.to]);
    let all: Vec<Nanos> = measured.chain(published).collect();
    let axis = LatencyAxis::covering(all.iter().copied());
    // The values of medians stand to their left: the axis gets another decade if they would not fit.
    let least = rows.iter().filter_map(|figures| figures.p50).min();
    let decade = least.filter(|median| axis.at(*median) < ROOM_FOR_A_NAME);
    LatencyAxis::covering(all.into_iter().chain(decade.map(|median| Nanos(median.0 / 10))))
}

/// The picture with its key and footnotes; nothing without rows.
pub(crate) fn draw(picture: &Picture, axis: &LatencyAxis) -> Markup {
    let Picture { groups, marks, caveats, .. } = picture;
    if groups.is_empty() {
        return Markup::default();
    }
    let dense = groups.iter().map(|group| group.rows.len()).sum::<usize>() > DENSE;
    let all = || groups.iter().flat_map(|group| &group.rows);
    let drawn = groups.iter().map(|group| Group {
        name: &group.name,
        title: &group.title,
        rows: group.rows.iter().map(|one| row(axis, one)).collect(),
    });
    let mark = |mark: &'_ Mark| mark_row(axis, &mark.device, &mark.points);
    Markup::of(&PictureTable {
        dense,
        head: strip_head(axis),
        groups: drawn.collect(),
        marks: marks.iter().map(|one| (one.device.as_str(), mark(one))).collect(),
        axis: strip_axis(axis),
        key: strip_key(),
        heads: COLUMNS.map(|column| (column.title(), unit(column))),
        rules: RULES,
        doubtful: all().any(is_doubtful).then_some(DOUBTFUL),
        caveats,
    })
}

/// The columns beside the picture, which has the median.
const COLUMNS: [Column; 4] = [Column::P99, Column::P999, Column::Longest, Column::Late];

fn unit(column: Column) -> &'static str {
    if column == Column::Late { ">\u{2009}16.67 ms" } else { "ms" }
}

/// The remark in place of marks.
#[derive(Template)]
#[template(source = "<span class=\"ov\">{{ words }}</span>", ext = "html")]
struct Overloaded<'a> {
    words: &'a str,
}

/// The key of the marks of rows that a failed check covers.
pub(crate) const DOUBTFUL: &str =
    "Hollow and dashed marks: a failed check covers the row, do not quote it.";

/// Whether the marks of a row are hollow and dashed.
fn is_doubtful(row: &PictureRow) -> bool {
    !row.judgement.failures().is_empty() && row.overload.is_none()
}

/// A row. If its schedule was not kept, it has no latency, which would depend on the length of the
/// test.
fn row<'a>(axis: &LatencyAxis, row: &'a PictureRow) -> Row<'a> {
    let PictureRow { label, figures, judgement, .. } = row;
    let doubt = is_doubtful(row);
    let marks = if doubt { StripMarks::Doubtful } else { StripMarks::Solid };
    let late = figures.late_share().map_or_else(|| format::NONE.to_owned(), format::share);
    let overload = row.overload.as_deref();
    let cell = |column: Column| match overload {
        Some(_) => Cell::of(column, &Value::Missing(Missing::Overloaded)),
        None => Cell::of(column, &figure_cell(column, figures, None)),
    };
    Row {
        label,
        flag: flagged(row.flag.as_ref()),
        note: row.note.as_deref(),
        doubt,
        mini: overload.map_or_else(|| mini(figures, &late), |_| String::new()),
        svg: match overload {
            Some(words) => Markup::of(&Overloaded { words }),
            None => strip_row(axis, figures, marks, label),
        },
        cells: COLUMNS.map(cell),
        word: judgement.word(),
        verdict: verdict_class(judgement),
    }
}

/// The figures of a row on narrow screens.
fn mini(figures: &Figures, late: &str) -> String {
    let named = [
        ("median", figures.p50),
        (Column::P99.title(), figures.p99),
        (Column::P999.title(), figures.p999),
        (Column::Longest.title(), figures.max),
    ];
    let words = |(name, value): (&str, Option<Nanos>)| {
        value.map(|value| format!("{name} {}", format::time(value)))
    };
    let parts: Vec<String> = named.into_iter().filter_map(words).collect();
    format!("{} · late {late}", parts.join(" · "))
}
