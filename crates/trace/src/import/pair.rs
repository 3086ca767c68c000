//! Pairs the events of block requests: queued, issued, completed.

use std::collections::{BTreeMap, HashSet, VecDeque};

use flashlag_schema::trace::{
    BlockFlags, BlockOperation, Pack, PackedFlags, PackedList, TraceAction, TraceLayer,
};
use flashlag_units::{Bytes, Nanos, count};
use serde::{Deserialize, Serialize};

use super::making::Making;
use super::text::SECTOR;
use crate::builder::MOST_EVENTS;

/// Most requests that may wait for an event. A device has hundreds in flight; a damaged trace could
/// leave any number.
const MOST_WAITING: usize = 1 << 20;
/// Two events of a request that are further apart than this come from different clocks: the kernel
/// gives up on a request after 30 to 180 s.
const APART: Nanos = Nanos::from_secs(3600);

/// One event of a request, as a source reports it.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) t: Nanos,
    pub(super) device: u32,
    pub(super) operation: BlockOperation,
    /// In units of 512 bytes.
    pub(super) sector: u64,
    pub(super) sectors: u64,
    pub(super) flags: BlockFlags,
    pub(super) task: Option<u32>,
    pub(super) file: Option<u32>,
}

impl End {
    /// A write without data is a flush, reported by another letter. A flush has no sector.
    fn or_flush(self) -> End {
        match self {
            End {
                operation: BlockOperation::Write | BlockOperation::Flush, sectors: 0, ..
            } => End { operation: BlockOperation::Flush, sector: 0, ..self },
            other => other,
        }
    }
}

/// Identity of a request in flight.
type Key = (u32, BlockOperation, u64);

/// A request in flight, or one that has completed.
#[derive(Clone, Copy, Debug)]
struct Request {
    end: End,
    queued: Option<Nanos>,
    issued: Option<Nanos>,
    completed: Option<Nanos>,
    /// Sectors without a completion yet.
    left: u64,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: BTreeMap<Key, VecDeque<Request>>,
    length: usize,
}

impl Waiting {
    fn push(&mut self, request: Request, sector: u64) {
        let key = (request.end.device, request.end.operation, sector);
        self.requests.entry(key).or_default().push_back(request);
        self.length += 1;
    }

    fn pop(&mut self, key: Key) -> Option<Request> {
        let queue = self.requests.get_mut(&key)?;
        let request = queue.pop_front();
        if queue.is_empty() {
            self.requests.remove(&key);
        }
        self.length -= usize::from(request.is_some());
        request
    }

    /// The first key of a request that lies within these sectors.
    fn within(&self, end: &End) -> Option<Key> {
        let key = |sector: u64| (end.device, end.operation, sector);
        // A flush has no sectors: it matches only another flush.
        let last = end.sector.saturating_add(end.sectors.saturating_sub(1));
        self.requests.range(key(end.sector)..=key(last)).next().map(|(key, _)| *key)
    }

    fn drain(&mut self) -> impl Iterator<Item = Request> + use<> {
        self.length = 0;
        std::mem::take(&mut self.requests).into_values().flatten()
    }
}

/// Pairs the events of requests, by device, operation and sector.
#[derive(Debug, Default)]
pub(super) struct Requests {
    queued: Waiting,
    issued: Waiting,
    /// Completions without a begin event so far.
    early: Waiting,
    done: PackedList<Done>,
    /// Number of requests beyond the bound.
    beyond: u64,
}

impl Requests {
    /// A request was queued in the block layer.
    pub(super) fn queue(&mut self, end: End) {
        let end = end.or_flush();
        let request = Request::of(end, Some(end.t), None);
        if let Some(completed) = self.already_completed(&end) {
            self.ended(Request { completed: Some(completed), left: 0, ..request });
            return;
        }
        self.queued.push(request, end.sector);
        self.bound();
    }

    /// A request was issued to the device: a queued request, several that were merged, or a part of
    /// one.
    pub(super) fn issue(&mut self, end: End) {
        let end = end.or_flush();
        let mut request = Request::of(end, None, Some(end.t));
        while let Some(queued) = self.queued.within(&end).and_then(|key| self.queued.pop(key)) {
            if request.queued.is_none_or(|earlier| queued.queued < Some(earlier)) {
                request.queued = queued.queued;
                request.end.task = queued.end.task.or(request.end.task);
            }
            request.end.file = request.end.file.or(queued.end.file);
            if let Some((rest, sector)) = queued.rest(end.sector.saturating_add(end.sectors)) {
                self.queued.push(rest, sector);
            }
            if end.sectors == 0 {
                break;
            }
        }
        if let Some(completed) = self.already_completed(&end) {
            self.ended(Request { completed: Some(completed), left: 0, ..request });
            return;
        }
        self.issued.push(request, end.sector);
        self.bound();
    }

