use std::collections::BTreeSet;

use flashlag_units::{InOrder, IntoOrder, sanitize, to_ascii};
use flashlag_views::{Cell, Column as Figure, TableRow};

use crate::line::{Line, Page};
use crate::style::{Role, Style};
use crate::text::width;

/// A table of a label and right-aligned columns that fits a width: first the least needed columns
/// are left out, then labels are cut, then the last columns are left out. A line below names the
/// columns that are missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    title: String,
    columns: Vec<Column>,
    /// Titles over several columns, with the number of columns, from the left.
    spans: Vec<(String, usize)>,
    rows: Vec<Row>,
    /// Whether long labels are cut in the middle rather than at the end.
    middle: bool,
    /// The option that shows all columns, for the line about those that are left out.
    whole: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct Column {
    title: String,
    /// Priority of leaving the column out for lack of room, highest first; 0: never.
    spare: u8,
    /// Whether its cells are left-aligned words.
    words: bool,
}

#[derive(Clone, Debug)]
struct Row {
    label: (Role, String),
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Cells(Vec<(Role, String)>),
    /// A remark in place of cells.
    Remark(String),
    /// A sentence as wide as the table.
    Line,
    /// The title of a section.
    Section,
}

const SEPARATION: usize = 2;
const NARROWEST_LABEL: usize = 10;

impl Table {
    /// An empty table; `title` is the head of the labels.
    pub(crate) fn new(title: &str) -> Table {
        Table { title: title.to_owned(), ..Table::default() }
    }

    /// Adds a column; `spare` 0 keeps it at any width.
    pub(crate) fn column(mut self, title: &str, spare: u8) -> Table {
        self.columns.push(Column { title: title.to_owned(), spare, words: false });
        self
    }

    /// Adds a column of left-aligned words, which stays at any width.
    pub(crate) fn words(mut self, title: &str) -> Table {
        self.columns.push(Column { title: title.to_owned(), spare: 0, words: true });
        self
    }

    /// Appends a cell of the column with this index to `line`.
    fn cell(&self, line: &mut Line, (index, columns): (usize, usize), role: Role, text: &str) {
        if self.columns.get(index).is_some_and(|column| column.words) {
            line.add(Role::Ink, &" ".repeat(SEPARATION)).left(role, text, columns)
        } else {
            line.right(role, text, columns + SEPARATION)
        };
    }

    /// Puts a title over the next `columns` columns, none of which may be spare.
    pub(crate) fn span(mut self, title: &str, columns: usize) -> Table {
        self.spans.push((title.to_owned(), columns));
        self
    }

    /// A table of the model: its columns, then its rows under their labels. `spare` says which
    /// columns go first, as in [`Table::column`].
    pub(crate) fn of(
        model: &flashlag_views::Table,
        title: &str,
        head: impl Fn(Figure) -> String,
        spare: impl Fn(Figure) -> u8,
        label: impl Fn(&TableRow) -> String,
    ) -> Table {
        let mut table = Table::new(title);
        for column in &model.columns {
            table = table.column(&head(*column), spare(*column));
        }
        for group in &model.groups {
            if model.groups.len() > 1 {
                table.section(&group.title);
            }
            // Parts of a row are left out for lack of room.
            for row in group.rows.iter().filter(|row| !row.is_part) {
                let role = if row.trusted() { Role::Ink } else { Role::Muted };
                let cells = model.columns.iter().zip(&row.cells);
                let cells = cells.map(|(column, cell)| match (column, cell) {
                    // The longest stall is late whatever the limit was.
                    (Figure::Longest, Cell::Time(_)) if row.trusted() => (Role::Late, cell.text()),
                    _ => styled(cell, row.trusted()),
                });
                let cells = cells.collect();
                table.row((role, &marked(&label(row), row.trusted())), cells);
            }
        }
        table
    }

    pub(crate) fn row(&mut self, label: (Role, &str), cells: Vec<(Role, String)>) {
        let label = (label.0, label.1.to_owned());
        self.rows.push(Row { label, content: Content::Cells(cells) });
    }

    /// Adds a row with a remark in place of cells.
    pub(crate) fn remark(&mut self, label: (Role, &str), text: &str) {
        let label = (label.0, label.1.to_owned());
        self.rows.push(Row { label, content: Content::Remark(text.to_owned()) });
    }

    /// Cuts long labels in the middle, for labels that differ at their ends.
    pub(crate) fn cut_in_the_middle(self) -> Table {
        Table { middle: true, ..self }
    }

    /// Says which option has all columns, where some are left out for lack of room.
    pub(crate) fn whole_by(self, option: &'static str) -> Table {
        Table { whole: Some(option), ..self }
    }

