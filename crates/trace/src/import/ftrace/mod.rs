//! Output of ftrace, of atrace and of `perf script`: a name, a thread number, a time, an event.
//!
//! `          <...>-230   (  228) [001] d..3  1234.567890: block_rq_issue: 8,0 WS 4096 () 8 + 8
//! [x]`
//!
//! `              dd   230 [001]  1234.567890:       block:block_rq_issue: 8,0 WS 4096 () 8 + 8
//! [x]`

mod head;
mod point;
mod running;
mod sync;

use flashlag_schema::trace::TraceTask;

use super::kernel::{At, Kernel, Machine, Point, Step};
use super::making::{LineImporter, Making, Verdict};
use head::{Head, head};
use point::{Parsed, parse};
pub(super) use point::{checkpoint, words_of};
pub use running::{TracepointText, numbers_of_calls};

/// Imports text of ftrace and atrace.
#[derive(Debug, Default)]
pub(super) struct Ftrace {
    kernel: Kernel,
    /// Whether the text is a systrace page, most of which is HTML.
    is_page: Option<bool>,
}

/// Whether a line is an event of this format.
pub(super) fn is_line(line: &str) -> bool {
    head(trimmed(line)).is_some()
}

/// A line without what a systrace page appends to it.
fn trimmed(line: &str) -> &str {
    line.strip_suffix("\\n\\").unwrap_or(line)
}

impl Ftrace {
    /// An importer for a file with this beginning.
    pub(super) fn of(text: &str) -> Ftrace {
        let numbers = text.lines().filter_map(|line| match parse(head(trimmed(line))?.event) {
            Parsed::Point(Point::NumberEnter { number, .. }, _) => Some(number),
            _ => None,
        });
        let mut found = Ftrace::default();
        found.kernel.set_machine(Machine::of_numbers(numbers));
        found
    }

    /// Takes one event, of storage or not.
    fn take(
        &mut self,
        head: &Head<'_>,
        point: Point<'_>,
        process: Option<&str>,
        making: &mut Making,
    ) -> Verdict {
        let mut at = At { t: head.t, tid: head.tid, task: None };
        if matches!(point, Point::Forked { .. } | Point::Ended) {
            return verdict(self.kernel.take(at, point, making));
        }
        let mut task = task_of(head, process);
        let is_call = point.is_call();
        if let Some(look) = self.kernel.look() {
            if is_call && !look.watches(head.tid, head.pid) {
                making.skip("call of a process that is not recorded");
                return Verdict::Ignored;
            }
            (task.pid, task.process) = look.process(head.tid, head.pid);
            // A completion interrupts any thread.
            let is_end =
                matches!(point, Point::Block { step: Step::Complete | Step::CompleteOfBio, .. });
            if is_end || (!is_call && look.is_own(head.tid, head.pid)) {
                return verdict(self.kernel.take(at, point, making));
            }
        }
        at.task = Some(making.task(task));
        verdict(self.kernel.take(at, point, making))
    }
}

impl LineImporter for Ftrace {
    fn line(&mut self, line: &str, making: &mut Making) -> Verdict {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            return Verdict::Ignored;
        }
        let is_page = *self.is_page.get_or_insert(text.starts_with('<'));
        if let Some(lost) = lost_events(text) {
            let before = making.builder.source().lost.unwrap_or(0);
            making.builder.source().lost = Some(before.saturating_add(lost));
            making.skip("count of events lost");
            return Verdict::Ignored;
        }
        let Some(head) = head(trimmed(line)) else {
            // Lines that atrace prints around the trace.
            let is_around = ["capturing trace", "TRACE:", "version ", "cpus="];
            let known = is_page || is_around.iter().any(|start| text.starts_with(start));
            let what = match known {
                true => "text around the trace",
                false if is_caller(line) => "caller on the stack",
                false => return Verdict::Damaged,
            };
            making.skip(what);
            return Verdict::Ignored;
        };
        match parse(head.event) {
            Parsed::Point(point, process) => self.take(&head, point, process, making),
            Parsed::Other => {
                sync::marker(&head, &mut making.clocks);
                making.skip(event_name(head.event));
                Verdict::Ignored
            }
            Parsed::Damaged => Verdict::Damaged,
        }
    }

    fn finish(&mut self, making: &mut Making) {
        self.kernel.finish(making);
    }
}

fn verdict(is_taken: bool) -> Verdict {
    if is_taken { Verdict::Taken } else { Verdict::Ignored }
}

/// The name of an event that is not of storage, to count it.
fn event_name(event: &str) -> &str {
    let end = event.find([':', '(', ' ']).unwrap_or(event.len());
    let name = &event[..end];
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !name.is_empty() && name.len() <= 60 && name.bytes().all(is_name) {
        name
    } else {
        "text that is no event"
    }
}

fn task_of(head: &Head<'_>, process: Option<&str>) -> TraceTask {
    // The kernel no longer knew the name.
    let thread = Some(head.name).filter(|name| *name != "<...>" && !name.is_empty());
    TraceTask {
        tid: Some(head.tid),
        pid: head.pid,
        process: process.map(str::to_owned),
        thread: thread.map(str::to_owned),
    }
}

/// A line of a call chain of perf: ` ffffffff8131 ext4_sync_file+0x11 ([kernel.kallsyms])`
fn is_caller(line: &str) -> bool {
    let address = line.split_whitespace().next().unwrap_or_default();
    let is_hex = address.len() >= 6 && address.bytes().all(|byte| byte.is_ascii_hexdigit());
    line.starts_with([' ', '\t']) && is_hex
}

/// `CPU:2 [LOST 1234 EVENTS]`
fn lost_events(text: &str) -> Option<u64> {
    let (cpu, rest) = text.strip_prefix("CPU:")?.split_once(" [LOST ")?;
    let _: u32 = cpu.trim().parse().ok()?;
    rest.strip_suffix(" EVENTS]")?.trim().parse().ok()
}
