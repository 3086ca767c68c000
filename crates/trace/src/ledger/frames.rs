//! Frames that were late because the threads that draw them waited for storage.

use std::cmp::Reverse;
use std::collections::HashMap;

use flashlag_schema::Lag;
use flashlag_schema::trace::{
    Trace, TraceAction, TraceDuring, TraceEvent, TraceFrame, TraceFrames, TraceLateFrame,
    TraceStall, TraceStalled, TraceTask,
};
use flashlag_units::{InOrder, Nanos};

use super::stalls::kind_of;
use super::what::{file_name, is_storage};
use crate::stored::named_by;

/// Frames that are listed.
const LISTED: usize = 1000;

/// A wait for storage of a thread that draws.
#[derive(Clone, Copy, Debug)]
struct Wait {
    from: Nanos,
    to: Nanos,
    /// The latest end of this wait and those before it.
    latest: Nanos,
    event: u64,
    what: TraceStalled,
}

/// The late frames of a trace; `None` if it records no frames. `during` says what a run did meanwhile.
pub(super) fn frames(
    trace: &Trace,
    by_storage: &[Judged<'_>],
    during: impl Fn(&TraceFrame) -> Option<TraceDuring>,
) -> Option<TraceFrames> {
    let frames = trace.source.frames?;
    let mut listed = by_storage.to_vec();
    listed.order_by_key(|late| Reverse((late.frame.late_by_ns, late.waited)));
    listed.truncate(LISTED);
    listed.order_by_key(|late| (late.frame.t_ns, late.wait.event));
    let named =
        |late: &Judged<'_>| TraceLateFrame { during: during(late.frame), ..named(trace, late) };
    Some(TraceFrames {
        frames,
        late: trace.late_frames.len() as u64,
        by_storage: by_storage.len() as u64,
        listed: listed.iter().map(named).collect(),
    })
}

/// A frame that waits for storage made late: how long they were together, and the longest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged<'a> {
    pub(super) frame: &'a TraceFrame,
    waited: Nanos,
    wait: Wait,
}

/// The late frames that would have been in time without their threads' waits for storage, in the order
/// of the trace.
pub(super) fn late_by_storage(trace: &Trace) -> Vec<Judged<'_>> {
    let waits = waits(trace);
    let judged = trace.late_frames.iter().filter_map(|frame| judge(waits.get(&frame.pid)?, frame));
    judged.collect()
}

/// The times in which each app's late frames were drawn that storage made late.
#[derive(Debug)]
pub(super) struct Janks(HashMap<u32, Vec<Drawn>>);

/// A frame's end, and the earliest beginning of it and all that ended later.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    end: Nanos,
    begun: Nanos,
}

impl Janks {
    /// Those of a trace; `None` if it records no frames.
    pub(super) fn of(trace: &Trace, by_storage: &[Judged<'_>]) -> Option<Janks> {
        trace.source.frames?;
        let mut all: HashMap<u32, Vec<Drawn>> = HashMap::new();
        for Judged { frame, .. } in by_storage {
            let (begun, end) = (frame.t_ns, frame.t_ns.plus(frame.took_ns));
            all.entry(frame.pid).or_default().push(Drawn { end, begun });
        }
        for frames in all.values_mut() {
            frames.order_by_key(|frame| frame.end);
            let mut earliest = Nanos(u64::MAX);
            for frame in frames.iter_mut().rev() {
                earliest = earliest.min(frame.begun);
                frame.begun = earliest;
            }
        }
        Some(Janks(all))
    }

    /// Whether what a thread did from one time to another falls into such a frame of its app.
    pub(super) fn any(&self, trace: &Trace, task: Option<u32>, begun: Nanos, ended: Nanos) -> bool {
        let task = task.and_then(|task| trace.tasks.get(task as usize));
        let Some(frames) = task.and_then(app_of).and_then(|pid| self.0.get(&pid)) else {
            return false;
        };
        let next = frames.partition_point(|frame| frame.end <= begun);
        frames.get(next).is_some_and(|frame| frame.begun < ended)
    }
}

/// The waits of each process's main thread and of its `RenderThread`, by their beginning.
fn waits(trace: &Trace) -> HashMap<u32, Vec<Wait>> {
    let mut all: HashMap<u32, Vec<Wait>> =
        trace.late_frames.iter().map(|frame| (frame.pid, Vec::new())).collect();
    for (event, number) in trace.events.iter().zip(0_u64..) {
        let task = event.task.and_then(|task| trace.tasks.get(task as usize));
        let (Some(task), Some(took)) = (task, event.took_ns) else { continue };
        let Some(waits) = app_of(task).and_then(|pid| all.get_mut(&pid)) else { continue };
        let Some(what) = waited_for(trace, &event) else { continue };
        let to = event.t_ns.plus(took);
        let latest = waits.last().map_or(to, |last| last.latest.max(to));
        waits.push(Wait { from: event.t_ns, to, latest, event: number, what });
    }
    all
}

/// The process whose frames the thread draws: it is its main thread or its `RenderThread`.
fn app_of(task: &TraceTask) -> Option<u32> {
    match (task.tid, task.pid, task.thread.as_deref()) {
        (_, Some(pid), Some("RenderThread")) => Some(pid),
        (Some(tid), pid, _) if pid.is_none_or(|pid| pid == tid) => Some(tid),
        _ => None,
    }
}

/// What a thread waits for in an event; `None` for one that it does not wait for.
fn waited_for(trace: &Trace, event: &TraceEvent) -> Option<TraceStalled> {
    match event.action {
        // Requests that write, and those that read ahead, are left to the device.
        TraceAction::Block { flags, .. } if flags.ahead => return None,
        TraceAction::Read { file, .. } | TraceAction::Write { file, .. } => {
            is_storage(trace, file).then_some(())?;
        }
        _ => {}
    }
    kind_of(event).filter(|what| {
        use TraceStalled::{BlockRead, FilesystemCommit, Read, Sync, Write};
        matches!(what, BlockRead | FilesystemCommit | Read | Sync | Write)
    })
}

/// The frame with its longest wait, if it would have been in time without its waits. Where Android
/// forgot the deadline: if most of the time from the first wait on was spent waiting.
fn judge<'a>(waits: &[Wait], frame: &'a TraceFrame) -> Option<Judged<'a>> {
    let end = frame.t_ns.plus(frame.took_ns);
    let first = waits.partition_point(|wait| wait.latest <= frame.t_ns);
    let within = waits.iter().skip(first).take_while(|wait| wait.from < end);
    let clipped = within.map(|wait| (wait.from.max(frame.t_ns), wait.to.min(end), wait));
    let (mut waited, mut until) = (Nanos::ZERO, frame.t_ns);
    let (mut begun, mut longest): (Option<Nanos>, Option<(Nanos, &Wait)>) = (None, None);
    for (from, to, wait) in clipped {
        let took = to.saturating_since(from);
        if took == Nanos::ZERO {
            continue;
        }
        begun.get_or_insert(from);
        // A wait within another one, or beside it on the other thread, counts once.
        waited = waited.plus(to.saturating_since(from.max(until)));
        until = until.max(to);
        if longest.is_none_or(|(most, _)| took > most) {
            longest = Some((took, wait));
        }
    }
    let (_, wait) = longest?;
    let enough = match frame.late_by_ns {
        Some(late) => late > Nanos::ZERO && waited >= late,
        None => {
            let since = end.saturating_since(begun?);
            waited > Lag::FRAME_60HZ && waited.plus(waited) >= since
        }
    };
    enough.then_some(Judged { frame, waited, wait: *wait })
}

