//! The recipe of a replay of a trace.

use std::sync::Arc;

use flashlag_engine::EndReason;
use flashlag_engine::replay::{ReplayJob, ReplayOutcome, ReplayPart, ReplayWatch, drive_requests};
use flashlag_schema::{LatencySummary, Ledger, Phase, Replayed, StoredHistogram};
use flashlag_spec::replay::{LARGEST_REQUEST, ReplayCall, ReplayKind, ReplayLevel, ReplayStream};
use flashlag_spec::scenario::{
    Arrivals, Durability, EngineKind, Io, IoOperation, Pattern, Replay, ThreadSpans, Until,
};
use flashlag_spec::{Operation, Reading, State};
use flashlag_stats::WaitSplit;
use flashlag_units::{Bytes, Nanos, Text, count};

use super::phase::{PhaseHead, PhaseTail, phase};
use super::world::{Access, Edge, OpenedDevice};
use super::{Hindrance, INTERVAL, Outcome, STALL_OVER, Work, World};
use crate::events::{Event, Observer};
use crate::work::Direction;

impl<W: World> Work<W> {
    /// Replays a trace: a phase for each kind of operation.
    pub(super) fn measure_replay(
        &mut self,
        replay: &Replay,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        let Some(stream) = self.request.replays.get(&replay.name).map(Arc::clone) else {
            return Err(Hindrance::Failure(format!("{}: the trace was not read", replay.name)));
        };
        match stream.level {
            ReplayLevel::Calls => self.replay_calls(replay, &stream, state, run, observer),
            ReplayLevel::Blocks => self.replay_blocks(replay, &stream, state, run, observer),
        }
    }

    fn replay_calls(
        &mut self,
        replay: &Replay,
        stream: &ReplayStream,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        observer.event(Event::Preparing("writing the files of the trace"));
        let most = stream.laid_out();
        self.allow(most, "the files of the trace")?;
        let (mut files, written) = self.world.lay_out_replay(&stream.files, &self.controls)?;
        self.settle(most, written);
        self.wrote(written);
        let how = Access {
            engine: EngineKind::Psync,
            direct: false,
            durable: durable_of(stream),
            queue_depth: 1,
        };
        let head = head(replay, stream, state, run, self.world.now()).with(how);
        let seed = self.test_seed(&head.label());
        let (live, before) = self.begin_replay(&head, replay, stream, observer);
        let job = job(replay, stream, seed);
        let driven = self.world.replay_calls(&mut files, &job, live, &self.controls);
        let after = self.world.counters(Edge::End);
        let outcome = self.replay_outcome(&head, replay, stream, driven?, (before, after));
        self.world.remove_replay(files)?;
        Ok(outcome)
    }

    fn replay_blocks(
        &mut self,
        replay: &Replay,
        stream: &ReplayStream,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        let io = &requests(replay, stream);
        let file = self.test_file(io, observer)?;
        let OpenedDevice { mut device, how, downgrades } =
            self.world.open_for_requests(&file, io)?;
        self.note_downgrades(&downgrades);
        let durable = durable_of(stream);
        let head = head(replay, stream, state, run, self.world.now());
        let head = head.with(Access { durable, ..how });
        let seed = self.test_seed(&head.label());
        let (live, before) = self.begin_replay(&head, replay, stream, observer);
        let mut watch = ReplayWatch {
            stop: &self.controls.stop,
            live: Some(live),
            budget: self.controls.budget.clone(),
            meter: self.world.meter(),
        };
        let driven = drive_requests(&mut device, &job(replay, stream, seed), &mut watch);
        let after = self.world.counters(Edge::End);
        drop(device);
        Ok(self.replay_outcome(&head, replay, stream, driven, (before, after)))
    }

    fn begin_replay(
        &mut self,
        head: &PhaseHead,
        replay: &Replay,
        stream: &ReplayStream,
        observer: &mut dyn Observer,
    ) -> (Arc<flashlag_stats::live::Live>, W::Counters) {
        let label = head.label();
        let live = self.announce(None, observer);
        self.world.phase_begins(&label);
        observer.event(Event::PhaseStarted {
            label: &label,
            expected: replay.due(stream.lasts()),
            limit: None,
            live: &live,
        });
        (live, self.world.counters(Edge::Begin))
    }

    /// A phase for each kind of operation in the trace.
    fn replay_outcome(
        &mut self,
        head: &PhaseHead,
        replay: &Replay,
        stream: &ReplayStream,
        mut driven: ReplayOutcome,
        (before, after): (W::Counters, W::Counters),
    ) -> Outcome {
        self.wrote(driven.written);
        let error = driven.ended.error().map(ToString::to_string);
        let stops = self.world.stops();
        let looks = self.world.looks();
        let mut notes = stream.notes.clone();
        if driven.out_of_budget {
            notes.push(self.ended_by_budget());
        }
        if driven.left > 0 {
            notes.push(format!("{} operations of the trace were not begun", count(driven.left)));
        }
        notes.extend(driven.time.map(|time| {
            let WaitSplit { on_cpu, runnable, blocked, .. } = time;
            format!(
                "its threads were {on_cpu} on a CPU, {runnable} waiting for one, {blocked} blocked"
            )
        }));
        if self.controls.verify {
            notes.push("a replay is not read back: its threads write as the trace says".to_owned());
        }
        notes.extend(self.world.phase_note());
        let mut measured = Vec::new();
        for part in &mut driven.parts {
            if let Some(stops) = &stops {
                part.recorded.take_stops(stops);
            }
            let (ledger, bytes) = match part.kind {
                ReplayKind::Write => (Some(Direction::Write), driven.written),
                ReplayKind::Read => (Some(Direction::Read), driven.read),
                _ => (None, Bytes::ZERO),
            };
            let ledger = ledger
                .map(|direction| self.world.ledger((&before, &after), direction, bytes))
                .unwrap_or_else(|| no_ledger(replay));
            let stopped = stops.as_ref().map(|stops| part.recorded.stopped(stops));
            let tail = PhaseTail {
                time: None,
                in_real_time: self.world.in_real_time(),
                clocks: self.world.clocks(part.recorded.began),
                thought: Nanos::ZERO,
                final_flush: None,
                stopped,
                ledger,
                growth: None,
                cut_short: driven.ended == EndReason::Stopped || error.is_some(),
                notes: std::mem::take(&mut notes),
                looks: looks.clone(),
                slow: self.world.slow(&before, &after),
            };
            measured.push(replayed(part, head, replay, stream, tail));
            self.evidence.phases.push(Some((before.clone(), after.clone())));
        }
        if measured.is_empty() && error.is_none() {
            Outcome::Skipped(format!("{}: no operation was begun", replay.name))
        } else {
            Outcome::of(measured, error)
        }
    }
}

