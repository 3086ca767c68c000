//! The formats of files, and which one a file has.

use super::{blkparse, calls};

/// Bytes of a file's beginning that show its format.
pub(super) const HEAD: u64 = 1 << 16;
/// Lines of the beginning that are looked at.
const LINES: usize = 400;

/// A format of a file with a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// What flashlag itself writes, `flashlag.trace/1`.
    Stored,
    /// Text of `blkparse`, or the same events in columns of tabs.
    Blkparse,
    /// A list of system calls, as Mobibench's.
    SystemCalls,
}

impl InputFormat {
    /// Every format.
    pub const ALL: [InputFormat; 3] =
        [InputFormat::Stored, InputFormat::Blkparse, InputFormat::SystemCalls];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            InputFormat::Stored => "flashlag",
            InputFormat::Blkparse => "blkparse",
            InputFormat::SystemCalls => "calls",
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

/// The format whose lines the beginning has the most of.
pub(super) fn detect(head: &[u8]) -> Option<InputFormat> {
    let text = String::from_utf8_lossy(head);
    if text.trim_start().starts_with("{\"trace\":") {
        return Some(InputFormat::Stored);
    }
    let counted = |is: fn(&str) -> bool| text.lines().take(LINES).filter(|line| is(line)).count();
    let kinds: [(InputFormat, fn(&str) -> bool); 2] =
        [(InputFormat::Blkparse, blkparse::is_line), (InputFormat::SystemCalls, calls::is_line)];
    let counts = kinds.map(|(format, is)| (format, counted(is)));
    let (format, lines) = counts.into_iter().max_by_key(|(_, lines)| *lines)?;
    (lines > 0).then_some(format)
}
