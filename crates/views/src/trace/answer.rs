//! The sentence that answers the main question first.

use std::collections::BTreeMap;

use flashlag_schema::trace::{TraceLedger, TraceWriter};
use flashlag_units::{Bytes, Nanos, count};

use super::frames::sentence;
use super::words::{NOT_KNOWN, Who};
use crate::format::share_of;

/// The activity of one process.
#[derive(Clone, Copy, Debug, Default)]
struct Doing {
    bytes: u64,
    /// Bytes of its requests to the device.
    sent: u64,
    syncs: u64,
    waited: Nanos,
    longest: Nanos,
    main: bool,
}

/// Who writes the most, and whose fsyncs wait.
pub(super) fn answer(ledger: &TraceLedger) -> String {
    // Where calls are recorded, they say who writes: most requests to the device are made later, by the
    // kernel's threads.
    let called = |writer: &TraceWriter| writer.calls.is_some_and(|calls| calls.bytes.0 > 0);
    let by_calls = ledger.writers.iter().any(called);
    let by_block = ledger.layers.block.is_some() && !by_calls;
    let mut all: BTreeMap<String, Doing> = BTreeMap::new();
    for writer in &ledger.writers {
        let doing = all.entry(Who::writes(writer).process()).or_default();
        doing.add(writer, by_block);
    }
    let written = all.values().fold(0_u64, |sum, doing| sum.saturating_add(doing.bytes));
    // Among equals, the first name is taken, so that the sentence is always the same.
    let most = all.iter().rev().max_by_key(|(_, doing)| doing.bytes);
    let left_out = ledger.source.left_out;
    let to = if by_block { " to the device" } else { "" };
    let writes = match most.filter(|(_, doing)| doing.bytes > 0) {
        Some((name, doing)) if name == NOT_KNOWN && doing.bytes == written => {
            format!("{} are written{to}; by whom is not in this trace.", Bytes(written))
        }
        Some((name, doing)) => {
            let (bytes, share) = (Bytes(doing.bytes), share_of(doing.bytes, written));
            format!("{name} writes the most{to}: {bytes} of {} ({share}).", Bytes(written))
        }
        // Processes or requests that were left out may have written.
        None if left_out > 0 => format!(
            "What is written{to} is not known: {} that may write {} left out.",
            count(left_out),
            if left_out == 1 { "is" } else { "are" }
        ),
        None if by_block => "Nothing is written to the device.".to_owned(),
        None => "Nothing is written.".to_owned(),
    };
    let most = most.filter(|(_, doing)| doing.bytes > 0).map(|(name, _)| name.as_str());
    let later = by_kernel(&all).filter(|_| by_calls).unwrap_or_default();
    // Where frames are known, a late save is no guess any more: it is a late frame or it is none.
    let frames = sentence(ledger);
    if ledger.events == 0
        && let Some(frames) = frames
    {
        return frames;
    }
    let frames = frames.map_or_else(String::new, |frames| format!(" {frames}"));
    format!("{writes} {}{later}{frames}", waits(ledger, &all, most))
}

/// The beginnings of the names of kernel threads that write for programs.
const KERNEL: [&str; 8] =
    ["kworker/", "jbd2/", "kswapd", "flush-", "f2fs_", "btrfs-", "xfsaild/", "loop"];

/// ` The kernel sends the device 24 MB of 35 MB itself, later than the programs wrote.` `None` if its threads
/// sent nothing.
fn by_kernel(all: &BTreeMap<String, Doing>) -> Option<String> {
    let sum = |of: &dyn Fn(&str) -> bool| {
        let those = all.iter().filter(|(name, _)| of(name));
        those.fold(0_u64, |sum, (_, doing)| sum.saturating_add(doing.sent))
    };
    let kernel = sum(&|name| KERNEL.iter().any(|start| name.starts_with(start)));
    let whole = sum(&|_| true);
    (kernel > 0).then(|| {
        format!(
            " The kernel sends the device {} of {} itself, later than the programs wrote.",
            Bytes(kernel),
            Bytes(whole)
        )
    })
}

impl Doing {
    fn add(&mut self, writer: &TraceWriter, by_block: bool) {
        let writes = if by_block { writer.block } else { writer.calls.or(writer.counted) };
        let is_written = writer.kind != flashlag_schema::trace::TraceWrittenKind::Discard;
        let bytes = writes.filter(|_| is_written).map_or(0, |writes| writes.bytes.0);
        self.bytes = self.bytes.saturating_add(bytes);
        let sent = writer.block.filter(|_| is_written).map_or(0, |writes| writes.bytes.0);
        self.sent = self.sent.saturating_add(sent);
        let Some(syncs) = &writer.syncs else { return };
        self.syncs = self.syncs.saturating_add(syncs.count);
        self.waited = self.waited.plus(syncs.waited_ns);
        let longest = syncs.latency_ns.as_ref().and_then(|latency| latency.max).unwrap_or_default();
        if longest > self.longest {
            (self.longest, self.main) = (longest, writer.main == Some(true));
        }
    }
}

/// Whose fsyncs wait; `writer` is named before.
fn waits(ledger: &TraceLedger, all: &BTreeMap<String, Doing>, writer: Option<&str>) -> String {
    let Some(total) = ledger.layers.syncs else {
        return "Whose fsyncs wait is not in this trace.".to_owned();
    };
    if total == 0 {
        return "No fsync is in it.".to_owned();
    }
    if let Some((name, doing)) = all.iter().rev().max_by_key(|(_, doing)| doing.waited)
        && doing.waited > Nanos::ZERO
    {
        let main = if doing.main { ", on its main thread" } else { "" };
        let whose = if writer == Some(name.as_str()) {
            "Its fsyncs".to_owned()
        } else {
            format!("The fsyncs of {name}")
        };
        return format!(
            "{whose} wait the longest: {} in {}, {} at most{main}.",
            doing.waited,
            count(doing.syncs),
            doing.longest
        );
    }
    let most = all.iter().rev().max_by_key(|(_, doing)| doing.syncs);
    let who =
        most.filter(|(_, doing)| doing.syncs > 0).map_or_else(String::new, |(name, doing)| {
            let again = if writer == Some(name.as_str()) { "It also" } else { name };
            format!("{again} calls fsync the most: {} of {}; how", count(doing.syncs), count(total))
        });
    let who = if who.is_empty() { "How".to_owned() } else { who };
    format!("{who} long fsyncs wait is not in this trace.")
}