    /// Adds a sentence as wide as the table.
    pub(crate) fn line(&mut self, text: (Role, &str)) {
        let label = (text.0, text.1.to_owned());
        self.rows.push(Row { label, content: Content::Line });
    }

    /// Adds the title of the rows that follow, as wide as the table.
    pub(crate) fn section(&mut self, title: &str) {
        let label = (Role::Strong, title.to_owned());
        self.rows.push(Row { label, content: Content::Section });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether all columns fit without cutting a label.
    pub(crate) fn fits(&self, style: Style) -> bool {
        let everything = self.fit(usize::MAX / 2, style.unicode);
        let columns: usize = everything.1.iter().map(|(_, columns)| columns + SEPARATION).sum();
        everything.0 + columns <= style.columns()
    }

    /// Prints the table.
    pub(crate) fn print(&self, page: &mut Page) {
        let style = page.style();
        let (label, shown) = self.fit(style.columns(), style.unicode);
        if !self.spans.is_empty() {
            let mut head = Line::new(style);
            head.left(Role::Ink, "", label);
            let mut left = shown.iter().map(|(_, columns)| columns + SEPARATION);
            for (title, columns) in &self.spans {
                let room: usize = left.by_ref().take(*columns).sum();
                head.right(Role::Strong, title, room);
            }
            page.push(&head);
        }
        let mut head = Line::new(style);
        head.left(Role::Muted, &self.title, label);
        for (index, columns) in &shown {
            let title = self.columns.get(*index).map(|column| column.title.as_str());
            self.cell(&mut head, (*index, *columns), Role::Muted, title.unwrap_or_default());
        }
        page.push(&head);
        for row in &self.rows {
            let mut line = Line::new(style);
            if self.middle {
                line.left(row.label.0, &cut_in_the_middle(&row.label.1, label), label)
            } else {
                line.left(row.label.0, &row.label.1, label)
            };
            match &row.content {
                Content::Section => page.paragraph(row.label.0, &row.label.1),
                Content::Line => {
                    let text = row.label.1.trim_start();
                    let mut indent = Line::new(style);
                    indent.add(Role::Ink, "  ");
                    page.hanging(&indent, 4, row.label.0, text);
                }
                Content::Remark(text) => {
                    page.hanging(&line, label + SEPARATION, Role::Muted, text);
                }
                Content::Cells(cells) => {
                    for (index, columns) in &shown {
                        let cell = cells.get(*index);
                        let (role, text) =
                            cell.map_or((Role::Ink, ""), |(role, text)| (*role, text));
                        self.cell(&mut line, (*index, *columns), role, text);
                    }
                    page.push(&line);
                }
            }
        }
        self.name_left_out(page, (label, &shown));
    }

    /// Names the columns that are not shown, or that end beyond the width.
    fn name_left_out(&self, page: &mut Page, (label, shown): (usize, &[(usize, usize)])) {
        let mut end = label;
        let mut whole = BTreeSet::new();
        for (index, columns) in shown {
            end += columns + SEPARATION;
            if end <= page.style().columns() {
                whole.insert(*index);
            }
        }
        let all = self.columns.iter().enumerate();
        let names: Vec<&str> = all
            .filter(|(index, column)| !whole.contains(index) && !column.title.is_empty())
            .map(|(_, column)| column.title.as_str())
            .collect();
        if names.is_empty() {
            return;
        }
        let by = self.whole.map_or_else(String::new, |option| format!("; {option} has all"));
        let text = format!("Left out for the width: {}{by}", names.join(", "));
        page.paragraph(Role::Muted, &text);
    }

    /// The minimum columns, from `least` to `most`, in which all cut labels differ.
    fn told_apart_in(&self, least: usize, most: usize) -> usize {
        let cells = self.rows.iter().filter(|row| matches!(row.content, Content::Cells(_)));
        // Rows may have the same label, and differ in their words.
        let labels: BTreeSet<&str> = cells.map(|row| row.label.1.as_str()).into_set();
        let unique = |columns: &usize| {
            let mut cut: Vec<String> =
                labels.iter().map(|label| cut_in_the_middle(label, *columns)).collect();
            cut.order();
            cut.windows(2).all(|pair| pair[0] != pair[1])
        };
        (least.min(most)..most).find(unique).unwrap_or(most)
    }

    /// The width of the labels, and index and width of each column that fits.
    fn fit(&self, room: usize, unicode: bool) -> (usize, Vec<(usize, usize)>) {
        let measure = |text: &str| if unicode { width(text) } else { width(&to_ascii(text)) };
        let labelled =
            self.rows.iter().filter(|row| !matches!(row.content, Content::Section | Content::Line));
        let wanted = labelled.map(|row| measure(&row.label.1));
        let wanted = wanted.chain([measure(&self.title)]).max().unwrap_or(0);
        let column_width = |(index, column): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|row| match &row.content {
                Content::Cells(cells) => cells.get(index),
                _ => None,
            });
            let widest = cells.map(|(_, text)| measure(text)).max().unwrap_or(0);
            (index, widest.max(measure(&column.title)))
        };
        let mut shown: Vec<(usize, usize)> =
            self.columns.iter().enumerate().map(column_width).collect();
        let least = if self.middle {
            self.told_apart_in(NARROWEST_LABEL.max(room / 3), wanted)
        } else {
            wanted.min(NARROWEST_LABEL.max(room * 2 / 5))
        };
        let used = |shown: &[(usize, usize)]| {
            shown.iter().map(|(_, columns)| columns + SEPARATION).sum::<usize>()
        };
        loop {
            let used = used(&shown);
            let spare = |index: usize| self.columns.get(index).map_or(0, |column| column.spare);
            let most = shown.iter().map(|(index, _)| spare(*index)).max().unwrap_or(0);
            if used + least <= room || most == 0 {
                break;
            }
            if let Some(place) = shown.iter().rposition(|(index, _)| spare(*index) == most) {
                shown.remove(place);
            }
        }
        // Half a figure is a wrong figure, and what is left of a cut label says less than a column.
        while self.spans.is_empty() && used(&shown) + wanted.min(NARROWEST_LABEL) > room {
            if shown.pop().is_none() {
                break;
            }
        }
        (wanted.min(room.saturating_sub(used(&shown)).max(NARROWEST_LABEL)), shown)
    }
}

