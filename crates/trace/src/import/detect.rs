//! The formats of trace files, and how a file's format is detected.

use super::{blkparse, calls, ftrace, perfetto, strace, table};

/// How many lines of a file's beginning to examine.
const LINES: usize = 400;

/// A format of a file with a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// What flashlag itself writes, `flashlag.trace/1`.
    Stored,
    /// Output of `blkparse`, or the same events in tab-separated columns.
    Blkparse,
    /// Text of ftrace or atrace.
    Ftrace,
    /// A Perfetto trace.
    Perfetto,
    /// Text of `strace`.
    Strace,
    /// A list of system calls, as Mobibench's.
    SystemCalls,
    /// A table of block requests.
    BlockTable,
}

impl InputFormat {
    /// Every format.
    pub const ALL: [InputFormat; 7] = [
        InputFormat::Stored,
        InputFormat::Blkparse,
        InputFormat::Ftrace,
        InputFormat::Perfetto,
        InputFormat::Strace,
        InputFormat::SystemCalls,
        InputFormat::BlockTable,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            InputFormat::Stored => "flashlag",
            InputFormat::Blkparse => "blkparse",
            InputFormat::Ftrace => "ftrace",
            InputFormat::Perfetto => "perfetto",
            InputFormat::Strace => "strace",
            InputFormat::SystemCalls => "calls",
            InputFormat::BlockTable => "csv",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<InputFormat> {
        InputFormat::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The names of all formats, for a message.
    pub(super) fn names() -> String {
        InputFormat::ALL.map(InputFormat::name).join(", ")
    }
}

/// Whether a line is in a format.
type IsLine = fn(&str) -> bool;

/// The format that most lines of the beginning are in.
pub(super) fn detect(head: &[u8]) -> Option<InputFormat> {
    if perfetto::is_trace(head) {
        return Some(InputFormat::Perfetto);
    }
    let text = String::from_utf8_lossy(head);
    if text.trim_start().starts_with("{\"trace\":") {
        return Some(InputFormat::Stored);
    }
    if table::is_known(&text) {
        return Some(InputFormat::BlockTable);
    }
    let counted = |is: IsLine| text.lines().take(LINES).filter(|line| is(line)).count();
    let kinds: [(InputFormat, IsLine); 4] = [
        (InputFormat::Blkparse, blkparse::is_line),
        (InputFormat::Ftrace, ftrace::is_line),
        (InputFormat::Strace, strace::is_line),
        (InputFormat::SystemCalls, calls::is_line),
    ];
    let counts = kinds.map(|(format, is)| (format, counted(is)));
    let (format, lines) = counts.into_iter().max_by_key(|(_, lines)| *lines)?;
    // A systrace page begins with thousands of lines of HTML.
    let is_page = text.trim_start().starts_with('<');
    if lines == 0 && is_page && (text.contains("trace") || text.contains("systrace")) {
        return Some(InputFormat::Ftrace);
    }
    // ftrace's own head comes before long comments.
    let is_ftrace = text.starts_with("# tracer:") || text.contains("\n# tracer:");
    if lines == 0 && is_ftrace {
        return Some(InputFormat::Ftrace);
    }
    (lines > 0).then_some(format)
}
