//! System calls among the tracepoints: `sys_fsync(fd: 3)`, then `sys_fsync -> 0x0`.

use std::collections::HashMap;

use flashlag_schema::trace::{FailedCall, TraceAction, TraceFile, TraceLayer};
use flashlag_units::{Bytes, Nanos};

use super::super::making::Making;
use super::look::{Descriptor, Look};
use super::point::{At, CallWords};

/// The calls in flight, by thread.
#[derive(Debug, Default)]
pub(super) struct Calls {
    under_way: HashMap<u32, Call>,
    descriptors: HashMap<(u32, u32), u32>,
    unknown: u64,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    t: Nanos,
    task: Option<u32>,
    fd: Option<u32>,
    offset: Option<u64>,
    kind: Kind,
    /// The file, once a filesystem tracepoint has named it.
    file: Option<u32>,
}

/// What a call does to storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Write,
    Sync { data_only: bool },
    SyncAll,
    Truncate { bytes: u64 },
}

impl Kind {
    fn is_sync(self) -> bool {
        matches!(self, Kind::Sync { .. })
    }
}

/// What a call does, if it is a storage call.
fn kind(name: &str, length: Option<u64>) -> Option<Kind> {
    Some(match name {
        "fsync" => Kind::Sync { data_only: false },
        "fdatasync" => Kind::Sync { data_only: true },
        "sync" | "syncfs" => Kind::SyncAll,
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => Kind::Write,
        "ftruncate" => Kind::Truncate { bytes: length? },
        _ => return None,
    })
}

/// The beginning of a call's name, to count it: names of calls have at most 30 letters.
fn short(name: &str) -> &str {
    name.get(..30).unwrap_or(name)
}

/// How to look things up on a running machine; absent when a file is imported.
pub(super) type MaybeLook<'a> = Option<&'a mut (dyn Look + 'static)>;

impl Calls {
    pub(super) fn enter(
        &mut self,
        at: At,
        name: &str,
        words: CallWords,
        look: MaybeLook<'_>,
        making: &mut Making,
    ) -> bool {
        let Some(kind) = kind(name, words.length) else {
            making.skip(&format!("sys_{}", short(name)));
            return false;
        };
        let CallWords { fd, offset, .. } = words;
        let call = Call { t: at.t, task: at.task, fd, offset, kind, file: None };
        if let Some(lost) = self.under_way.insert(at.tid, call) {
            making.unmatched_begin();
            self.add(at.tid, lost, None, None, look, making);
        }
        true
    }

    pub(super) fn exit(
        &mut self,
        at: At,
        name: &str,
        returned: i64,
        look: MaybeLook<'_>,
        making: &mut Making,
    ) -> bool {
        // The length of a truncation is only in the call's entry event.
        if kind(name, Some(0)).is_none() {
            making.skip(&format!("sys_{}", short(name)));
            return false;
        }
        let Some(call) = self.under_way.remove(&at.tid) else {
            making.unmatched_end();
            making.skip("exit of a call whose entry was not recorded");
            return false;
        };
        let took = at.t.0.checked_sub(call.t.0).map(Nanos);
        match u64::try_from(returned) {
            Ok(returned) => self.add(at.tid, call, took, Some(returned), look, making),
            Err(_) => self.add_failed(at.tid, call, took, returned.unsigned_abs(), look, making),
        }
        true
    }

    /// Adds a call that failed: it wrote nothing, but the thread waited for it all the same.
    fn add_failed(
        &mut self,
        tid: u32,
        call: Call,
        took: Option<Nanos>,
        error: u64,
        look: MaybeLook<'_>,
        making: &mut Making,
    ) {
        let file = self.file_of(tid, call, look, making);
        let failed = match call.kind {
            Kind::Write => FailedCall::Write,
            Kind::Sync { .. } | Kind::SyncAll => FailedCall::Sync,
            Kind::Truncate { .. } => FailedCall::Truncate,
        };
        // A call on something that is no storage, or is not recorded.
        if file.is_none() && call.kind != Kind::SyncAll {
            return;
        }
        making.sees(TraceLayer::SystemCalls);
        let error = u16::try_from(error).unwrap_or(0);
        making.event(call.t, took, call.task, TraceAction::Failed { call: failed, file, error });
    }

    /// Whether the thread is in a sync call; if so, sets that call's file.
    pub(super) fn is_sync_of(&mut self, tid: u32, file: u32, data_only: bool) -> bool {
        let Some(call) = self.under_way.get_mut(&tid) else { return false };
        let Kind::Sync { data_only: known } = &mut call.kind else { return false };
        *known |= data_only;
        call.file = Some(file);
        true
    }

    pub(super) fn is_in_sync(&self, tid: u32) -> bool {
        self.under_way.get(&tid).is_some_and(|call| call.kind.is_sync())
    }

    /// Whether the thread is in a write call; if so, sets that call's file and offset.
    pub(super) fn is_write_of(&mut self, tid: u32, file: u32, offset: u64) -> bool {
        let Some(call) = self.under_way.get_mut(&tid).filter(|call| call.kind == Kind::Write)
        else {
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
        look: MaybeLook<'_>,
        making: &mut Making,
    ) {
        if call.kind == Kind::SyncAll {
            making.sees(TraceLayer::SystemCalls);
            return making.event(call.t, took, call.task, TraceAction::SyncAll);
        }
        let Some(file) = self.file_of(tid, call, look, making) else { return };
        making.sees(TraceLayer::SystemCalls);
        let action = match call.kind {
            Kind::Sync { data_only } => TraceAction::Sync { file, data_only },
            Kind::Truncate { bytes } => TraceAction::Truncate { file, bytes: Bytes(bytes) },
            Kind::Write | Kind::SyncAll => {
                let bytes = returned.unwrap_or(0);
                let offset = call.offset.filter(|offset| offset.checked_add(bytes).is_some());
                TraceAction::Write { file, offset, bytes: Bytes(bytes) }
            }
        };
        making.event(call.t, took, call.task, action);
    }

    fn file_of(
        &mut self,
        tid: u32,
        call: Call,
        look: MaybeLook<'_>,
        making: &mut Making,
    ) -> Option<u32> {
        let fd = match (call.file, call.fd) {
            (Some(file), _) => return Some(file),
            (None, Some(fd)) => fd,
            (None, None) => return None,
        };
        let Some(look) = look else {
            let number = self.descriptors.entry((tid, fd)).or_insert_with(|| {
                let file = TraceFile { descriptor: Some(fd), ..TraceFile::default() };
                making.builder.another_file(file)
            });
            return Some(*number);
        };
        match look.descriptor(tid, fd) {
            Descriptor::File(path) => Some(making.file(&path)),
            Descriptor::Elsewhere => None,
            Descriptor::Gone => {
                self.unknown += 1;
                None
            }
        }
    }

    /// Number of calls on descriptors that were closed before it could be found out whether they
    /// were files.
    pub(super) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Adds the calls that have not ended.
    pub(super) fn finish(&mut self, mut look: MaybeLook<'_>, making: &mut Making) {
        for (tid, call) in std::mem::take(&mut self.under_way) {
            making.unmatched_begin();
            if call.kind.is_sync() {
                let look: MaybeLook<'_> = match &mut look {
                    Some(look) => Some(&mut **look),
                    None => None,
                };
                self.add(tid, call, None, None, look, making);
            }
        }
    }
}
