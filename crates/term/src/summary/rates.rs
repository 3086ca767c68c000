use flashlag_schema::Run;
use flashlag_views::{failures_of, format, rates};

use super::figures::Depth;
use crate::line::Page;
use crate::style::Role;
use crate::table::Table;

/// MB/s of reads and writes side by side, for a run that measures throughput.
pub(super) fn rates_of(page: &mut Page, run: &Run, _: Depth) {
    let rows = rates(run);
    if rows.is_empty() {
        return;
    }
    let mut table = Table::new("MB/s")
        .column("read", 0)
        .column("write", 0)
        .column("reads/s", 1)
        .column("writes/s", 1);
    for row in &rows {
        let cell = |phase: Option<usize>, rate: fn(&flashlag_schema::Phase) -> String| {
            let Some(phase) = phase.and_then(|index| run.phases.get(index)) else {
                return (Role::Muted, format::NONE.to_owned());
            };
            if failures_of(run, phase).is_empty() {
                (Role::Ink, rate(phase))
            } else {
                (Role::Muted, format!("{} ✕", rate(phase)))
            }
        };
        let moved = |phase: &flashlag_schema::Phase| format::mb_per_s(phase.bytes_per_sec);
        let done = |phase: &flashlag_schema::Phase| format::per_second(phase.ops_per_sec);
        let cells = vec![
            cell(row.read, moved),
            cell(row.write, moved),
            cell(row.read, done),
            cell(row.write, done),
        ];
        table.row((Role::Strong, &row.title), cells);
    }
    table.print(page);
}
