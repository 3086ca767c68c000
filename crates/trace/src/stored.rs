//! Writes and reads the stored form of a trace, line by line.

use std::io::{self, BufRead, Write};

use flashlag_schema::trace::{
    TRACE_SCHEMA, Trace, TraceAction, TraceEvent, TraceEvents, TraceHead, TraceLine, TraceSource,
};

/// The longest line of a stored trace, in bytes; a path has at most 4,096.
const LONGEST_LINE: u64 = 1 << 20;

/// Writes a trace while it is being recorded. Tasks, files and devices are written before the first
/// event that refers to them.
#[derive(Debug)]
pub struct TraceWriter<W> {
    to: W,
    tasks: usize,
    files: usize,
    devices: usize,
}

impl<W: Write> TraceWriter<W> {
    /// Begins with the header.
    pub fn new(to: W, source: &TraceSource) -> io::Result<TraceWriter<W>> {
        let mut writer = TraceWriter { to, tasks: 0, files: 0, devices: 0 };
        let head = TraceHead { schema: TRACE_SCHEMA.to_owned(), source: source.clone() };
        writer.line(&TraceLine::Trace(head))?;
        Ok(writer)
    }

    /// Writes the tasks, files and devices of `trace` that were not written yet, then `events`.
    ///
    /// # Errors
    /// `to` can't be written.
    pub fn write(&mut self, trace: &Trace, events: &TraceEvents) -> io::Result<()> {
        for task in trace.tasks.iter().skip(self.tasks) {
            self.line(&TraceLine::Task(task.clone()))?;
        }
        self.tasks = self.tasks.max(trace.tasks.len());
        for file in trace.files.iter().skip(self.files) {
            self.line(&TraceLine::File(file.clone()))?;
        }
        self.files = self.files.max(trace.files.len());
        for device in trace.devices.iter().skip(self.devices) {
            self.line(&TraceLine::Device(device.clone()))?;
        }
        self.devices = self.devices.max(trace.devices.len());
        for event in events {
            self.line(&TraceLine::Event(event))?;
        }
        Ok(())
    }

    /// Writes the end; returns the writer.
    pub fn finish(mut self, source: &TraceSource) -> io::Result<W> {
        self.line(&TraceLine::End(source.clone()))?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn line(&mut self, line: &TraceLine) -> io::Result<()> {
        serde_json::to_writer(&mut self.to, line)?;
        self.to.write_all(b"\n")
    }
}

/// Writes a whole trace.
///
/// # Errors
/// `to` can't be written.
pub fn write_trace<W: Write>(to: W, trace: &Trace) -> io::Result<W> {
    let mut writer = TraceWriter::new(to, &trace.source)?;
    writer.write(trace, &trace.events)?;
    for frame in &trace.late_frames {
        writer.line(&TraceLine::Frame(frame.clone()))?;
    }
    writer.finish(&trace.source)
}

/// Why a stored trace can't be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    #[error("reading fails at line {line}: {error}")]
    Read { line: u64, error: io::Error },
    #[error("line {line} is no line of a stored trace: {reason}")]
    Line { line: u64, reason: String },
    /// Another version.
    #[error(
        "this is {found}, and this flashlag reads {TRACE_SCHEMA}: use the flashlag that wrote the file"
    )]
    Version { found: String },
}

