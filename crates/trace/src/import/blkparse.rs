//! Output of `blkparse`: its standard line, `8,0 3 11 0.009507758 697 Q WS 223490 + 8 [name]`, and
//! the same events in tab-separated columns, with the kind of block (journal, metadata, data) and
//! the file.

use std::collections::HashMap;

use flashlag_schema::trace::{BlockFlags, BlockOperation, TraceTask};
use flashlag_units::Nanos;

use super::making::{LineImporter, Making, Verdict};
use super::pair::{End, Requests};
use super::rwbs::rwbs;
use super::text::{SECTOR, seconds};

/// Imports text of `blkparse`.
#[derive(Debug, Default)]
pub(super) struct Blkparse {
    requests: Requests,
    devices: HashMap<String, u32>,
}

/// A line with a request.
#[derive(Debug, PartialEq)]
struct Parsed<'a> {
    device: &'a str,
    t: Nanos,
    pid: u32,
    action: char,
    operation: BlockOperation,
    flags: BlockFlags,
    place: Place,
    /// The name of the process, as printed in the line.
    named: Option<&'a str>,
    file: Option<&'a str>,
}

/// The sectors of a request; a flush has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Place {
    sector: u64,
    sectors: u64,
}

impl Place {
    /// `None` for sectors that no device can have, since their byte offsets would overflow.
    fn of(sector: u64, sectors: u64) -> Option<Place> {
        sector.checked_add(sectors)?.checked_mul(SECTOR)?;
        Some(Place { sector, sectors })
    }
}

impl<'a> Parsed<'a> {
    /// The process that issued the request. A completion has none: its line names whichever process
    /// it interrupted.
    fn process(&self) -> Option<&'a str> {
        self.named.filter(|_| self.action != 'C')
    }
}

enum Line<'a> {
    Request(Parsed<'a>),
    /// A line of this format that is not a request, by its kind: a plug, a message, the summary at
    /// the end.
    Other(&'a str),
    Empty,
    Damaged,
}

/// Whether a line is an event of this format.
pub(super) fn is_line(line: &str) -> bool {
    matches!(parse(line), Line::Request(_))
}

impl LineImporter for Blkparse {
    fn line(&mut self, line: &str, making: &mut Making) -> Verdict {
        let parsed = match parse(line) {
            Line::Request(parsed) => parsed,
            Line::Empty => return Verdict::Ignored,
            Line::Other(what) => {
                making.skip(what);
                return Verdict::Ignored;
            }
            Line::Damaged => return Verdict::Damaged,
        };
        let device = match self.devices.get(parsed.device) {
            Some(device) => *device,
            None => {
                let device = making.builder.device(parsed.device);
                self.devices.insert(parsed.device.to_owned(), device);
                device
            }
        };
        let task = parsed.process().map(|name| {
            // blktrace records only the thread's number and name.
            let thread = Some(name.to_owned());
            making.task(TraceTask { tid: Some(parsed.pid), thread, ..TraceTask::default() })
        });
        let file = parsed.file.map(|path| making.file(path));
        let end = End {
            t: parsed.t,
            device,
            operation: parsed.operation,
            sector: parsed.place.sector,
            sectors: parsed.place.sectors,
            flags: parsed.flags,
            task,
            file,
        };
        match parsed.action {
            'Q' => self.requests.queue(end),
            'D' => self.requests.issue(end),
            'R' => self.requests.requeue(end),
            'C' => self.requests.complete(end),
            other => {
                making.skip(&format!("step {other}"));
                return Verdict::Ignored;
            }
        }
        Verdict::Taken
    }

    fn finish(&mut self, making: &mut Making) {
        self.requests.finish(making);
    }
}

fn parse(line: &str) -> Line<'_> {
    if line.trim().is_empty() {
        return Line::Empty;
    }
    let found = if line.contains('\t') && !line.starts_with("CPU") { tabs(line) } else { None };
    found.or_else(|| standard(line)).unwrap_or(if is_summary(line) {
        Line::Other("summary")
    } else {
        Line::Damaged
    })
}

/// The summary at the end of blkparse's output.
fn is_summary(line: &str) -> bool {
    let starts = ["CPU", "Total (", "Throughput", "Events", "Skips", "Input file", " "];
    starts.iter().any(|start| line.starts_with(start)) && line.contains(':')
}