/// The phase of one kind of operation.
fn replayed(
    part: &ReplayPart,
    head: &PhaseHead,
    replay: &Replay,
    stream: &ReplayStream,
    tail: PhaseTail,
) -> Phase {
    let operation = part.kind.operation();
    let has_traced = part.traced.count() > 0;
    let head = PhaseHead {
        name: replay.phase_name(part.kind),
        operation,
        block: if operation == Operation::Save { Bytes(4096) } else { Bytes::ZERO },
        durable: match part.kind {
            ReplayKind::Read | ReplayKind::Names | ReplayKind::Discard => Durability::None,
            ReplayKind::Write if stream.level == ReplayLevel::Calls => Durability::None,
            _ => head.durable,
        },
        ..head.clone()
    };
    let record = Replayed {
        trace_sha256: stream.sha256.clone(),
        source: stream.source,
        level: stream.level,
        pace: replay.pace,
        scheduled_ns: replay.due(stream.lasts()),
        traced_ns: has_traced.then(|| LatencySummary::from(&part.traced)),
        traced_histogram: has_traced.then(|| StoredHistogram::from(&part.traced)),
        transactions: stream.transactions().filter(|_| part.kind == ReplayKind::Save),
    };
    // The trace changes over time in a replay, not the device.
    let real = tail.in_real_time;
    let phase = phase(head, &part.recorded, tail);
    let time = if real {
        Reading::unavailable("operations of all kinds share the threads")
    } else {
        phase.time.clone()
    };
    Phase { replay: Some(record), time, ..phase }
}

fn job<'a>(replay: &'a Replay, stream: &'a ReplayStream, seed: u64) -> ReplayJob<'a> {
    ReplayJob { stream, replay, seed, interval: INTERVAL, stall_over: STALL_OVER }
}

/// Why the phase of one kind of operation has no ledger of its own.
fn no_ledger(replay: &Replay) -> Ledger {
    let reason = format!("counted with {}_write and {}_read", replay.name, replay.name);
    Ledger {
        app_bytes: Reading::unavailable(reason.clone()),
        syscall_bytes: Reading::unavailable(reason.clone()),
        storage_bytes: Reading::unavailable(reason.clone()),
        block_bytes: Reading::unavailable(reason.clone()),
        block_writes: Reading::unavailable(reason.clone()),
        flushes: Reading::unavailable(reason.clone()),
        device_bytes: Reading::unavailable(reason),
        kinds: None,
    }
}

/// How the writes of a trace are made durable, according to the first call or request that does so.
fn durable_of(stream: &ReplayStream) -> Durability {
    let durable = stream.ops.iter().find_map(|op| match op.call {
        ReplayCall::Sync | ReplayCall::SyncAll => Some(Durability::Fsync),
        ReplayCall::SyncData | ReplayCall::BlockFlush => Some(Durability::Fdatasync),
        ReplayCall::BlockWriteDurable => Some(Durability::Dsync),
        _ => None,
    });
    durable.unwrap_or_default()
}

/// The facts of all phases of a replay before it runs.
fn head(replay: &Replay, stream: &ReplayStream, state: State, run: u32, began: Nanos) -> PhaseHead {
    PhaseHead {
        name: replay.name.clone(),
        state,
        run,
        operation: Operation::ReplayWrite,
        block: Bytes::ZERO,
        span: stream.room.max(stream.span),
        queue_depth: replay.queue_depth,
        threads: stream.threads.max(1),
        mixed: None,
        durable: Durability::None,
        direct: replay.direct,
        engine: EngineKind::Auto,
        closed_loop: replay.due(Nanos::ZERO).is_none(),
        think: None,
        background: None,
        began,
    }
}

/// The test of block I/O that opens a file for block requests.
fn requests(replay: &Replay, stream: &ReplayStream) -> Io {
    Io {
        name: replay.name.clone(),
        operation: IoOperation::Write,
        read_percent: None,
        pattern: Pattern::Random,
        block: Text(LARGEST_REQUEST),
        span: Some(Text(stream.span)),
        offset: None,
        bytes: None,
        time: None,
        min_ops: None,
        warmup: None,
        until: Until::Limits,
        at_least: None,
        queue_depth: replay.queue_depth,
        threads: 1,
        thread_spans: ThreadSpans::default(),
        durable: Durability::None,
        direct: replay.direct,
        engine: EngineKind::Auto,
        arrivals: Arrivals::default(),
        think: None,
        background: None,
        fresh: false,
        grown: false,
        prepares: false,
    }
}
