//! Tables of block requests, one request per row. The meaning and the unit of a column are never
//! guessed: they come from a published form, the columns' names or the user; otherwise the table is
//! refused.

mod columns;
mod decimal;
mod layout;
mod published;
mod row;
mod separator;

use flashlag_schema::trace::{TraceAction, TraceLayer};
use flashlag_units::{Bytes, Nanos, count};

use super::making::{LineImporter, Making, Verdict};
use super::pair::{End, Requests};
use columns::Column;
pub use columns::{Columns, ColumnsError};
pub use layout::TableError;
pub(in crate::import) use layout::refusal;
use layout::{By, Layout};
use row::{LeftOut, Parsed, Row};

/// Requests without a known time are put this far apart, so that they keep their order.
const NO_TIME: Nanos = Nanos(1);

/// Imports a table of block requests.
#[derive(Debug)]
pub(super) struct BlockTable {
    layout: Layout,
    is_first: bool,
    requests: Requests,
    untimed: u64,
    without_latency: u64,
    unknown: u64,
}

/// Whether a file begins like a table whose columns are known.
pub(super) fn is_known(head: &str) -> bool {
    Layout::known(head).is_some()
}

impl BlockTable {
    /// For a file with this beginning; `columns` are those that the user declares.
    pub(super) fn of(head: &str, columns: Option<&Columns>) -> Result<BlockTable, TableError> {
        let layout = match columns {
            Some(columns) => Layout::of_option(head, columns)?,
            None => Layout::known(head).ok_or_else(|| {
                let first = head.lines().next().unwrap_or_default().chars().take(200).collect();
                refusal(head)
                    .unwrap_or(TableError::Unknown { first, columns: "columns".to_owned() })
            })?,
        };
        let requests = Requests::default();
        let (untimed, without_latency, unknown) = (0, 0, 0);
        Ok(BlockTable { layout, is_first: true, requests, untimed, without_latency, unknown })
    }

    fn has(&self, is: fn(&Column) -> bool) -> bool {
        self.layout.columns.of.iter().any(is)
    }

    /// A sentence about how the table is interpreted.
    fn understood(&self) -> String {
        let by = match self.layout.by {
            By::Option => "as --columns says".to_owned(),
            By::Published(name) => format!("a table in the form of {name}"),
            By::Names => "by the names of its columns".to_owned(),
        };
        format!("Read {by}: {}", self.layout.columns)
    }

    /// Takes a request, or with a `step` column one event of a request.
    fn take(&mut self, row: &Row<'_>, making: &mut Making) -> Verdict {
        let device = making.builder.device(row.device.as_deref().unwrap_or("unnamed"));
        let task = row.task().map(|task| making.task(task));
        let Some(step) = row.step.as_deref() else {
            let t = row.t.unwrap_or_else(|| {
                self.untimed += 1;
                Nanos(self.untimed.saturating_mul(NO_TIME.0))
            });
            let (operation, flags, offset) = (row.operation, row.flags, row.offset);
            let (bytes, queued_ns, file) = (Bytes(row.bytes), None, None);
            let block =
                TraceAction::Block { device, operation, offset, bytes, flags, queued_ns, file };
            making.event(t, row.took, task, block);
            return Verdict::Taken;
        };
        let end = End {
            t: row.t.unwrap_or_default(),
            device,
            operation: row.operation,
            sector: row.offset / super::text::SECTOR,
            sectors: row.bytes / super::text::SECTOR,
            flags: row.flags,
            task: task.filter(|_| step != "C"),
            file: None,
        };
        match step {
            "Q" => self.requests.queue(end),
            "D" => self.requests.issue(end),
            "R" => self.requests.requeue(end),
            "C" => self.requests.complete(end),
            other => {
                making.skip(&format!("step {other}"));
                return Verdict::Ignored;
            }
        }
        Verdict::Taken
    }
}

impl LineImporter for BlockTable {
    fn line(&mut self, line: &str, making: &mut Making) -> Verdict {
        if line.trim().is_empty() || line.starts_with('#') {
            return Verdict::Ignored;
        }
        if std::mem::take(&mut self.is_first) {
            making.read_as(self.understood());
            if self.layout.has_head {
                return Verdict::Ignored;
            }
        }
        match Row::parse(&self.layout, line) {
            Some(Parsed::Request(row)) => self.take(&row, making),
            Some(Parsed::LeftOut(why)) => {
                match why {
                    LeftOut::Latency => self.without_latency += 1,
                    LeftOut::Kind => self.unknown += 1,
                }
                making.skip(why.name());
                making.lacks(1);
                Verdict::Ignored
            }
            None => Verdict::Damaged,
        }
    }

    fn finish(&mut self, making: &mut Making) {
        self.requests.finish(making);
        making.sees(TraceLayer::Block);
        let has_times = self.has(|column| matches!(column, Column::Begun(_) | Column::Ended(_)));
        let has_latency = self.has(|column| matches!(column, Column::Took(_) | Column::Step))
            || self.has(|column| matches!(column, Column::Begun(_)))
                && self.has(|column| matches!(column, Column::Ended(_)));
        if !has_times {
            making.limit("The table has no times: only the order of the requests is known.");
        }
        if !has_latency {
            let end = if self.has(|column| matches!(column, Column::Ended(_))) {
                "completion"
            } else {
                "beginning"
            };
            let what = if has_times { end } else { "place" };
            making.limit(format!(
                "The table has the {what} of each request only: no latency is known."
            ));
        }
        if !self.has(|column| matches!(column, Column::Offset(_))) {
            making.limit("The table does not say where on the device a request is: all are at 0.");
        }
        for (rows, what) in [
            (self.without_latency, "a latency, where others have one"),
            (self.unknown, "a kind of request that is known"),
        ] {
            if rows > 0 {
                let are = if rows == 1 { "row is" } else { "rows are" };
                making.limit(format!("{} {are} left out: without {what}.", count(rows)));
            }
        }
    }
}
