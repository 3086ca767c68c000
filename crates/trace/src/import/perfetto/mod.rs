//! Perfetto's traces: packets with bundles of the kernel's events, and the list of processes. This
//! reads the messages field by field and skips fields that are about neither storage nor frames.

mod frames;
mod message;

use std::collections::HashMap;
use std::io::{self, BufRead, Read};

use flashlag_schema::trace::TraceTask;
use flashlag_units::Nanos;
use flate2::read::ZlibDecoder;

use self::frames::{EventClock, Frames};
use self::message::{Message, Value, fields};
use super::ftrace::{checkpoint, words_of};
use super::kernel::{At, Kernel, Machine, Point, Step};
use super::making::Making;
use super::text::HEAD;

/// The longest packet. Perfetto's own buffers are smaller.
const LONGEST: u64 = 64 << 20;
/// Field numbers of `TracePacket`.
const FTRACE_EVENTS: u32 = 1;
const PROCESS_TREE: u32 = 2;
const SYSTEM_INFO: u32 = 45;
const COMPRESSED_PACKETS: u32 = 50;

/// Whether a file begins like a Perfetto trace: one packet, then another one or the end.
pub(super) fn is_trace(head: &[u8]) -> bool {
    let mut rest = head;
    let mut packets = 0;
    while packets < 4 {
        if rest.is_empty() {
            break;
        }
        let Some((1, Some(length))) = packet_head(&mut rest) else { return false };
        let Some(packet) = rest.get(..length) else { return packets > 0 || is_cut(head, length) };
        if fields(packet).any(|field| field.is_none()) {
            return false;
        }
        (packets, rest) = (packets + 1, &rest[length..]);
    }
    packets > 0
}

/// Whether a packet is longer than the part of the file that was read.
fn is_cut(head: &[u8], length: usize) -> bool {
    head.len() as u64 >= HEAD && (length as u64) < LONGEST
}

/// The number of a field, and its length if it has one.
fn packet_head(rest: &mut &[u8]) -> Option<(u32, Option<usize>)> {
    let (number, wire) = prost::encoding::decode_key(rest).ok()?;
    match wire {
        prost::encoding::WireType::LengthDelimited => {
            let length = prost::encoding::decode_varint(rest).ok()?;
            Some((number, Some(usize::try_from(length).ok()?)))
        }
        _ => Some((number, None)),
    }
}

/// Turns Perfetto's packets into a trace.
#[derive(Default)]
pub(super) struct Perfetto {
    kernel: Kernel,
    processes: HashMap<u32, String>,
    threads: HashMap<u32, (Option<u32>, Option<String>)>,
    tasks: HashMap<u32, u32>,
    frames: Frames,
}

impl Perfetto {
    /// Reads all packets. Counts damaged ones; a truncated file ends at its last whole packet.
    pub(super) fn read(mut self, mut from: impl BufRead, making: &mut Making) -> io::Result<()> {
        loop {
            making.next_line();
            if from.fill_buf()?.is_empty() {
                break;
            }
            let Some(length) = next_length(&mut from)? else {
                making.damaged();
                making.builder.source().cut_off = true;
                making.limit("The file is damaged within: what comes after can't be found.");
                break;
            };
            let mut packet = Vec::new();
            Read::take(&mut from, length).read_to_end(&mut packet)?;
            if (packet.len() as u64) < length {
                making.builder.source().cut_off = true;
                making.limit("The file was cut off: its last packet is not whole.");
                break;
            }
            self.packet(&packet, 0, making);
        }
        self.finish(making);
        Ok(())
    }

    fn packet(&mut self, packet: &[u8], depth: u32, making: &mut Making) {
        let mut damaged = self.frames.packet(packet).is_none();
        for field in fields(packet) {
            match field {
                Some((FTRACE_EVENTS, Value::Bytes(bundle))) => self.bundle(bundle, making),
                Some((PROCESS_TREE, Value::Bytes(tree))) => damaged |= self.tree(tree).is_none(),
                Some((SYSTEM_INFO, Value::Bytes(info))) => {
                    damaged |= self.system(info).is_none();
                }
                Some((COMPRESSED_PACKETS, Value::Bytes(packets))) if depth == 0 => {
                    let mut plain = Vec::new();
                    let decoder = ZlibDecoder::new(packets).take(LONGEST);
                    damaged |= io::BufReader::new(decoder).read_to_end(&mut plain).is_err();
                    for field in fields(&plain) {
                        match field {
                            Some((1, Value::Bytes(packet))) => self.packet(packet, 1, making),
                            Some(_) => {}
                            None => damaged = true,
                        }
                    }
                }
                Some(_) => {}
                None => damaged = true,
            }
        }
        if damaged {
            making.damaged();
        }
    }