/// The priority of leaving out columns of figures: first the number of values, then p90, then the rates
/// and the rare waits.
pub(crate) fn spare(column: Figure) -> u8 {
    use flashlag_views::LagLimit;
    match column {
        Figure::N => 5,
        Figure::P90 => 4,
        Figure::Rate => 3,
        Figure::P999 => 2,
        Figure::Longest => 1,
        Figure::Over(LagLimit::Hz120) => 4,
        Figure::Over(LagLimit::Hz90) => 3,
        Figure::Over(LagLimit::NotResponding) => 2,
        Figure::Over(LagLimit::Noticed) => 1,
        _ => 0,
    }
}

/// The text of a cell with its role: muted if the row is not trusted or the cell has no value,
/// otherwise late if it shows a long wait.
pub(crate) fn styled(cell: &Cell, trusted: bool) -> (Role, String) {
    let role = match cell {
        _ if !trusted => Role::Muted,
        Cell::Missing(_) => Role::Muted,
        late if late.is_late() => Role::Late,
        _ => Role::Ink,
    };
    (role, cell.text())
}

/// A label with the mark of a failed check.
pub(crate) fn marked(label: &str, trusted: bool) -> String {
    if trusted { label.to_owned() } else { format!("{label} ✕") }
}

/// A text cut in the middle to `columns`.
fn cut_in_the_middle(text: &str, columns: usize) -> String {
    let text = sanitize(text);
    if width(&text) <= columns {
        return text;
    }
    let letters: Vec<char> = text.chars().collect();
    let end = columns.saturating_sub(1) / 2;
    let fits = |from: &usize| {
        let rest: String = letters[*from..].iter().collect();
        width(&rest) <= end
    };
    let from = (0..letters.len()).find(fits).unwrap_or(letters.len());
    let rest: String = letters[from..].iter().collect();
    let first = crate::text::cut(&text, columns.saturating_sub(width(&rest)), true);
    first + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_column_is_cut_off_where_long_labels_are_the_same() {
        let mut table = Table::new("writer").words("what").column("bytes", 0).cut_in_the_middle();
        for kind in ["filesystem's metadata", "blocks"] {
            let cells = vec![(Role::Ink, kind.to_owned()), (Role::Ink, "53 MB".to_owned())];
            table.row((Role::Ink, &"kworker/u8:11+flush-254:0 ".repeat(3)), cells);
        }
        let mut page = Page::new(Style::PLAIN);
        table.print(&mut page);
        let text = page.finish();
        for line in text.lines() {
            assert!(width(line) <= Style::PLAIN.columns(), "{text}");
            assert!(line.ends_with("MB") || line.ends_with("bytes"), "{text}");
        }
    }

    #[test]
    fn what_is_cut_keeps_both_ends() {
        let cut = cut_in_the_middle("SQLite insert, rollback journal, saves/s", 25);
        assert_eq!(cut, "SQLite inser…nal, saves/s");
        assert_eq!(cut_in_the_middle("short", 25), "short");
    }
}
