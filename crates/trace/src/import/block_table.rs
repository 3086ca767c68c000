//! Tables of block requests, separated by commas: those of a Pixel 6a
//! (`proces,device,rw_flag,sector,size,timestamp`), of a Nexus 5 (`offset,size,type`,
//! `bytes,submit_s,finish_s`), and any other with these names at the head of its columns.

use flashlag_schema::trace::{BlockFlags, BlockOperation, TraceAction, TraceLayer, TraceTask};
use flashlag_units::{Bytes, Nanos};

use super::LineImporter;
use super::making::{Making, Verdict};
use super::rwbs::rwbs;
use super::text::{SECTOR, seconds};

/// Requests of which no time is known are set this far apart, so that they keep their order.
const NO_TIME: Nanos = Nanos(1);
/// The kinds of requests of the Nexus 5's traces: `type` 1 is a write.
const NEXUS_WRITE: &str = "1";

/// Imports a table of block requests.
#[derive(Debug, Default)]
pub(super) struct BlockTable {
    columns: Option<Columns>,
    untimed: u64,
    any_took: bool,
    any_operation: bool,
    no_offset: bool,
}

/// Which column has what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Columns {
    process: Option<usize>,
    device: Option<usize>,
    operation: Option<usize>,
    sector: Option<usize>,
    sectors: Option<usize>,
    bytes: Option<usize>,
    begun: Option<usize>,
    ended: Option<usize>,
    number: usize,
}

/// Whether a line is the head of such a table.
pub(super) fn is_head(line: &str) -> bool {
    head(line).is_some()
}

fn head(line: &str) -> Option<Columns> {
    let mut columns = Columns::default();
    // Text with such words between commas is no head.
    let is_name = |cell: &str| cell.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !line.trim_start_matches('\u{feff}').rsplit(',').skip(1).all(is_name) {
        return None;
    }
    for (at, name) in line.trim_start_matches('\u{feff}').split(',').enumerate() {
        columns.number = at + 1;
        // The head of the Nexus 5's table goes on with figures after the name.
        let name = name.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let column = match name.as_str() {
            "proces" | "process" | "comm" => &mut columns.process,
            "device" | "dev" => &mut columns.device,
            "rw_flag" | "rwbs" | "op" | "type" => &mut columns.operation,
            "sector" | "offset" => &mut columns.sector,
            "sectors" => &mut columns.sectors,
            "size" | "bytes" => &mut columns.bytes,
            "timestamp" | "submit_s" | "time_s" => &mut columns.begun,
            "finish_s" => &mut columns.ended,
            _ => continue,
        };
        column.get_or_insert(at);
    }
    // The Pixel's `size` counts sectors: its timestamp is the kernel's, as its sectors are.
    if columns.process.is_some() && columns.sectors.is_none() {
        columns.sectors = columns.bytes.take();
    }
    let has_size = columns.bytes.is_some() || columns.sectors.is_some();
    (has_size && (columns.sector.is_some() || columns.begun.is_some())).then_some(columns)
}

impl LineImporter for BlockTable {
    fn line(&mut self, line: &str, making: &mut Making) -> Verdict {
        if line.trim().is_empty() {
            return Verdict::Ignored;
        }
        let Some(columns) = self.columns else {
            return match head(line) {
                Some(columns) => {
                    self.columns = Some(columns);
                    Verdict::Ignored
                }
                None => Verdict::Damaged,
            };
        };
        match self.row(columns, line, making) {
            Some(()) => Verdict::Taken,
            None => Verdict::Damaged,
        }
    }

    fn finish(&mut self, making: &mut Making) {
        making.sees(TraceLayer::Block);
        if self.untimed > 0 {
            making.limit("The table has no times: only the order of the requests is known.");
        } else if !self.any_took {
            making.limit("The table has the issue of each request only: no latency is known.");
        }
        if !self.any_operation {
            making.limit(
                "The table does not say what was asked for: its requests are taken for writes.",
            );
        }
        if self.no_offset {
            making.limit("The table does not say where on the device a request is: all are at 0.");
        }
    }
}