    /// `SystemInfo`: its `Utsname` gives the architecture, which determines the system call
    /// numbers.
    fn system(&mut self, info: &[u8]) -> Option<()> {
        for name in Message::of(info)?.bytes(1) {
            if let Some(machine) = Message::of(name)?.text(4) {
                self.kernel.set_machine(Machine::of_name(machine));
            }
        }
        Some(())
    }

    /// `ProcessTree`: processes with their command, threads with their names.
    fn tree(&mut self, tree: &[u8]) -> Option<()> {
        let tree = Message::of(tree)?;
        for process in tree.bytes(1) {
            let process = Message::of(process)?;
            let pid = process.number(1).and_then(|pid| u32::try_from(pid).ok());
            let command = process.bytes(3).next().and_then(|name| std::str::from_utf8(name).ok());
            if let (Some(pid), Some(command)) = (pid, command) {
                self.processes.insert(pid, command.to_owned());
            }
        }
        for thread in tree.bytes(2) {
            let thread = Message::of(thread)?;
            let small =
                |field: u32| thread.number(field).and_then(|number| u32::try_from(number).ok());
            if let Some(tid) = small(1) {
                self.threads.insert(tid, (small(3), thread.text(2).map(str::to_owned)));
            }
        }
        Some(())
    }

    /// `FtraceEventBundle`
    fn bundle(&mut self, bundle: &[u8], making: &mut Making) {
        let mut clock = EventClock::default();
        for field in fields(bundle) {
            match field {
                Some((2, Value::Bytes(event))) => match self.event(event, making) {
                    Some(true) => making.taken(),
                    Some(false) => {}
                    None => making.damaged(),
                },
                // Perfetto reports that events were lost, but not how many: count one.
                Some((3, Value::Number(1))) => {
                    let lost = making.builder.source().lost.unwrap_or(0);
                    making.builder.source().lost = Some(lost + 1);
                    making.limit(
                        "Events were lost before some bundles; how many is not in the file.",
                    );
                }
                Some((number, Value::Number(value))) => clock.field(number, value),
                Some(_) => {}
                None => return making.damaged(),
            }
        }
        self.frames.clock_of_events(&clock);
    }

    /// `FtraceEvent`: whether it is a storage event; `None` if it is damaged.
    fn event(&mut self, event: &[u8], making: &mut Making) -> Option<bool> {
        let event = Message::of(event)?;
        let Some((number, body)) = event.0.iter().find_map(|(number, value)| match value {
            Value::Bytes(body) if is_storage(*number) => Some((*number, *body)),
            _ => None,
        }) else {
            // Fields 1 and 2 are the time and the thread.
            let other = event.0.iter().map(|(number, _)| *number).find(|number| *number > 2);
            making.skip(&format!("event {} of Perfetto's list", other.unwrap_or(0)));
            return Some(false);
        };
        let body = Message::of(body)?;
        let Some(point) = point(number, &body)? else {
            making.skip("other state of a checkpoint");
            return Some(false);
        };
        let tid = u32::try_from(event.number(2).unwrap_or(0)).ok()?;
        // Only the start of a request runs in the task that issued it: a completion may interrupt
        // any task.
        let name =
            body.text(if number == 45 { 6 } else { 5 }).filter(|_| matches!(number, 45 | 119));
        let task = self.task(tid, name, making);
        let at = At { t: Nanos(event.number(1)?), tid, task: Some(task) };
        Some(self.kernel.take(at, point, making))
    }

    /// The thread with a number. Names from the process list are set at the end, when that is
    /// complete.
    fn task(&mut self, tid: u32, name: Option<&str>, making: &mut Making) -> u32 {
        if let (Some(task), None) = (self.tasks.get(&tid), name) {
            return *task;
        }
        let thread = name.filter(|name| !name.is_empty()).map(str::to_owned);
        let task = making.task(TraceTask { tid: Some(tid), thread, ..TraceTask::default() });
        self.tasks.insert(tid, task);
        task
    }