fn named(trace: &Trace, late: &Judged<'_>) -> TraceLateFrame {
    let Judged { frame, waited, wait } = late;
    let event = trace.events.iter().nth(usize::try_from(wait.event).unwrap_or(usize::MAX));
    let task = event.as_ref().and_then(|event| trace.tasks.get(event.task? as usize));
    let file = event.as_ref().and_then(|event| named_by(&event.action).0[0]);
    let of_app = |task: &&TraceTask| app_of(task) == Some(frame.pid) || task.pid == Some(frame.pid);
    let process = trace.tasks.iter().filter(of_app).find_map(|task| task.process.clone());
    let main = task.is_none_or(|task| task.tid == Some(frame.pid));
    TraceLateFrame {
        frame: (*frame).clone(),
        process: process.unwrap_or_else(|| format!("process {}", frame.pid)),
        waited_ns: *waited,
        wait: TraceStall {
            t_ns: wait.from,
            took_ns: wait.to.saturating_since(wait.from),
            event: wait.event,
            what: wait.what,
            task: Some(if main { "its main thread" } else { "RenderThread" }.to_owned()),
            file: file.map(|file| file_name(trace, file)),
        },
        during: None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const APP: u32 = 7;

    fn spans() -> impl Strategy<Value = Vec<(u64, u64)>> {
        proptest::collection::vec((0..200_u64, 1..40_u64), 0..12)
    }

    proptest! {
        #[test]
        fn a_save_is_jank_if_it_overlaps_any_late_frame_of_its_app(
            frames in spans(), saves in spans(), own in any::<bool>(),
        ) {
            let tasks = vec![TraceTask { tid: Some(APP), pid: Some(APP), ..TraceTask::default() }];
            let mut trace = Trace { tasks, ..Trace::default() };
            trace.source.frames = Some(frames.len() as u64);
            let frame = |(from, took): &(u64, u64)| TraceFrame {
                t_ns: Nanos(*from),
                took_ns: Nanos(*took),
                pid: if own { APP } else { APP + 1 },
                ..TraceFrame::default()
            };
            let late: Vec<TraceFrame> = frames.iter().map(frame).collect();
            let none = Nanos::ZERO;
            let wait =
                Wait { from: none, to: none, latest: none, event: 0, what: TraceStalled::Sync };
            let late: Vec<Judged<'_>> =
                late.iter().map(|frame| Judged { frame, waited: none, wait }).collect();
            let janks = Janks::of(&trace, &late);
            for (from, took) in saves {
                let (begun, ended) = (from, from + took);
                let overlaps = |frame: &(u64, u64)| frame.0 < ended && begun < frame.0 + frame.1;
                let expected = own && frames.iter().any(overlaps);
                let found = janks
                    .as_ref()
                    .map(|janks| janks.any(&trace, Some(0), Nanos(begun), Nanos(ended)));
                prop_assert_eq!(found, Some(expected));
            }
        }
    }
}
