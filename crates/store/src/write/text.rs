use flashlag_units::harmless;

use crate::table::{Kind, Table, Value};

/// Narrowest width of a text column, if the table does not fit.
const NARROWEST: usize = 6;

/// The table as columns for a terminal: text left-aligned, numbers right-aligned. If it does not
/// fit, the widest text columns are cut; if there are too many columns for that, each row becomes a
/// list.
pub fn text(table: &Table, width: usize) -> String {
    let cells: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let mut widths: Vec<usize> = table.columns.iter().map(|it| it.name.chars().count()).collect();
    for row in &cells {
        for (most, cell) in widths.iter_mut().zip(row) {
            *most = (*most).max(cell.chars().count());
        }
    }
    let over = |widths: &[usize]| {
        (widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)).saturating_sub(width)
    };
    while over(&widths) > 0 {
        let texts = table.columns.iter().enumerate().filter(|(_, it)| it.kind == Kind::Text);
        let widest = texts.map(|(at, _)| at).max_by_key(|at| widths[*at]);
        match widest.filter(|at| widths[*at] > NARROWEST) {
            Some(at) => widths[at] -= 1,
            None => return lists(table, &cells),
        }
    }
    let head: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let line = |row: &[String]| {
        let columns = table.columns.iter().zip(&widths).zip(row);
        let padded = columns.map(|((column, width), cell)| padded(cell, *width, column.kind));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    std::iter::once(line(&head)).chain(cells.iter().map(|row| line(row))).collect()
}

/// Each row as lines of `name  value`, without missing values.
fn lists(table: &Table, cells: &[Vec<String>]) -> String {
    let widest = table.columns.iter().map(|it| it.name.chars().count()).max().unwrap_or(0);
    let list = |row: &Vec<String>| -> String {
        let known = table.columns.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        known.map(|(column, cell)| format!("{:<widest$}  {cell}\n", column.name)).collect()
    };
    cells.iter().map(list).collect::<Vec<_>>().join("\n")
}

fn shown(value: &Value) -> String {
    match value {
        Value::Real(value) => {
            let text = format!("{value:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        other => harmless(&other.plain()),
    }
}

fn padded(cell: &str, width: usize, kind: Kind) -> String {
    let length = cell.chars().count();
    if length > width {
        return cell.chars().take(width.saturating_sub(1)).chain(['…']).collect();
    }
    let space = " ".repeat(width - length);
    match kind {
        Kind::Integer | Kind::Real => space + cell,
        Kind::Boolean | Kind::Text => cell.to_owned() + &space,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn table() -> Table {
        let column = |name: &str, kind| Column { name: name.to_owned(), kind };
        let row = |text: &str, number| vec![Value::Text(text.to_owned()), Value::Integer(number)];
        Table {
            columns: vec![column("device", Kind::Text), column("p99_ns", Kind::Integer)],
            rows: vec![row("Nexus 5", 1_240_000), row("a name that is far too long", 7)],
        }
    }

    #[test]
    fn a_table_fits_its_width_by_cutting_text_and_never_a_number() {
        let printed = text(&table(), 24);
        assert_eq!(
            printed,
            "device            p99_ns\nNexus 5          1240000\na name that is…        7\n"
        );
        assert!(printed.lines().all(|line| line.chars().count() <= 24));
    }

    #[test]
    fn what_does_not_fit_at_all_is_a_list_for_each_row() {
        let list =
            "device  Nexus 5\np99_ns  1240000\n\ndevice  a name that is far too long\np99_ns  7\n";
        assert_eq!(text(&table(), 10), list);
    }
}
