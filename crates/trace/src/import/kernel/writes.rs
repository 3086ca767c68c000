//! Buffered writes as the filesystem performs them, a page or a folio at a time.

use std::collections::HashMap;

use flashlag_schema::trace::{TraceAction, TraceLayer};
use flashlag_units::{Bytes, Nanos};

use super::super::making::Making;
use super::At;

/// Which tracepoint reports a write; some kernels report one write by two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrittenBy {
    Inodes,
    Names,
}

/// Pairs the begin and end events of page writes, by thread.
#[derive(Debug, Default)]
pub(super) struct PageWrites {
    by: Option<WrittenBy>,
    under_way: HashMap<u32, PageWrite>,
    any_begin: bool,
    any_end: bool,
    without_end: u64,
    without_begin: u64,
}

/// What a thread is writing outside of a recorded system call.
#[derive(Clone, Copy, Debug)]
struct PageWrite {
    t: Nanos,
    task: Option<u32>,
    file: u32,
    offset: u64,
    /// Where the write will end, according to its begin event.
    end: u64,
    /// Where the last piece of it begins.
    piece: u64,
    copied: Option<u64>,
    has_ended: bool,
}

impl PageWrites {
    /// Whether writes reported by these tracepoints are counted.
    pub(super) fn counts(&mut self, by: WrittenBy) -> bool {
        *self.by.get_or_insert(by) == by
    }

    /// A page or a folio is about to be written.
    pub(super) fn begin(
        &mut self,
        at: At,
        file: u32,
        offset: u64,
        bytes: u64,
        making: &mut Making,
    ) {
        self.any_begin = true;
        let end = offset.saturating_add(bytes);
        // With large folios, each begin event reports all that is left of the write: that is one
        // write.
        if let Some(write) = self.under_way.get_mut(&at.tid)
            && (write.file, write.end) == (file, end)
            && write.piece < offset
        {
            (write.piece, write.has_ended) = (offset, false);
            return;
        }
        let (t, task, copied, has_ended) = (at.t, at.task, None, false);
        let write = PageWrite { t, task, file, offset, end, piece: offset, copied, has_ended };
        if let Some(before) = self.under_way.insert(at.tid, write) {
            self.add(before, making);
        }
    }

    /// This many bytes of a page or a folio were written.
    pub(super) fn end(
        &mut self,
        at: At,
        file: u32,
        (offset, copied): (u64, u64),
        making: &mut Making,
    ) {
        self.any_end = true;
        if let Some(write) = self.under_way.get_mut(&at.tid)
            && write.file == file
            && (write.piece..=write.end).contains(&offset)
            && !write.has_ended
        {
            write.copied = Some(write.copied.unwrap_or(0).saturating_add(copied));
            write.has_ended = true;
            return;
        }
        self.without_begin += 1;
        event(at.t, at.task, file, offset, copied, making);
    }

    fn add(&mut self, write: PageWrite, making: &mut Making) {
        self.without_end += u64::from(!write.has_ended);
        let announced = write.end.saturating_sub(write.offset);
        let bytes = write.copied.filter(|_| write.has_ended).unwrap_or(announced);
        event(write.t, write.task, write.file, write.offset, bytes, making);
    }

    /// Adds the writes in flight. Their end events are missing only if the trace has end events for
    /// others.
    pub(super) fn finish(&mut self, making: &mut Making) {
        let mut rest: Vec<PageWrite> = self.under_way.drain().map(|(_, write)| write).collect();
        rest.sort_by_key(|write| write.t);
        rest.into_iter().for_each(|write| self.add(write, making));
        let unmatched = &mut making.builder.source().unmatched;
        if self.any_end {
            unmatched.begins += std::mem::take(&mut self.without_end);
        }
        if self.any_begin {
            unmatched.ends += std::mem::take(&mut self.without_begin);
        }
    }
}

fn event(t: Nanos, task: Option<u32>, file: u32, offset: u64, bytes: u64, making: &mut Making) {
    making.sees(TraceLayer::SystemCalls);
    making.limit(
        "Buffered writes are counted page by page, as the filesystem takes them: a write by system \
         call of several pages counts several times. Direct writes are not in such a trace.",
    );
    let write = TraceAction::Write { file, offset: Some(offset), bytes: Bytes(bytes) };
    making.event(t, None, task, write);
}
