//! A row of a table of block requests.

use std::borrow::Cow;

use flashlag_schema::trace::{BlockFlags, BlockOperation, TraceTask};
use flashlag_units::Nanos;

use super::super::rwbs::rwbs;
use super::columns::Column;
use super::decimal::{scaled, whole};
use super::layout::Layout;
use super::separator::Separator;

/// If times are those of completions, the table may begin with a request that began before its time
/// 0. All times are shifted by this much until the first becomes 0.
const BEFORE: u64 = 3_600_000_000_000;

/// A request, or with a `step` column one event of a request.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) t: Option<Nanos>,
    pub(super) took: Option<Nanos>,
    pub(super) device: Option<Cow<'a, str>>,
    process: Option<Cow<'a, str>>,
    pid: Option<u32>,
    pub(super) operation: BlockOperation,
    pub(super) flags: BlockFlags,
    /// The offset on the device, in bytes.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) step: Option<Cow<'a, str>>,
}

/// What a row of the right form is.
#[derive(Debug)]
pub(super) enum Parsed<'a> {
    Request(Row<'a>),
    LeftOut(LeftOut),
}

/// Why a row is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// The cell of its latency or its end is empty.
    Latency,
    /// It is neither a read, a write, a flush nor a discard.
    Kind,
}

impl LeftOut {
    pub(super) fn name(self) -> &'static str {
        match self {
            LeftOut::Latency => "row without a latency",
            LeftOut::Kind => "row of an unknown kind",
        }
    }
}

impl<'a> Row<'a> {
    /// Parses a row; `None` for a line that does not belong to this table.
    pub(super) fn parse(layout: &Layout, line: &'a str) -> Option<Parsed<'a>> {
        let columns = &layout.columns;
        let cells = cells(layout, line)?;
        let mut row = Row::of(columns.all);
        let (mut begun, mut ended) = (None, None);
        let mut left_out = None;
        for (column, cell) in columns.of.iter().zip(&cells) {
            match column {
                Column::Begun(unit) => begun = Some(scaled(cell, *unit)?),
                Column::Ended(_) | Column::Took(_) if cell.is_empty() => {
                    left_out = Some(LeftOut::Latency);
                }
                Column::Ended(unit) => ended = Some(scaled(cell, *unit)?),
                Column::Took(unit) => row.took = Some(Nanos(scaled(cell, *unit)?)),
                Column::Offset(unit) => row.offset = whole(cell, *unit)?,
                Column::Size(unit) => row.bytes = whole(cell, *unit)?,
                Column::Operation(codes) => match operation(codes, cell) {
                    Some(found) => (row.operation, row.flags) = found,
                    None => left_out = Some(LeftOut::Kind),
                },
                Column::Step => row.step = Some(cell.clone()),
                Column::Device => row.device = Some(joined(row.device.take(), cell)),
                Column::DeviceNumber => row.device = Some(device_name(cell)?.into()),
                Column::Process => row.process = Some(cell.clone()),
                Column::Pid => row.pid = cell.parse().ok(),
                Column::Skipped => {}
            }
        }
        row.offset.checked_add(row.bytes)?;
        if let Some(why) = left_out {
            return Some(Parsed::LeftOut(why));
        }
        row.timed(begun, ended).map(Parsed::Request)
    }

    fn of(kind: Option<BlockOperation>) -> Row<'a> {
        Row {
            t: None,
            took: None,
            device: None,
            process: None,
            pid: None,
            // A column has it if this is absent.
            operation: kind.unwrap_or(BlockOperation::Read),
            flags: BlockFlags::default(),
            offset: 0,
            bytes: 0,
            step: None,
        }
    }

    /// Sets its beginning and its duration; `None` if the end precedes the beginning.
    fn timed(mut self, begun: Option<u64>, ended: Option<u64>) -> Option<Row<'a>> {
        self.t = match (begun, ended) {
            (Some(begun), Some(ended)) => {
                self.took = Some(Nanos(ended.checked_sub(begun)?));
                Some(begun)
            }
            (None, Some(ended)) => {
                let took = self.took.unwrap_or_default();
                Some(ended.checked_add(BEFORE)?.checked_sub(took.0)?)
            }
            (begun, None) => begun,
        }
        .map(Nanos);
        Some(self)
    }

    /// Who asked for it.
    pub(super) fn task(&self) -> Option<TraceTask> {
        let named = self.process.as_deref();
        match (named, self.pid) {
            (Some(name), None) => Some(task_of(name)),
            (None, None) => None,
            (name, Some(pid)) => {
                let thread = name.map(str::to_owned);
                Some(TraceTask { tid: Some(pid), thread, ..TraceTask::default() })
            }
        }
    }
}

