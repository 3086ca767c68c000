//! Columns of words, cut where they would not fit.

use super::WIDTH;

/// A table; the first column is left-aligned, as are those named in `left`.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    left: Vec<usize>,
}

impl Table {
    pub(super) fn new(head: &[&str], left: &[usize]) -> Table {
        let head = head.iter().map(|text| (*text).to_owned()).collect();
        Table { rows: vec![head], left: left.to_vec() }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                if column > 0 {
                    line.push_str("  ");
                }
                let pad = widths[column].saturating_sub(cell.chars().count());
                let left = column == 0 || self.left.contains(&column);
                if !left {
                    line.push_str(&" ".repeat(pad));
                }
                line.push_str(cell);
                if left {
                    line.push_str(&" ".repeat(pad));
                }
            }
            let line = line.trim_end();
            if line.chars().count() > WIDTH {
                let cut: String = line.chars().take(WIDTH - 1).collect();
                writeln!(f, "{cut}…")?;
            } else {
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}
