//! Who writes and who waits: the table of a trace.

use flashlag_schema::trace::TraceLedger;
use flashlag_units::{count, sanitize};
use flashlag_views::{TraceTable, trace_stalls_heading, trace_summary};

use crate::line::{Line, Page};
use crate::style::{Role, Style};
use crate::table::Table;

/// A trace added up: who writes the most and whose fsyncs wait, then the tables; in full with every row.
pub fn trace(ledger: &TraceLedger, style: Style, full: bool) -> String {
    let summary = trace_summary(ledger, full);
    let mut page = Page::new(style);
    page.paragraph(Role::Strong, &sanitize(&summary.answer));
    page.paragraph(Role::Muted, &sanitize(&format!("{}.", summary.origin)));
    for table in &summary.tables {
        page.gap();
        print(&mut page, table);
    }
    if !summary.stalls.is_empty() {
        page.gap();
        page.paragraph(Role::Strong, &format!("{}:", trace_stalls_heading(ledger)));
        for stall in &summary.stalls {
            bullet(&mut page, Role::Late, stall);
        }
    }
    if !summary.notes.is_empty() {
        page.gap();
        for note in &summary.notes {
            bullet(&mut page, Role::Muted, note);
        }
    }
    page.finish()
}

fn bullet(page: &mut Page, role: Role, text: &str) {
    let mut head = Line::new(page.style());
    head.add(Role::Ink, "  ");
    page.hanging(&head, 2, role, &sanitize(text));
}

fn print(page: &mut Page, table: &TraceTable) {
    let mut drawn = Table::new(table.title).cut_in_the_middle();
    for column in &table.columns {
        drawn = match column.words {
            true => drawn.words(column.title),
            false => drawn.column(column.title, column.spare),
        };
    }
    for (label, cells) in &table.rows {
        let cells = cells.iter().map(|cell| (Role::Ink, cell.clone())).collect();
        drawn.row((Role::Ink, &sanitize(label)), cells);
    }
    drawn.print(page);
    if table.more > 0 {
        let more = format!("and {} more (-v shows all)", count(table.more as u64));
        page.paragraph(Role::Muted, &more);
    }
}