/// The first word of a text, and the rest.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(' ');
    let end = text.find(' ').unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The standard form: device, CPU, sequence number, time, process, action, kind, sector + sectors,
/// name.
fn standard(line: &str) -> Option<Line<'_>> {
    let (device, rest) = word(line)?;
    let (major, minor) = device.split_once(',')?;
    let (_, _): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    let (cpu, rest) = word(rest)?;
    let (number, rest) = word(rest)?;
    let (_, _): (u32, u64) = (cpu.parse().ok()?, number.parse().ok()?);
    let (time, rest) = word(rest)?;
    let t = seconds(time)?;
    let (pid, rest) = word(rest)?;
    let pid = pid.parse().ok()?;
    let (action, rest) = word(rest)?;
    let action = match action {
        "Q" | "D" | "C" | "R" => action.chars().next()?,
        other => return other_step(other).map(Line::Other),
    };
    let (kind, rest) = word(rest)?;
    // A command to the device that reads or writes no blocks.
    let Some((operation, flags)) = rwbs(kind) else {
        let is_word = kind.chars().all(|letter| letter.is_ascii_alphanumeric());
        return Some(if is_word { Line::Other(NO_BLOCKS) } else { Line::Damaged });
    };
    let (place, name) = place(rest, operation)?;
    // Everything between the first and the last bracket: a name may contain brackets and spaces.
    let named = name.trim_end().strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let file = None;
    Some(Line::Request(Parsed { device, t, pid, action, operation, flags, place, named, file }))
}

/// A command to a device that moves no blocks.
const NO_BLOCKS: &str = "request for no blocks";

/// The name of an action that neither begins nor ends a request.
fn other_step(letters: &str) -> Option<&'static str> {
    const STEPS: [(&str, &str); 13] = [
        ("UT", "step UT"),
        ("G", "step G"),
        ("I", "step I"),
        ("M", "step M"),
        ("F", "step F"),
        ("S", "step S"),
        ("P", "step P"),
        ("U", "step U"),
        ("T", "step T"),
        ("X", "step X"),
        ("B", "step B"),
        ("A", "step A"),
        ("m", "message"),
    ];
    STEPS.iter().find(|(known, _)| *known == letters).map(|(_, name)| *name)
}

/// `sector + sectors`, which a flush lacks, and the rest of the line.
fn place(rest: &str, operation: BlockOperation) -> Option<(Place, &str)> {
    let (first, after) = word(rest).unwrap_or(("", ""));
    let Ok(sector) = first.parse::<u64>() else {
        let is_flush = operation != BlockOperation::Read && first.starts_with('[');
        return is_flush.then(|| (Place::default(), rest.trim_start()));
    };
    match after.trim_start().strip_prefix('+') {
        Some(after) => {
            let (sectors, name) = word(after)?;
            Some((Place::of(sector, sectors.parse().ok()?)?, name.trim_start()))
        }
        // The completion of a bare flush: `FWS 0 [0]`.
        None if sector == 0 => Some((Place::default(), after.trim_start())),
        None => None,
    }
}

/// Tab-separated columns: time, action, kind, sector, sectors, process, its name, J(ournal)
/// M(etadata) or D(ata), file.
fn tabs(line: &str) -> Option<Line<'_>> {
    let mut columns = line.splitn(9, '\t');
    let t = seconds(columns.next()?.trim())?;
    let action = columns.next()?.trim();
    let mut letters = action.chars();
    let (action, None) = (letters.next()?, letters.next()) else { return None };
    if !action.is_ascii_alphabetic() {
        return None;
    }
    let (operation, mut flags) = rwbs(columns.next()?.trim())?;
    let mut number = || columns.next()?.trim().parse::<u64>().ok();
    let place = Place::of(number()?, number()?)?;
    let pid = columns.next()?.trim().parse().ok()?;
    let named = Some(columns.next()?.trim_start());
    match columns.next().map(str::trim) {
        Some("J") => flags.journal = true,
        Some("M") => flags.meta = true,
        Some("D" | "") | None => {}
        Some(_) => return None,
    }
    let file = columns.next().filter(|path| !path.is_empty());
    let device = "unnamed";
    Some(Line::Request(Parsed { device, t, pid, action, operation, flags, place, named, file }))
}