    fn finish(mut self, making: &mut Making) {
        for tid in self.tasks.keys() {
            let (pid, thread) = self.threads.get(tid).cloned().unwrap_or_default();
            let pid = pid.or_else(|| self.processes.contains_key(tid).then_some(*tid));
            let process = pid.and_then(|pid| self.processes.get(&pid).cloned());
            making.task(TraceTask { tid: Some(*tid), pid, process, thread });
        }
        self.kernel.finish(making);
        self.frames.finish(making);
    }
}

/// The length of the next packet; `None` if something else follows.
fn next_length(from: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut byte = [0];
    from.read_exact(&mut byte)?;
    if byte[0] != 0x0a {
        return Ok(None);
    }
    let mut length = 0_u64;
    for shift in (0..35).step_by(7) {
        if from.read_exact(&mut byte).is_err() {
            return Ok(None);
        }
        length |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] & 0x80 == 0 {
            return Ok(Some(length).filter(|length| *length <= LONGEST));
        }
    }
    Ok(None)
}

/// Whether a field of `FtraceEvent` is a storage event.
fn is_storage(field: u32) -> bool {
    matches!(
        field,
        41 | 42
            | 43
            | 44
            | 45
            | 117
            | 119
            | 120
            | 125
            | 129
            | 189
            | 217
            | 219
            | 230
            | 255
            | 256
            | 271
            | 272
            | 273
            | 329
            | 330
            | 434
            | 496
            | 497
    )
}

/// The tracepoint in a field; `Some(None)` for a redundant one, `None` for a damaged one. Numbers
/// are those of Perfetto's `ftrace_event.proto`.
fn point<'a>(field: u32, body: &Message<'a>) -> Option<Option<Point<'a>>> {
    let device = device_of(body.number(1).unwrap_or(0));
    let inode = body.number(2).unwrap_or(0);
    let number = |field: u32| body.number(field).unwrap_or(0);
    let block = |step: Step, letters: u32| {
        let (sector, sectors) = (number(2), number(3));
        let rwbs = body.text(letters).unwrap_or_default();
        Point::Block { step, device: device.clone(), rwbs, sector, sectors }
    };
    Some(Some(match field {
        41 | 219 | 271 => Point::Write { device, inode, offset: number(3), bytes: number(4) },
        42 | 189 | 230 | 273 => {
            Point::WriteEnd { device, inode, offset: number(3), bytes: number(5) }
        }
        43 => Point::SyncEnter { device, inode, data_only: number(4) == 1 },
        44 => Point::SyncExit { device, inode, data_only: false },
        255 => Point::SyncEnter { device, inode, data_only: false },
        256 => Point::SyncExit { device, inode, data_only: number(4) == 1 },
        45 => block(Step::Issue, 5),
        117 => block(Step::CompleteOfBio, 5),
        119 => block(Step::Queue, 4),
        120 => Point::Remap { above: device_of(number(4)) },
        125 => block(Step::Complete, 5),
        129 => block(Step::Requeue, 5),
        272 => {
            // Newer kernels number the states.
            let numbered = body.number(5).map(|phase| match phase {
                0 => "start block_ops",
                2 => "finish checkpoint",
                _ => "",
            });
            return Some(checkpoint(device, body.text(3).or(numbered).unwrap_or_default()));
        }
        217 => Point::Unlink { device, inode },
        434 => Point::NamedWrite {
            path: body.text(6)?,
            inode: number(4),
            offset: number(5),
            bytes: number(1),
        },
        329 => {
            let mut words = body.numbers(2);
            let words = words_of(std::array::from_fn(|_| words.next()));
            Point::NumberEnter { number: number(1), words }
        }
        330 => Point::NumberExit { number: number(1), returned: number(2).cast_signed() },
        496 => Point::CleanBegin { device },
        497 => Point::CleanEnd { device },
        _ => return None,
    }))
}

/// `8,0` from a device number in user space's encoding, which Perfetto stores.
fn device_of(number: u64) -> String {
    let major = ((number >> 8) & 0xfff) | ((number >> 32) & !0xfff);
    let minor = (number & 0xff) | ((number >> 12) & !0xff);
    format!("{major},{minor}")
}

#[cfg(test)]
mod tests;
