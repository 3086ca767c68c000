//! What the columns of a table of block requests hold, and in which unit:
//! `time:s,op,offset:bytes,size:bytes,latency:us`.

use std::fmt;
use std::str::FromStr;

use flashlag_schema::trace::BlockOperation;
use flashlag_units::Bytes;

use super::super::text::SECTOR;

/// The operations that a column, or a whole table, can be declared to hold.
const OPERATIONS: [(&str, BlockOperation); 4] = [
    ("read", BlockOperation::Read),
    ("write", BlockOperation::Write),
    ("flush", BlockOperation::Flush),
    ("discard", BlockOperation::Discard),
];

/// Units of time, in nanoseconds.
const TIMES: [(&str, u64); 5] =
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000), ("100ns", 100), ("ns", 1)];

/// What one column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// When the request began, in units of this many nanoseconds.
    Begun(u64),
    /// When the request completed.
    Ended(u64),
    /// How long the request took.
    Took(u64),
    /// Offset on the device, in units of this many bytes.
    Offset(u64),
    /// How much.
    Size(u64),
    /// Operation: by these codes, or if there are none by the kernel's letters or words.
    Operation(Vec<(String, BlockOperation)>),
    /// blktrace's action: Q, D, C or R. A row is then one event of a request.
    Step,
    /// The device, or a part of its name.
    Device,
    /// The kernel's device number: major × 2²⁰ + minor.
    DeviceNumber,
    Process,
    /// The number of the process or the thread.
    Pid,
    /// Anything else.
    Skipped,
}

/// What the columns of a table of block requests hold, from left to right.
///
/// The text has one item per column: `time:UNIT` (the beginning), `end:UNIT` (the completion),
/// `latency:UNIT` with UNIT `s`, `ms`, `us`, `100ns` or `ns`; `offset:UNIT`, `size:UNIT` with UNIT
/// `bytes`, `sectors` (of 512 bytes) or a size such as `4KiB`; `op`, or `op:0=read/1=write` if the
/// column has codes; `step`, `device`, `dev_t`, `process`, `pid`; `-` for a column to skip.
/// `op=write` or `op=read` is not a column: it declares all requests to be of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    pub(super) of: Vec<Column>,
    /// The operation of every request, if no column has it.
    pub(super) all: Option<BlockOperation>,
}

/// Why a text does not describe columns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// An item is not one of those that there are.
    #[error(
        "`{0}` is no column: there are time:UNIT, end:UNIT, latency:UNIT, offset:UNIT, size:UNIT, op, step, \
         device, dev_t, process, pid, `-` for any other, and op=read or op=write for all rows"
    )]
    Item(String),
    #[error("`{item}` needs a unit: {}", units(item))]
    Unit { item: String },
    /// The kinds of operations can't be read.
    #[error(
        "`{0}` is no list of codes: write op:0=read/1=write (kinds are read, write, flush, discard)"
    )]
    Codes(String),
    #[error("`{0}` is named twice")]
    Twice(&'static str),
    #[error("{0}")]
    Missing(&'static str),
}

fn units(item: &str) -> &'static str {
    match item.split(':').next() {
        Some("offset" | "size") => "bytes, sectors (of 512 bytes) or a size such as 4KiB",
        _ => "s, ms, us, 100ns or ns",
    }
}

impl Column {
    /// The word for the column in the text.
    fn name(&self) -> &'static str {
        match self {
            Column::Begun(_) => "time",
            Column::Ended(_) => "end",
            Column::Took(_) => "latency",
            Column::Offset(_) => "offset",
            Column::Size(_) => "size",
            Column::Operation(_) => "op",
            Column::Step => "step",
            Column::Device => "device",
            Column::DeviceNumber => "dev_t",
            Column::Process => "process",
            Column::Pid => "pid",
            Column::Skipped => "-",
        }
    }
}

/// Nanoseconds of a unit of time.
pub(super) fn time_unit(name: &str) -> Option<u64> {
    TIMES.iter().find(|(known, _)| *known == name).map(|(_, nanos)| *nanos)
}

/// Bytes of a unit of size.
pub(super) fn size_unit(name: &str) -> Option<u64> {
    match name {
        "bytes" => Some(1),
        "sectors" => Some(SECTOR),
        other => other.parse::<Bytes>().ok().map(|bytes| bytes.0).filter(|bytes| *bytes > 0),
    }
}

fn operation(name: &str) -> Option<BlockOperation> {
    OPERATIONS.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation)
}

impl FromStr for Column {
    type Err = ColumnsError;

    fn from_str(item: &str) -> Result<Column, ColumnsError> {
        let (name, unit) =
            item.split_once(':').map_or((item, None), |(name, unit)| (name, Some(unit)));
        let time = || {
            let nanos = unit.and_then(time_unit);
            nanos.ok_or_else(|| ColumnsError::Unit { item: item.to_owned() })
        };
        let size = || {
            let bytes = unit.and_then(size_unit);
            bytes.ok_or_else(|| ColumnsError::Unit { item: item.to_owned() })
        };
        Ok(match (name, unit) {
            ("time", _) => Column::Begun(time()?),
            ("end", _) => Column::Ended(time()?),
            ("latency", _) => Column::Took(time()?),
            ("offset", _) => Column::Offset(size()?),
            ("size", _) => Column::Size(size()?),
            ("op", None) => Column::Operation(Vec::new()),
            ("op", Some(codes)) => {
                let code = |text: &str| {
                    let (code, kind) = text.split_once('=')?;
                    Some((code.to_owned(), operation(kind)?)).filter(|(code, _)| !code.is_empty())
                };
                let codes: Option<Vec<_>> = codes.split('/').map(code).collect();
                Column::Operation(codes.ok_or_else(|| ColumnsError::Codes(item.to_owned()))?)
            }
            ("step", None) => Column::Step,
            ("device", None) => Column::Device,
            ("dev_t", None) => Column::DeviceNumber,
            ("process", None) => Column::Process,
            ("pid", None) => Column::Pid,
            ("-", None) => Column::Skipped,
            _ => return Err(ColumnsError::Item(item.to_owned())),
        })
    }
}

