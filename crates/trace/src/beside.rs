//! Lays records beside each other that were made on one machine at the same time: the frames of a
//! user interface beside a recording of storage, or a trace beside a run.

use flashlag_schema::trace::Trace;
use flashlag_schema::{ClockReading, Run};
use flashlag_units::{Nanos, count};

/// Why two records can't be laid beside each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BesideError {
    #[error(
        "no frames of a user interface are in it: Perfetto records them with the data source \
         android.surfaceflinger.frametimeline, on Android 12 and later"
    )]
    NoFrames,
    #[error("no storage events are in it, of which any could have made a frame late")]
    NoEvents,
    #[error(
        "no clock leads from one to the other: both need readings of the system's clocks, as \
         recordings and runs of this flashlag, atrace and Perfetto have them"
    )]
    NoClock,
    #[error(
        "their clocks contradict each other: they are of different boots or machines, or the wall \
         clock was set in between"
    )]
    AnotherBoot,
    #[error("they were not made at the same time: {by} lie between them")]
    Apart { by: Nanos },
}

/// A recording with the late frames of another trace of the same time, so that its waits explain
/// them.
///
/// # Errors
/// There are no frames or no events, no clock that both have read, or no time that both show.
pub fn with_frames(recording: Trace, drawn: &Trace) -> Result<Trace, BesideError> {
    let frames = drawn.source.frames.ok_or(BesideError::NoFrames)?;
    if recording.events.is_empty() {
        return Err(BesideError::NoEvents);
    }
    let (one, other) = (clocks_of(drawn)?, clocks_of(&recording)?);
    let later = apart(&one, &other)?;
    let length = recording.source.lasted_ns;
    let shown = Span { from: later, to: later + i128::from(drawn.source.lasted_ns.0) };
    shown.meets(Span::of(length))?;
    let mut outside = 0_u64;
    let mut recording = recording;
    recording.late_frames.clear();
    for frame in &drawn.late_frames {
        let from = i128::from(frame.t_ns.0) + later;
        let span = Span { from, to: from + i128::from(frame.took_ns.0) };
        outside += u64::from(span.meets(Span::of(length)).is_err());
        let (begun, ended) = (nanos(span.from), nanos(span.to));
        let mut frame = frame.clone();
        (frame.t_ns, frame.took_ns) = (begun, ended.saturating_since(begun));
        recording.late_frames.push(frame);
    }
    let source = &mut recording.source;
    source.frames = Some(frames);
    if one.only_by_wall(&other) {
        source.limits.push(
            "Frames and events are of two records that only the wall clock leads together: to a few \
             milliseconds, if it was not set in between."
                .to_owned(),
        );
    }
    if outside > 0 {
        source.limits.push(format!(
            "{} late frames are before or after the recording of storage: which waits made them late \
             is not known.",
            count(outside)
        ));
    }
    let unknown = drawn.source.limits.iter().filter(|limit| !source.limits.contains(limit));
    let unknown: Vec<String> = unknown.cloned().collect();
    source.limits.extend(unknown);
    Ok(recording)
}

/// The tests of a run whose time a trace shows: each with its number and its time from the trace's
/// beginning.
pub(crate) fn tests_within(trace: &Trace, run: &Run) -> Result<Vec<(usize, Span)>, BesideError> {
    let zero = clocks_of(trace)?;
    let whole = Span::of(trace.source.lasted_ns);
    let mut refused = BesideError::NoClock;
    let mut within = Vec::new();
    for (number, phase) in run.phases.iter().enumerate() {
        let Some(clocks) = &phase.clocks else { continue };
        let from = apart(clocks, &zero)?;
        let span = Span { from, to: from + i128::from(phase.elapsed_ns.0) };
        match span.meets(whole) {
            Ok(()) => within.push((number, span)),
            Err(error) => refused = nearer(refused, error),
        }
    }
    if within.is_empty() { Err(refused) } else { Ok(within) }
}

fn clocks_of(trace: &Trace) -> Result<ClockReading, BesideError> {
    trace.source.clocks.ok_or(BesideError::NoClock)
}

/// By how many nanoseconds one moment is later than another.
fn apart(one: &ClockReading, other: &ClockReading) -> Result<i128, BesideError> {
    if one.disagrees(other) {
        return Err(BesideError::AnotherBoot);
    }
    one.since(other).ok_or(BesideError::NoClock)
}

fn nearer(one: BesideError, other: BesideError) -> BesideError {
    match (&one, &other) {
        (BesideError::Apart { by }, BesideError::Apart { by: less }) if by <= less => one,
        _ => other,
    }
}

/// A time from a trace's beginning on, negative before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: i128,
    pub(crate) to: i128,
}

impl Span {
    /// The time that a trace shows.
    fn of(length: Nanos) -> Span {
        Span { from: 0, to: length.0.into() }
    }

    /// Whether two have a moment in common; otherwise how far they are apart.
    pub(crate) fn meets(self, other: Span) -> Result<(), BesideError> {
        let gap = (self.from - other.to).max(other.from - self.to);
        if gap <= 0 { Ok(()) } else { Err(BesideError::Apart { by: nanos(gap) }) }
    }
}

/// A time from the beginning on; what is before it is the beginning.
pub(crate) fn nanos(time: i128) -> Nanos {
    Nanos(u64::try_from(time.max(0)).unwrap_or(u64::MAX))
}
