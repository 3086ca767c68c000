//! A history of months: the answer, its incidents, its days.

use flashlag_schema::history::History;
use flashlag_views::history::{DayRow, IncidentRow, answer, day_rows, incident_rows, why_no_trend};

use crate::line::{Line, Page};
use crate::style::{Role, Style};
use crate::table::Table;

/// Most incidents and days that are shown.
const ROWS: usize = 10;

/// The report of a history; `all` shows every incident and every day.
pub fn history(history: &History, style: Style, all: bool) -> String {
    let mut page = Page::new(style);
    let mut sentences = answer(history).into_iter();
    page.paragraph(Role::Strong, &sentences.next().unwrap_or_default());
    for sentence in sentences.chain(why_no_trend(&history.trends)) {
        page.paragraph(Role::Ink, &sentence);
    }
    let most = if all { usize::MAX } else { ROWS };
    let incidents = incident_rows(&history.incidents);
    if !incidents.is_empty() {
        page.gap();
        for incident in incidents.iter().take(most) {
            one(&mut page, incident);
        }
        more(&mut page, incidents.len(), most, "incidents");
    }
    let days = day_rows(history);
    if !days.is_empty() {
        page.gap();
        table(days.iter().take(most)).print(&mut page);
        more(&mut page, days.len(), most, "days");
    }
    page.finish()
}

fn one(page: &mut Page, incident: &IncidentRow) {
    let mut head = Line::new(page.style());
    head.add(Role::Strong, &incident.when).add(Role::Ink, "  ");
    let mut text =
        format!("{} waited {}; cause: {}", incident.what, incident.longest, incident.cause);
    if incident.waits != "1" {
        text.push_str(&format!("; {} waits", incident.waits));
    }
    if !incident.programs.is_empty() {
        text.push_str(&format!("; before it {}", incident.programs));
    }
    if !incident.waiting.is_empty() {
        text.push_str(&format!("; also waiting: {}", incident.waiting));
    }
    page.hanging(&head, 18, Role::Ink, &text);
    if page.style().unicode && !incident.picture.is_empty() {
        let mut line = Line::new(page.style());
        line.to(18).add(Role::Muted, &incident.picture).add(Role::Muted, " bytes a second, 30 s");
        page.push(&line);
    }
}

fn more(page: &mut Page, count: usize, most: usize, of: &str) {
    if count > most {
        let left = count - most;
        page.paragraph(Role::Muted, &format!("{left} older {of}: -v shows them, or --format json"));
    }
}

fn table<'a>(days: impl Iterator<Item = &'a DayRow>) -> Table {
    let mut table = Table::new("day (UTC)")
        .column("watched", 3)
        .column("median", 0)
        .column("p99", 0)
        .column("incidents", 0)
        .column("longest", 0)
        .column("free", 1)
        .column("moved", 2);
    for day in days {
        let cells = [
            &day.watched,
            &day.median,
            &day.p99,
            &day.incidents,
            &day.longest,
            &day.free,
            &day.moved,
        ];
        let cells = cells.map(|text| (Role::Ink, text.clone())).to_vec();
        table.row((Role::Ink, &day.day), cells);
    }
    table
}