    /// The completion of a request whose begin event only comes later in the file: lines of
    /// different CPUs are not in order of time, and blktrace gives the first events of a CPU
    /// another zero.
    fn already_completed(&mut self, begin: &End) -> Option<Nanos> {
        let key = (begin.device, begin.operation, begin.sector);
        let completed = self.early.requests.get(&key)?.front()?.end;
        let is_same = completed.sectors == begin.sectors
            && (begin.t <= completed.t || apart(begin.t, completed.t));
        is_same.then(|| self.early.pop(key))?.map(|completed| completed.end.t)
    }

    /// The driver has put a request back into the queue.
    pub(super) fn requeue(&mut self, end: End) {
        let end = end.or_flush();
        let key = (end.device, end.operation, end.sector);
        if let Some(request) = self.issued.pop(key) {
            self.queued.push(Request { issued: None, ..request }, end.sector);
        }
    }

    /// A request, or a part of one, was completed.
    pub(super) fn complete(&mut self, end: End) {
        // The kernel completes a request with a flush in parts: the flush, the data, and an empty
        // write.
        let ends_parts = end.sectors == 0 && end.operation == BlockOperation::Write;
        let end = end.or_flush();
        let key = (end.device, end.operation, end.sector);
        if let Some(request) = self.issued.pop(key) {
            if let Some((rest, sector)) = request.completed_in_part(end) {
                self.issued.push(rest, sector);
            } else {
                self.ended(Request { completed: Some(end.t), left: 0, ..request });
            }
            return;
        }
        let mut any = false;
        while let Some(key) = self.queued.within(&end) {
            let Some(request) = self.queued.pop(key) else { break };
            any = true;
            if let Some((rest, sector)) = request.completed_in_part(end) {
                self.queued.push(rest, sector);
                break;
            }
            self.ended(Request { completed: Some(end.t), left: 0, ..request });
            if end.sectors == 0 {
                break;
            }
        }
        if !any && !ends_parts {
            // The thread that the completion interrupted did not issue the request.
            let end = End { task: None, ..end };
            let request = Request { completed: Some(end.t), ..Request::of(end, None, None) };
            self.early.push(request, end.sector);
            self.bound();
        }
    }

    /// Adds the requests that have completed, on a running machine with one clock.
    pub(super) fn add_ended(&mut self, making: &mut Making) {
        let mut done = std::mem::take(&mut self.done);
        if done.is_empty() {
            return;
        }
        making.sees(TraceLayer::Block);
        let clock = Clock { first: Nanos::ZERO, last: Nanos(u64::MAX) };
        done.sort();
        for request in done {
            request.add(request.times(), clock, making);
        }
    }

    /// Adds all requests to the trace.
    pub(super) fn finish(&mut self, making: &mut Making) {
        self.finish_without(&HashSet::new(), making);
    }

    /// As [`Requests::finish`], without the requests to some devices.
    pub(super) fn finish_without(&mut self, devices: &HashSet<u32>, making: &mut Making) {
        let waiting = self.queued.drain().chain(self.issued.drain()).chain(self.early.drain());
        let mut done = std::mem::take(&mut self.done);
        waiting.for_each(|request| done.push(&Done::of(request)));
        if !devices.is_empty() {
            done = done.into_iter().filter(|done| !devices.contains(&done.device)).collect();
        }
        if done.is_empty() {
            return;
        }
        making.leave_out(self.beyond);
        making.sees(TraceLayer::Block);
        let clock = Clock::of(done.iter());
        let mut strange = 0_u64;
        done.sort();
        for request in done {
            let all = request.times();
            let [queued, issued, completed] = all;
            let has_begun = queued.is_some() || issued.is_some();
            let unmatched = &mut making.builder.source().unmatched;
            unmatched.begins += u64::from(has_begun && completed.is_none());
            unmatched.ends += u64::from(!has_begun);
            let kept = all.map(|t| t.filter(|t| clock.has(*t)));
            strange += u64::from(kept != all);
            request.add(kept, clock, making);
        }
        if strange > 0 {
            let requests = if strange == 1 { "request carries" } else { "requests carry" };
            making.limit(format!(
                "{} {requests} a time of another clock: no latency is known of such a request.",
                count(strange)
            ));
        }
    }