impl BlockTable {
    fn row(&mut self, columns: Columns, line: &str, making: &mut Making) -> Option<()> {
        // A process's name may contain commas; it stands first, and the others are numbers.
        let extra = line.split(',').count().checked_sub(columns.number)?;
        let cells: Vec<&str> = match (columns.process, extra) {
            (_, 0) => line.split(',').collect(),
            (Some(0), extra) => {
                let (at, _) = line.match_indices(',').nth(extra)?;
                std::iter::once(&line[..at]).chain(line[at + 1..].split(',')).collect()
            }
            _ => return None,
        };
        let cell = |column: Option<usize>| {
            column.map(|column| cells.get(column).copied().unwrap_or_default().trim())
        };
        let number = |column: Option<usize>| cell(column).map(str::parse::<u64>).transpose().ok();
        let (operation, flags) = self.operation(cell(columns.operation))?;
        let offset = number(columns.sector)?.unwrap_or(0).checked_mul(SECTOR)?;
        self.no_offset |= columns.sector.is_none();
        let bytes = match number(columns.sectors)? {
            Some(sectors) => sectors.checked_mul(SECTOR)?,
            None => number(columns.bytes)??,
        };
        offset.checked_add(bytes)?;
        let begun = cell(columns.begun).map(seconds).map_or(Some(None), |time| time.map(Some))?;
        let ended = cell(columns.ended).map(seconds).map_or(Some(None), |time| time.map(Some))?;
        let t = begun.unwrap_or_else(|| {
            self.untimed += 1;
            Nanos(self.untimed.saturating_mul(NO_TIME.0))
        });
        let took = begun.zip(ended).map(|(begun, ended)| ended.0.checked_sub(begun.0).map(Nanos));
        // An end before its beginning is damage.
        let took = took.map_or(Some(None), |took| took.map(Some))?;
        self.any_took |= took.is_some();
        let name = cell(columns.device).map_or("unnamed".to_owned(), device_name);
        let device = making.builder.device(&name);
        let task = cell(columns.process).map(|name| making.task(task_of(name)));
        let (queued_ns, file) = (None, None);
        let bytes = Bytes(bytes);
        let block = TraceAction::Block { device, operation, offset, bytes, flags, queued_ns, file };
        making.event(t, took, task, block);
        Some(())
    }

    fn operation(&mut self, cell: Option<&str>) -> Option<(BlockOperation, BlockFlags)> {
        let Some(cell) = cell else { return Some((BlockOperation::Write, BlockFlags::default())) };
        self.any_operation = true;
        match cell {
            NEXUS_WRITE => Some((BlockOperation::Write, BlockFlags::default())),
            "0" => Some((BlockOperation::Read, BlockFlags::default())),
            "read" => rwbs("R"),
            "write" => rwbs("W"),
            letters => rwbs(letters),
        }
    }
}

/// `8388608` is the kernel's number of a device, major × 2²⁰ + minor: 8,0.
fn device_name(cell: &str) -> String {
    match cell.parse::<u64>() {
        Ok(number) if number >= 1 << 20 => format!("{},{}", number >> 20, number & 0xf_ffff),
        _ => cell.to_owned(),
    }
}

/// `kworker/u17:2-16494` is a name and a thread's number, as ftrace writes them. A name without a number
/// and one that ends in a dash (`pool-14-thread--3137`) stand in the same column.
pub(super) fn task_of(name: &str) -> TraceTask {
    if let Some((thread, number)) = name.rsplit_once('-')
        && let Ok(tid) = number.parse()
        && !thread.is_empty()
    {
        // The kernel did not know the name any more.
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

    #[test]
    fn the_columns_are_found_by_their_names() {
        assert!(is_head("proces,device,rw_flag,sector,size,timestamp"));
        assert!(is_head("offset,size,type 507 14411 5701 4"));
        assert!(is_head("bytes,submit_s,finish_s"));
        assert!(!is_head("x-1 [0] 1.0: e: entry_name /x, offset 0, bytes 4096, pid 1"));
        assert!(!is_head("a,b,c") && !is_head("") && !is_head("8,0 3 11 0.1 5 Q W 8 + 8 [x]"));
    }
}
