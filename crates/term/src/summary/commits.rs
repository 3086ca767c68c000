//! The cost of a commit below the filesystem.

use flashlag_schema::{BlockKinds, Phase, Run, TargetKind};
use flashlag_views::{GroupKind, brief_label, format, strip};

use super::figures::Depth;
use crate::line::Page;
use crate::style::Role;
use crate::table::Table;

const ABSENT: &str = "-";

/// Writes, bytes and flushes per commit, by journal mode, for runs on a device that counts requests.
pub(super) fn commits(page: &mut Page, run: &Run, _: Depth) {
    if run.target.kind != TargetKind::Lab {
        return;
    }
    let strip = strip(run);
    let groups = strip.groups.iter().filter(|group| group.kind != GroupKind::DurableWrite);
    let groups: Vec<_> = groups.collect();
    let mut table = Table::new("A commit")
        .column("writes", 0)
        .column("KiB", 0)
        .column("flushes", 0)
        .column("data", 2)
        .column("journal", 2)
        .column("metadata", 2)
        .column("flash", 1)
        .column("software", 3);
    let mut any = false;
    for group in &groups {
        if groups.len() > 1 {
            table.section(&group.title);
        }
        for row in &group.rows {
            if let Some(phase) = run.phases.get(row.phase).filter(|phase| counts(phase)) {
                any = true;
                let cells = cells(phase).map(|cell| (Role::Ink, cell));
                table.row((Role::Ink, &brief_label(&row.label)), cells.to_vec());
            }
        }
    }
    if !any {
        return;
    }
    page.paragraph(Role::Strong, "What a commit costs at the block device");
    table.print(page);
    page.paragraph(
        Role::Muted,
        "data, journal, metadata: the filesystem's, in KiB. flash: KiB that the flash programmed. \
         software: the median of the same commits on a device that takes no time, in ms.",
    );
}

/// Whether the device's requests were counted for these commits alone: in a replay other operations are
/// among them.
fn counts(phase: &Phase) -> bool {
    phase.ops > 0 && phase.replay.is_none()
}

fn cells(phase: &Phase) -> [String; 8] {
    let ops = phase.ops as f64;
    let ledger = &phase.ledger;
    let number = |value: Option<f64>, digits: usize| {
        value.map_or(ABSENT.to_owned(), |value| format!("{value:.digits$}"))
    };
    let each = |count: Option<u64>| count.map(|count| count as f64 / ops);
    let kib = |bytes: Option<u64>| each(bytes).map(|bytes| bytes / 1024.0);
    let kind = |of: fn(&BlockKinds) -> u64| number(kib(ledger.kinds.as_ref().map(of)), 1);
    let floor = phase.floor.as_ref().and_then(|floor| floor.latency_ns.p50);
    [
        number(each(ledger.block_writes.value().copied()), 2),
        number(kib(ledger.block_bytes.value().map(|bytes| bytes.0)), 1),
        number(each(ledger.flushes.value().copied()), 2),
        kind(|kinds| kinds.data.bytes.0),
        kind(|kinds| kinds.journal.bytes.0),
        kind(|kinds| kinds.metadata.bytes.0),
        number(kib(ledger.device_bytes.value().map(|bytes| bytes.0)), 1),
        floor.map_or(ABSENT.to_owned(), format::ms),
    ]
}