    /// Keeps a request whose events are complete.
    fn ended(&mut self, request: Request) {
        if self.done.len() < MOST_EVENTS {
            self.done.push(&Done::of(request))
        } else {
            self.beyond += 1
        }
    }

    /// Gives up on requests that still wait, if there are too many.
    fn bound(&mut self) {
        for waiting in [&mut self.queued, &mut self.issued, &mut self.early] {
            if waiting.length > MOST_WAITING {
                waiting.drain().for_each(|request| self.done.push(&Done::of(request)));
            }
        }
    }
}

impl Request {
    fn of(end: End, queued: Option<Nanos>, issued: Option<Nanos>) -> Request {
        Request { end, queued, issued, completed: None, left: end.sectors }
    }

    /// What remains of a queued request after the device got the part before `next`, with the
    /// sector where that begins.
    fn rest(self, next: u64) -> Option<(Request, u64)> {
        let end = self.end.sector.saturating_add(self.end.sectors);
        let left = end.checked_sub(next).filter(|left| *left > 0 && *left < self.end.sectors)?;
        let end = End { sector: next, sectors: left, ..self.end };
        Some((Request { end, left, ..self }, next))
    }

    /// What remains of a request if `end` completes only a part of it, with the sector of the next
    /// completion.
    fn completed_in_part(self, end: End) -> Option<(Request, u64)> {
        let left =
            self.left.checked_sub(end.sectors).filter(|left| *left > 0 && end.sectors > 0)?;
        Some((Request { left, ..self }, end.sector.saturating_add(end.sectors)))
    }
}

/// A request whose events are complete.
#[derive(Clone, Copy, Debug)]
struct Done {
    /// Queued, issued, completed.
    times: [Option<u64>; 3],
    sector: u64,
    sectors: u64,
    device: u32,
    task: Option<u32>,
    file: Option<u32>,
    operation: BlockOperation,
    flags: BlockFlags,
}

/// The compact form in which requests are kept: there may be ten million.
#[derive(Serialize, Deserialize)]
struct PackedDone {
    /// Relative to the time of the request.
    times: [Option<i64>; 3],
    sector: u64,
    sectors: u64,
    device: u32,
    task: Option<u32>,
    file: Option<u32>,
    operation: BlockOperation,
    flags: PackedFlags,
}

impl Pack for Done {
    type Packed = PackedDone;

    /// The request's time in the trace, if all times come from one clock.
    fn time(&self) -> u64 {
        let [queued, issued, completed] = self.times;
        issued.or(queued).or(completed).unwrap_or(0)
    }

    fn pack(&self) -> PackedDone {
        let Done { times, sector, sectors, device, task, file, operation, flags } = *self;
        let since = |time: u64| time.wrapping_sub(self.time()).cast_signed();
        let (times, flags) = (times.map(|time| time.map(since)), flags.into());
        PackedDone { times, sector, sectors, device, task, file, operation, flags }
    }

    fn unpack(begun: u64, packed: PackedDone) -> Done {
        let PackedDone { times, sector, sectors, device, task, file, operation, flags } = packed;
        let at = |since: i64| begun.wrapping_add(since.cast_unsigned());
        let (times, flags) = (times.map(|time| time.map(at)), flags.into());
        Done { times, sector, sectors, device, task, file, operation, flags }
    }
}

impl Done {
    fn of(request: Request) -> Done {
        let End { device, operation, sector, sectors, flags, task, file, .. } = request.end;
        let times = [request.queued, request.issued, request.completed];
        let times = times.map(|time| time.map(|time| time.0));
        Done { times, sector, sectors, device, task, file, operation, flags }
    }

    fn times(&self) -> [Option<Nanos>; 3] {
        self.times.map(|time| time.map(Nanos))
    }