impl Columns {
    /// The columns, if they suffice to make a request.
    pub(super) fn of(
        of: Vec<Column>,
        all: Option<BlockOperation>,
    ) -> Result<Columns, ColumnsError> {
        for (at, column) in of.iter().enumerate() {
            let may_repeat = matches!(column, Column::Device | Column::Skipped);
            if !may_repeat && of[..at].iter().any(|before| before.name() == column.name()) {
                return Err(ColumnsError::Twice(column.name()));
            }
        }
        let has = |name: &str| of.iter().any(|column| column.name() == name);
        if has("op") && all.is_some() {
            return Err(ColumnsError::Twice("op"));
        }
        let missing = match () {
            () if !has("size") => "no column has the size of a request: name it size:UNIT",
            () if !has("op") && all.is_none() => {
                "no column says read or write: name it op, or add op=write where all are writes"
            }
            () if !has("time") && !has("end") && !has("offset") => {
                "no column says when or where a request was: name one time:UNIT, end:UNIT or offset:UNIT"
            }
            () if has("step") && !(has("time") && has("offset")) => {
                "steps are put together by time and place: name columns time:UNIT and offset:UNIT"
            }
            () if has("time") && has("end") && has("latency") => {
                "time, end and latency are one too many: name two of them"
            }
            () => return Ok(Columns { of, all }),
        };
        Err(ColumnsError::Missing(missing))
    }
}

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Columns, ColumnsError> {
        let mut of = Vec::new();
        let mut all = None;
        for item in text.split(',').map(str::trim) {
            match item.strip_prefix("op=") {
                Some(kind) => {
                    let kind =
                        operation(kind).ok_or_else(|| ColumnsError::Item(item.to_owned()))?;
                    if all.replace(kind).is_some() {
                        return Err(ColumnsError::Twice("op"));
                    }
                }
                None => of.push(item.parse()?),
            }
        }
        Columns::of(of, all)
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut items: Vec<String> = self.of.iter().map(Column::to_string).collect();
        items.extend(self.all.map(|kind| format!("op={}", name_of(kind))));
        formatter.write_str(&items.join(","))
    }
}

fn name_of(kind: BlockOperation) -> &'static str {
    OPERATIONS.iter().find(|(_, known)| *known == kind).map_or("-", |(name, _)| name)
}

impl fmt::Display for Column {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())?;
        match self {
            Column::Begun(nanos) | Column::Ended(nanos) | Column::Took(nanos) => {
                let unit = TIMES.iter().find(|(_, known)| known == nanos);
                write!(formatter, ":{}", unit.map_or("ns", |(name, _)| name))
            }
            Column::Offset(1) | Column::Size(1) => formatter.write_str(":bytes"),
            Column::Offset(SECTOR) | Column::Size(SECTOR) => formatter.write_str(":sectors"),
            Column::Offset(bytes) | Column::Size(bytes) => write!(formatter, ":{bytes}B"),
            Column::Operation(codes) if !codes.is_empty() => {
                let codes = codes.iter().map(|(code, kind)| format!("{code}={}", name_of(*kind)));
                write!(formatter, ":{}", codes.collect::<Vec<_>>().join("/"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_columns_reads_back_as_it_is_shown() {
        for text in [
            "time:s,op,offset:bytes,size:bytes,latency:us",
            "device,-,time:100ns,op:0=read/1=write,offset:sectors,size:4096B,latency:100ns",
            "time:ms,end:ms,size:bytes,op=write",
            "time:s,step,op,offset:sectors,size:sectors,process,pid",
        ] {
            let columns: Columns = text.parse().unwrap();
            assert_eq!(columns.to_string(), text);
            assert_eq!(columns.to_string().parse::<Columns>(), Ok(columns));
        }
        assert_eq!(
            "size:4KiB,op=read,time:s".parse::<Columns>().unwrap().of[0],
            Column::Size(4096)
        );
    }

    #[test]
    fn what_names_no_columns_is_refused_with_what_is_missing() {
        let error = |text: &str| text.parse::<Columns>().unwrap_err().to_string();
        assert!(error("time:s,op,offset:bytes").contains("size:UNIT"));
        assert!(error("time:s,size:bytes").contains("op=write"));
        assert!(error("op,size:bytes").contains("time:UNIT"));
        assert!(error("time,op,size:bytes").contains("`time` needs a unit: s, ms"));
        assert!(error("time:s,op,size:blocks").contains("sectors (of 512 bytes)"));
        assert!(error("time:s,time:s,op,size:bytes").contains("twice"));
        assert!(error("time:s,op,op=write,size:bytes").contains("twice"));
        assert!(error("time:s,lba,op,size:bytes").contains("`lba` is no column"));
        assert!(error("time:s,op:r=load,size:bytes").contains("no list of codes"));
        assert!(error("step,op,size:bytes,time:s").contains("offset:UNIT"));
        assert!(error("time:s,end:s,latency:s,op,size:bytes").contains("one too many"));
        assert!(error("").contains("is no column"));
    }
}
