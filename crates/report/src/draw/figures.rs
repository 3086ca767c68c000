//! A table of figures: the columns and cells of the model.

use askama::Template;
use flashlag_views::page::{FiguresTable, Flag, TableKind};
use flashlag_views::{Cell as Figure, Column, Judgement, Missing, TableRow, format};

use super::flagged;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "block/figures.html")]
struct TableTemplate {
    about: &'static str,
    class: String,
    caption: String,
    corner: &'static str,
    heads: Vec<Head>,
    groups: Vec<Group>,
}

struct Head {
    title: &'static str,
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
    flag: Markup,
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

/// The table in a few words, for screen readers; and its classes: `fold` for small screens, `dense` where
/// rows stand close together.
fn frame(kind: TableKind) -> (&'static str, &'static str) {
    match kind {
        TableKind::Tests => ("Figures of every test", "fold tests"),
        TableKind::Saves => ("How long saves take", "fold"),
        TableKind::Late => ("Late saves", "fold"),
        TableKind::Growth => ("Saves that grew a file", "fold"),
        TableKind::Levels => ("Figures by fill level", "fold"),
        TableKind::Stalls => ("Stalls by phase", "fold dense"),
        TableKind::Sides => ("Every test, side by side", "cmp"),
    }
}

/// A table without its notes. Failed checks link to their place on the page, where they have one.
pub(super) fn table(drawn: &FiguresTable) -> Markup {
    let FiguresTable { table, kind, caption } = drawn;
    // Ratios have a picture of their own, and late waits have the colour of the verdict.
    let left =
        |column: &Column| matches!(column, Column::Against | Column::Ratio(_) | Column::Late);
    let left: Vec<Column> = table.columns.iter().copied().filter(left).collect();
    let sides = (*kind == TableKind::Sides).then(|| table.clone().without(&left));
    let table = sides.as_ref().unwrap_or(table);
    let head = |column: &Column| Head { title: column.title(), below: column.below() };
    let linked = *kind != TableKind::Sides;
    let groups = table.groups.iter().filter(|group| !group.rows.is_empty());
    let groups = groups.map(|group| Group {
        title: group.title.clone(),
        rows: group.rows.iter().map(|row| row_of(&table.columns, row, linked)).collect(),
    });
    let dense = if table.rows().count() > DENSE { " dense" } else { "" };
    let (about, class) = frame(*kind);
    Markup::of(&TableTemplate {
        about,
        class: format!("{class}{dense}"),
        caption: caption.clone(),
        corner: table.title,
        heads: table.columns.iter().map(head).collect(),
        groups: groups.collect(),
    })
}

fn row_of(columns: &[Column], row: &TableRow, linked: bool) -> Row {
    let cells = columns.iter().zip(&row.cells);
    let flag = Flag::of(&row.failures).filter(|_| linked);
    Row {
        label: row.label.clone(),
        part: row.is_part,
        doubt: !row.trusted(),
        flag: flagged(flag.as_ref()),
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
