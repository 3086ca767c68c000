//! Reads tracepoint text while the events happen.

use flashlag_spec::TraceSourceKind;
use flashlag_units::Nanos;

use super::super::kernel::{Kernel, Look, Machine};
use super::super::making::{LineImporter, Making, Verdict};
use super::Ftrace;
use crate::Builder;

/// The numbers of the system calls to trace, on this machine's architecture; absent if they are not
/// known.
pub fn numbers_of_calls() -> Option<[u64; 10]> {
    Machine::own().map(Machine::numbers)
}

/// Turns the tracepoint text of a running kernel into events.
pub struct TracepointText {
    importer: Ftrace,
    making: Making,
    cut: Vec<u8>,
}

impl TracepointText {
    /// Starts at a time of the kernel's clock. System call numbers are those of this machine.
    pub fn new(start: Nanos, look: Box<dyn Look>) -> TracepointText {
        let kernel = Kernel::with_look(look, Machine::own());
        TracepointText {
            importer: Ftrace { kernel, is_page: Some(false) },
            making: Making::running(TraceSourceKind::Tracefs, start),
            cut: Vec::new(),
        }
    }

    /// Takes the next piece of text, which may end within a line, and adds its events to `to`.
    pub fn take(&mut self, text: &[u8], to: &mut Builder) {
        std::mem::swap(&mut self.making.builder, to);
        if let Some(look) = self.importer.kernel.look() {
            look.begin();
        }
        self.cut.extend_from_slice(text);
        let whole = self.cut.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let rest = self.cut.split_off(whole);
        let lines = std::mem::replace(&mut self.cut, rest);
        for line in lines.split(|byte| *byte == b'\n') {
            self.making.next_line();
            let line = String::from_utf8_lossy(line);
            match self.importer.line(&line, &mut self.making) {
                Verdict::Damaged => self.making.damaged(),
                Verdict::Taken | Verdict::Ignored => {}
            }
        }
        self.importer.kernel.add_ended(&mut self.making);
        std::mem::swap(&mut self.making.builder, to);
    }

    /// Adds the events that still wait for their end.
    pub fn end(&mut self, to: &mut Builder) {
        std::mem::swap(&mut self.making.builder, to);
        self.importer.kernel.end(&mut self.making);
        std::mem::swap(&mut self.making.builder, to);
    }

    /// Number of calls on descriptors that were closed before it could be found out whether they
    /// were files.
    pub fn unknown_calls(&self) -> u64 {
        self.importer.kernel.unknown_calls()
    }
}
