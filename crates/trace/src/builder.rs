//! Builds a trace from events in any order.

use std::collections::HashMap;
use std::hash::Hash;

use flashlag_schema::trace::{
    Trace, TraceAction, TraceDevice, TraceEvent, TraceEvents, TraceFile, TraceFrame, TraceSource,
    TraceTask,
};
use flashlag_units::{Nanos, count};

/// The most tasks, files or devices that are distinguished, so that memory is bounded. All others
/// share one entry without a name.
const MOST_NAMED: usize = 1 << 20;

/// Builds a trace: numbers tasks, files and devices by their identity, and sorts events by time.
#[derive(Debug, Default)]
pub struct Builder {
    trace: Trace,
    tasks: HashMap<TaskKey, u32>,
    files: HashMap<FileKey, u32>,
    devices: HashMap<String, u32>,
    related: usize,
}

/// Identity of a thread: its number, or without one its names.
#[derive(Debug, PartialEq, Eq, Hash)]
enum TaskKey {
    Number(u32),
    Names(Option<String>, Option<String>),
}

/// Identity of a file: its path, or without one its device and inode.
#[derive(Debug, PartialEq, Eq, Hash)]
enum FileKey {
    Path(String),
    Inode(Option<u32>, Option<u64>),
}

impl Builder {
    /// A trace without events.
    pub fn new(source: TraceSource) -> Builder {
        Builder { trace: Trace { source, ..Trace::default() }, ..Builder::default() }
    }

    /// The index of a thread. A later name for the same number replaces an earlier one.
    pub fn task(&mut self, task: TraceTask) -> u32 {
        let key = match task.tid {
            Some(tid) => TaskKey::Number(tid),
            None => TaskKey::Names(task.process.clone(), task.thread.clone()),
        };
        let index = number(&mut self.tasks, key, &mut self.trace.tasks, &task);
        if index as usize >= MOST_NAMED {
            return index;
        }
        let known = &mut self.trace.tasks[index as usize];
        known.pid = task.pid.or(known.pid);
        known.process = task.process.or(known.process.take());
        known.thread = task.thread.or(known.thread.take());
        index
    }

    /// The index of a file.
    pub fn file(&mut self, file: TraceFile) -> u32 {
        let key = match &file.path {
            Some(path) => FileKey::Path(path.clone()),
            None => FileKey::Inode(file.device, file.inode),
        };
        number(&mut self.files, key, &mut self.trace.files, &file)
    }

    /// The index of a file without any identity: a new one on each call.
    pub fn another_file(&mut self, file: TraceFile) -> u32 {
        added(&mut self.trace.files, file)
    }

    /// A file's entry, to complete what is known of it.
    pub fn known_file(&mut self, index: u32) -> Option<&mut TraceFile> {
        self.trace.files.get_mut(index as usize)
    }

    /// The index of a block device.
    pub fn device(&mut self, name: &str) -> u32 {
        let device = TraceDevice { name: name.to_owned(), below: None };
        number(&mut self.devices, name.to_owned(), &mut self.trace.devices, &device)
    }

    /// For each device that is new since the last call, calls `below` to find out which devices it
    /// maps to.
    pub fn relate(&mut self, mut below: impl FnMut(&str) -> Option<Vec<String>>) {
        while let Some(device) = self.trace.devices.get_mut(self.related) {
            self.related += 1;
            device.below = below(&device.name);
            for name in device.below.clone().into_iter().flatten() {
                self.device(&name);
            }
        }
    }

    /// Adds an event, in any order of time.
    pub fn event(
        &mut self,
        t_ns: Nanos,
        took_ns: Option<Nanos>,
        task: Option<u32>,
        action: TraceAction,
    ) {
        self.trace.events.push(&TraceEvent { t_ns, took_ns, task, action });
    }

    /// Adds a frame that was late, in the order of the frames' ends.
    pub fn late_frame(&mut self, frame: TraceFrame) {
        self.trace.late_frames.push(frame);
    }

    /// The trace's description of its source, to complete it.
    pub fn source(&mut self) -> &mut TraceSource {
        &mut self.trace.source
    }

    /// Drops the last events beyond `most`; returns how many.
    pub fn keep_at_most(&mut self, most: usize) -> u64 {
        let beyond = self.trace.events.len().saturating_sub(most);
        self.trace.events.truncate(most);
        beyond as u64
    }

    /// The trace so far, with its events in the order in which they were added.
    pub fn so_far(&self) -> &Trace {
        &self.trace
    }

    /// The trace, with its events sorted by time.
    pub fn finish(mut self) -> Trace {
        self.trace.events.sort();
        self.trace
    }
}

/// The index of a key, which is added if it is new.
fn number<K: Eq + Hash, T: Clone + Default>(
    known: &mut HashMap<K, u32>,
    key: K,
    list: &mut Vec<T>,
    item: &T,
) -> u32 {
    if let Some(index) = known.get(&key) {
        return *index;
    }
    let index = added(list, item.clone());
    if (index as usize) < MOST_NAMED {
        known.insert(key, index);
    }
    index
}

/// The index of a new item; if the list is full, the index of the shared item without a name.
fn added<T: Default>(list: &mut Vec<T>, item: T) -> u32 {
    match list.len() {
        length if length < MOST_NAMED => list.push(item),
        MOST_NAMED => list.push(T::default()),
        _ => {}
    }
    u32::try_from(list.len() - 1).unwrap_or(u32::MAX)
}

/// The most events kept of a file or of a running machine, so that memory is bounded. One event
/// takes about 25 bytes.
pub const MOST_EVENTS: usize = 10_000_000;

/// The time from zero to the end of the last event.
pub(crate) fn lasted(events: &TraceEvents) -> Nanos {
    let end = |event: TraceEvent| event.t_ns.plus(event.took_ns.unwrap_or_default());
    events.iter().map(end).max().unwrap_or_default()
}

/// The sentence about events beyond the bound.
pub(crate) fn left_out(events: u64, most: usize) -> String {
    format!(
        "{} events beyond the first {} were left out: cut the file into pieces.",
        count(events),
        count(most as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_with_any_number_of_names_takes_bounded_memory() {
        let mut builder = Builder::new(TraceSource::default());
        let mut named = |tid: u32| {
            let process = Some(tid.to_string());
            builder.task(TraceTask { tid: Some(tid), process, ..TraceTask::default() })
        };
        let most = MOST_NAMED as u32;
        (0..most).for_each(|tid| assert_eq!(named(tid), tid));
        assert_eq!((named(most), named(most + 1), named(7)), (most, most, 7));
        let trace = builder.finish();
        assert_eq!(trace.tasks.len(), MOST_NAMED + 1);
        assert_eq!(trace.tasks.last(), Some(&TraceTask::default()));
    }
}