    fn add(self, times: [Option<Nanos>; 3], clock: Clock, making: &mut Making) {
        let [queued, issued, completed] = times;
        let begun = issued.or(queued);
        let t = begun.or(completed).unwrap_or(clock.first);
        let took = begun.zip(completed).map(|(begun, completed)| completed.saturating_since(begun));
        let waited = issued.zip(queued).map(|(issued, queued)| issued.saturating_since(queued));
        let block = TraceAction::Block {
            device: self.device,
            operation: self.operation,
            offset: self.sector.saturating_mul(SECTOR),
            bytes: Bytes(self.sectors.saturating_mul(SECTOR)),
            flags: self.flags,
            queued_ns: waited,
            file: self.file,
        };
        making.event(t, took, self.task, block);
    }
}

/// The range of times that contains most events.
#[derive(Clone, Copy, Debug)]
struct Clock {
    first: Nanos,
    last: Nanos,
}

impl Clock {
    /// Counts times by hour; the times of one hour, and of hours that follow closely, are one
    /// group.
    fn of(requests: impl Iterator<Item = Done>) -> Clock {
        let mut hours: BTreeMap<u64, (Clock, u64)> = BTreeMap::new();
        for t in requests.flat_map(|request| request.times()).flatten() {
            let hour = hours.entry(t.0 / APART.0);
            let (clock, count) = hour.or_insert((Clock { first: t, last: t }, 0));
            *clock = Clock { first: clock.first.min(t), last: clock.last.max(t) };
            *count += 1;
        }
        let mut groups: Vec<(Clock, u64)> = Vec::new();
        for (clock, count) in hours.into_values() {
            match groups.last_mut().filter(|(group, _)| !apart(group.last, clock.first)) {
                Some((group, counted)) => (group.last, *counted) = (clock.last, *counted + count),
                None => groups.push((clock, count)),
            }
        }
        let most = groups.into_iter().max_by_key(|(_, count)| *count);
        most.map_or(Clock { first: Nanos::ZERO, last: Nanos::ZERO }, |(clock, _)| clock)
    }

    fn has(self, t: Nanos) -> bool {
        (self.first..=self.last).contains(&t)
    }
}

fn apart(one: Nanos, other: Nanos) -> bool {
    one.0.abs_diff(other.0) > APART.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(times: [Option<u64>; 3]) -> Done {
        let (operation, flags) = (BlockOperation::Write, BlockFlags::default());
        let (task, file) = (Some(0), None);
        Done { times, sector: 0, sectors: 8, device: 0, task, file, operation, flags }
    }

    /// The largest group, found by sorting all times.
    fn by_sorting(requests: &[Done]) -> (Nanos, Nanos) {
        let mut all: Vec<Nanos> = requests.iter().flat_map(Done::times).flatten().collect();
        all.sort_unstable();
        let groups = all.chunk_by(|earlier, later| later.0 - earlier.0 <= APART.0);
        let most = groups.max_by_key(|group| group.len()).unwrap();
        (most[0], most[most.len() - 1])
    }

    #[test]
    fn the_clock_of_the_most_times_is_that_of_their_largest_group() {
        let hour = APART.0;
        let mut random = 7_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        for round in 0..200 {
            let apart = 1 + round % 8;
            let time = |draw: u64| {
                if draw.is_multiple_of(5) { None } else { Some(draw % 40 * apart * hour / 4) }
            };
            let mut times = || [time(next(1 << 30)), time(next(1 << 30)), Some(next(40 * hour))];
            let requests: Vec<Done> = (0..30).map(|_| done(times())).collect();
            let clock = Clock::of(requests.iter().copied());
            assert_eq!((clock.first, clock.last), by_sorting(&requests), "round {round}");
        }
    }

    #[test]
    fn an_ended_request_waits_for_the_others_as_it_is_whatever_its_times() {
        let any = [None, Some(0), Some(7), Some(1 << 40), Some(u64::MAX - 1), Some(u64::MAX)];
        let mut all: Vec<Done> = Vec::new();
        for (queued, issued, completed) in any
            .into_iter()
            .flat_map(|one| any.map(|two| (one, two)))
            .flat_map(|(one, two)| any.map(|three| (one, two, three)))
        {
            all.push(done([queued, issued, completed]));
        }
        let packed: PackedList<Done> = all.iter().copied().collect();
        let times = |list: &mut dyn Iterator<Item = Done>| list.map(|done| done.times).collect();
        let (kept, expected): (Vec<_>, Vec<_>) =
            (times(&mut packed.into_iter()), times(&mut all.into_iter()));
        assert_eq!(kept, expected);
    }
}