/// Reads a stored trace. Of a truncated file it takes the whole lines, and the trace says so.
///
/// # Errors
/// The file can't be read, has another version, or a line before the last is damaged.
pub fn read_trace(from: impl BufRead, most_events: usize) -> Result<Trace, StoredError> {
    let mut reading = Reading { from, line: 0 };
    let mut trace = match reading.next()? {
        Some(TraceLine::Trace(head)) if head.schema == TRACE_SCHEMA => {
            Trace { source: head.source, ..Trace::default() }
        }
        Some(TraceLine::Trace(head)) => return Err(StoredError::Version { found: head.schema }),
        _ => {
            let reason = format!("the first line of one names {TRACE_SCHEMA}");
            return Err(StoredError::Line { line: 1, reason });
        }
    };
    let mut left_out = 0_u64;
    let ended = loop {
        match reading.next()? {
            None => break None,
            Some(TraceLine::End(source)) => break Some(source),
            Some(TraceLine::Task(task)) => trace.tasks.push(task),
            Some(TraceLine::File(file)) => trace.files.push(file),
            Some(TraceLine::Device(device)) => trace.devices.push(device),
            Some(TraceLine::Frame(frame)) if trace.late_frames.len() < most_events => {
                trace.late_frames.push(frame);
            }
            Some(TraceLine::Event(event)) if trace.events.len() < most_events => {
                reading.check(&trace, &event)?;
                trace.events.push(&event);
            }
            Some(TraceLine::Event(_) | TraceLine::Frame(_)) => left_out += 1,
            Some(TraceLine::Trace(_)) => return Err(reading.error("a second head")),
        }
    };
    match ended {
        Some(source) => trace.source = source,
        None => {
            trace.source.cut_off = true;
            trace
                .source
                .limits
                .push("The file was cut off: what came after is missing.".to_owned());
            trace.source.lasted_ns = crate::builder::lasted(&trace.events);
        }
    }
    if left_out > 0 {
        trace.source.left_out = trace.source.left_out.saturating_add(left_out);
        trace.source.limits.push(crate::builder::left_out(left_out, most_events));
    }
    trace.events.sort();
    Ok(trace)
}

struct Reading<R> {
    from: R,
    line: u64,
}

impl<R: BufRead> Reading<R> {
    /// The next line; `None` at the end, and at a torn last line.
    fn next(&mut self) -> Result<Option<TraceLine>, StoredError> {
        self.line += 1;
        let mut bytes = Vec::new();
        let read = io::Read::take(&mut self.from, LONGEST_LINE).read_until(b'\n', &mut bytes);
        read.map_err(|error| StoredError::Read { line: self.line, error })?;
        if bytes.is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice(&bytes) {
            Ok(line) => Ok(Some(line)),
            Err(_) if bytes.last() != Some(&b'\n') && (bytes.len() as u64) < LONGEST_LINE => {
                Ok(None)
            }
            Err(error) => Err(self.error(&error.to_string())),
        }
    }

    fn error(&self, reason: &str) -> StoredError {
        StoredError::Line { line: self.line, reason: reason.to_owned() }
    }

    /// Whether every index in the event refers to an earlier task, file or device.
    fn check(&self, trace: &Trace, event: &TraceEvent) -> Result<(), StoredError> {
        let known =
            |index: Option<u32>, length: usize| index.is_none_or(|index| (index as usize) < length);
        let (files, device) = named_by(&event.action);
        let all = known(event.task, trace.tasks.len())
            && files.into_iter().all(|file| known(file, trace.files.len()))
            && known(device, trace.devices.len());
        if all {
            Ok(())
        } else {
            Err(self.error("a number of a task, file or device that no line before has"))
        }
    }
}

/// The files and the device that an action names.
pub(crate) fn named_by(action: &TraceAction) -> ([Option<u32>; 2], Option<u32>) {
    match action {
        TraceAction::Open { file, .. }
        | TraceAction::Close { file }
        | TraceAction::Read { file, .. }
        | TraceAction::Write { file, .. }
        | TraceAction::Sync { file, .. }
        | TraceAction::Truncate { file, .. }
        | TraceAction::Unlink { file } => ([Some(*file), None], None),
        TraceAction::Rename { file, to } => ([Some(*file), Some(*to)], None),
        TraceAction::Change { file } => ([Some(*file), None], None),
        TraceAction::Failed { file, .. } => ([*file, None], None),
        TraceAction::SyncAll | TraceAction::Counted { .. } => ([None, None], None),
        TraceAction::Commit { device }
        | TraceAction::Checkpoint { device }
        | TraceAction::Clean { device } => ([None, None], Some(*device)),
        TraceAction::Block { device, file, .. } => ([*file, None], Some(*device)),
    }
}
