//! System calls among the tracepoints: `sys_fsync(fd: 3)`, then `sys_fsync -> 0x0`.

use std::collections::HashMap;

use flashlag_schema::trace::{TraceAction, TraceFile, TraceLayer};
use flashlag_units::{Bytes, Nanos};

use super::super::making::Making;
use super::At;

/// The calls under way, by thread.
#[derive(Debug, Default)]
pub(super) struct Calls {
    under_way: HashMap<u32, Call>,
    descriptors: HashMap<(u32, u32), u32>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    t: Nanos,
    task: Option<u32>,
    fd: Option<u32>,
    offset: Option<u64>,
    is_sync: bool,
    data_only: bool,
    /// The file, once a tracepoint of the filesystem has named it.
    file: Option<u32>,
}

/// Whether a call is one of storage: whether it syncs, and only the data.
fn kind(name: &str) -> Option<(bool, bool)> {
    match name {
        "fsync" => Some((true, false)),
        "fdatasync" => Some((true, true)),
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => Some((false, false)),
        _ => None,
    }
}

impl Calls {
    pub(super) fn enter(
        &mut self,
        at: At,
        name: &str,
        fd: Option<u32>,
        offset: Option<u64>,
        making: &mut Making,
    ) {
        let Some((is_sync, data_only)) = kind(name) else { return };
        let call = Call { t: at.t, task: at.task, fd, offset, is_sync, data_only, file: None };
        if let Some(lost) = self.under_way.insert(at.tid, call) {
            making.unmatched_begin();
            self.add(at.tid, lost, None, None, making);
        }
    }

    pub(super) fn exit(&mut self, at: At, name: &str, returned: i64, making: &mut Making) {
        if kind(name).is_none() {
            return;
        }
        let Some(call) = self.under_way.remove(&at.tid) else { return making.unmatched_end() };
        let took = at.t.0.checked_sub(call.t.0).map(Nanos);
        // A call that failed wrote nothing.
        if let Ok(returned) = u64::try_from(returned) {
            self.add(at.tid, call, took, Some(returned), making);
        }
    }

    /// Whether the thread is in a call that syncs; then the file is that call's.
    pub(super) fn is_sync_of(&mut self, tid: u32, file: u32, data_only: bool) -> bool {
        let call = self.under_way.get_mut(&tid).filter(|call| call.is_sync);
        call.map(|call| (call.file, call.data_only) = (Some(file), call.data_only || data_only))
            .is_some()
    }

    pub(super) fn is_in_sync(&self, tid: u32) -> bool {
        self.under_way.get(&tid).is_some_and(|call| call.is_sync)
    }

    /// Whether the thread is in a call that writes; then the file and the place are that call's.
    pub(super) fn is_write_of(&mut self, tid: u32, file: u32, offset: u64) -> bool {
        let Some(call) = self.under_way.get_mut(&tid).filter(|call| !call.is_sync) else {
            return false;
        };
        call.file.get_or_insert(file);
        call.offset.get_or_insert(offset);
        true
    }

    fn add(
        &mut self,
        tid: u32,
        call: Call,
        took: Option<Nanos>,
        returned: Option<u64>,
        making: &mut Making,
    ) {
        making.sees(TraceLayer::SystemCalls);
        let file = match (call.file, call.fd) {
            (Some(file), _) => file,
            (None, Some(fd)) => *self.descriptors.entry((tid, fd)).or_insert_with(|| {
                let file = TraceFile { descriptor: Some(fd), ..TraceFile::default() };
                making.builder.another_file(file)
            }),
            (None, None) => return,
        };
        let action = match call.is_sync {
            true => TraceAction::Sync { file, data_only: call.data_only },
            false => {
                let bytes = returned.unwrap_or(0);
                let offset = call.offset.filter(|offset| offset.checked_add(bytes).is_some());
                TraceAction::Write { file, offset, bytes: Bytes(bytes) }
            }
        };
        making.event(call.t, took, call.task, action);
    }

    /// Adds the calls that did not end.
    pub(super) fn finish(&mut self, making: &mut Making) {
        for (tid, call) in std::mem::take(&mut self.under_way) {
            making.unmatched_begin();
            if call.is_sync {
                self.add(tid, call, None, None, making);
            }
        }
    }
}