/// The cells of a row, one per column. A process's name may contain the separator.
fn cells<'a>(layout: &Layout, line: &'a str) -> Option<Vec<Cow<'a, str>>> {
    let columns = &layout.columns.of;
    let mut cells = layout.separator.cells(line);
    while cells.len() > columns.len() && cells.last().is_some_and(|cell| cell.is_empty()) {
        cells.pop();
    }
    // Skipped columns may be missing at the end.
    let needed = columns.iter().rposition(|column| *column != Column::Skipped)? + 1;
    if cells.len() < needed {
        return None;
    }
    let surplus = cells.len().saturating_sub(columns.len());
    if surplus == 0 {
        return Some(cells.into_iter().map(Cow::Borrowed).collect());
    }
    // The last column, which is skipped, may hold hashes of several blocks.
    if columns.last() == Some(&Column::Skipped) && layout.separator == Separator::Spaces {
        return Some(cells.into_iter().map(Cow::Borrowed).collect());
    }
    let at = columns.iter().position(|column| *column == Column::Process)?;
    let name = cells.get(at..=at + surplus)?.join(layout.separator.text());
    let (before, after) = (cells.get(..at)?, cells.get(at + surplus + 1..)?);
    let borrowed = |cells: &[&'a str]| cells.iter().copied().map(Cow::Borrowed).collect::<Vec<_>>();
    Some([borrowed(before), vec![Cow::Owned(name)], borrowed(after)].concat())
}

/// The operation of a request, from its code or from the kernel's letters or words.
fn operation(
    codes: &[(String, BlockOperation)],
    cell: &str,
) -> Option<(BlockOperation, BlockFlags)> {
    if !codes.is_empty() {
        let (_, kind) = codes.iter().find(|(code, _)| code == cell)?;
        return Some((*kind, BlockFlags::default()));
    }
    let letters = match cell.to_ascii_lowercase().as_str() {
        "r" | "read" => "R",
        "w" | "write" => "W",
        "d" | "discard" | "trim" => "D",
        "f" | "flush" => "F",
        _ => cell,
    };
    rwbs(letters)
}

/// The parts of a device's name; two numbers are the kernel's major and minor.
fn joined<'a>(before: Option<Cow<'a, str>>, cell: &Cow<'a, str>) -> Cow<'a, str> {
    let Some(before) = before else { return cell.clone() };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let between = if is_number(&before) && is_number(cell) { "," } else { "." };
    format!("{before}{between}{cell}").into()
}

/// `8388608` is the kernel's device number, major × 2²⁰ + minor: 8,0.
fn device_name(cell: &str) -> Option<String> {
    let number: u64 = cell.parse().ok()?;
    Some(format!("{},{}", number >> 20, number & 0xf_ffff))
}

/// `kworker/u17:2-16494` is a name and a thread number, as ftrace prints them. The same column may
/// also have a name without a number, or one that ends in a dash (`pool-14-thread--3137`).
fn task_of(name: &str) -> TraceTask {
    if let Some((thread, number)) = name.rsplit_once('-')
        && let Ok(tid) = number.parse()
        && !thread.is_empty()
    {
        // The kernel no longer knew the name.
        let thread = (thread != "<...>").then(|| thread.to_owned());
        return TraceTask { tid: Some(tid), thread, ..TraceTask::default() };
    }
    TraceTask { thread: Some(name.to_owned()), ..TraceTask::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_split_from_its_number_at_the_last_dash_only() {
        let of = |name: &str| {
            let task = task_of(name);
            (task.thread, task.tid)
        };
        let thread = |name: &str| Some(name.to_owned());
        assert_eq!(of("pool-14-thread--3137"), (thread("pool-14-thread-"), Some(3137)));
        assert_eq!(of("f2fs_ckpt-254:4-690"), (thread("f2fs_ckpt-254:4"), Some(690)));
        assert_eq!(of("<...>-230"), (None, Some(230)));
        assert_eq!(of("AsyncTask"), (thread("AsyncTask"), None));
        assert_eq!(of("-5"), (thread("-5"), None));
    }
}
