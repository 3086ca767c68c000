//! A table of figures as HTML: the columns, cells and notes of the model.

use askama::Template;
use flashlag_schema::Run;
use flashlag_views::{
    Cell as Figure, Column, Judgement, LagLimit, Missing, Table, TableRow, format,
};

use super::Flag;
use crate::markup::Markup;

/// The caption and style of a table.
pub(crate) struct Frame {
    /// The table in a few words, for screen readers.
    pub(crate) about: &'static str,
    pub(crate) caption: String,
    /// CSS classes: `fold` for small screens, `dense` where there are many rows.
    pub(crate) class: &'static str,
    /// Whether the titles have the unit.
    pub(crate) units: bool,
}

#[derive(Template)]
#[template(path = "section/figures.html")]
struct TableTemplate {
    about: &'static str,
    class: String,
    caption: String,
    corner: &'static str,
    heads: Vec<Head>,
    groups: Vec<Group>,
}

struct Head {
    title: String,
    below: &'static str,
}

struct Group {
    title: String,
    rows: Vec<Row>,
}

struct Row {
    label: String,
    part: bool,
    doubt: bool,
    flag: Option<Flag>,
    remark: Option<String>,
    cells: Vec<Cell>,
}

/// A cell of a table of figures.
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Whether it shows that there are too few values.
    pub(crate) few: bool,
    /// Whether it is the main figure of its row.
    strong: bool,
    /// The count behind a share.
    count: String,
    /// The class of a verdict.
    verdict: &'static str,
}

/// From more rows than this on they stand close together.
pub(crate) const DENSE: usize = 16;

/// A table without its notes. Failed checks link to their place on the page of `run`.
pub(crate) fn table(run: Option<&Run>, model: &Table, frame: Frame) -> Markup {
    let head = |column: &Column| Head {
        title: if frame.units { column.title_with_unit() } else { column.title().to_owned() },
        below: match column {
            Column::Over(limit) => LagLimit::name(*limit),
            _ => "",
        },
    };
    let groups = model.groups.iter().filter(|group| !group.rows.is_empty());
    let groups = groups.map(|group| Group {
        title: group.title.clone(),
        rows: group.rows.iter().map(|row| row_of(run, &model.columns, row)).collect(),
    });
    let dense = if model.rows().count() > DENSE { " dense" } else { "" };
    Markup::of(&TableTemplate {
        about: frame.about,
        class: format!("{}{dense}", frame.class),
        caption: frame.caption,
        corner: model.title,
        heads: model.columns.iter().map(head).collect(),
        groups: groups.collect(),
    })
}

fn row_of(run: Option<&Run>, columns: &[Column], row: &TableRow) -> Row {
    let cells = columns.iter().zip(&row.cells);
    Row {
        label: row.label.clone(),
        part: row.is_part,
        doubt: !row.trusted(),
        flag: run.and_then(|run| Flag::of(run, &row.failures)),
        remark: row.remark.clone(),
        cells: cells.map(|(column, cell)| Cell::of(*column, cell)).collect(),
    }
}

impl Cell {
    pub(crate) fn of(column: Column, figure: &Figure) -> Cell {
        let (text, count) = match figure {
            Figure::Part { count, of } => (format::share_of(*count, *of), format::count(*count)),
            other => (other.in_words(), String::new()),
        };
        Cell {
            text,
            few: matches!(figure, Figure::Missing(Missing::TooFew | Missing::NotMeasured)),
            strong: matches!(column, Column::Speed | Column::SaveRate),
            count,
            verdict: match figure {
                Figure::Verdict(judgement) => verdict_class(judgement),
                _ => "",
            },
        }
    }
}

/// The class of a verdict, which sets its colour.
pub(crate) fn verdict_class(judgement: &Judgement) -> &'static str {
    judgement.verdict().map_or("none", |verdict| verdict.name())
}
