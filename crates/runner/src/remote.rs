//! Shows the progress of a run that another process makes, in a guest or on a phone.

use std::sync::Arc;

use flashlag_schema::remote::{LiveReading, Progress};
use flashlag_stats::Histogram;
use flashlag_stats::live::Live;
use flashlag_units::{Bytes, Nanos};

use crate::events::{Event, Observer};

/// Sends the events of a run as messages. The progress within a phase is not among them.
pub(crate) struct Forward<S>(pub(crate) S);

impl<S: FnMut(Progress)> Observer for Forward<S> {
    fn event(&mut self, event: Event<'_>) {
        (self.0)(match event {
            Event::Preparing(text) => Progress::Preparing { text: text.to_owned() },
            Event::PhaseStarted { label, expected, limit, live: _ } => {
                Progress::PhaseStarted { label: label.to_owned(), expected, limit }
            }
            Event::PhaseFinished(phase) => {
                Progress::PhaseFinished { phase: Box::new(phase.clone()) }
            }
            Event::Note(text) => Progress::Note { text: text.to_owned() },
            Event::Wrote(bytes) => Progress::Wrote { bytes },
            Event::Filling(storage) => Progress::Filling { storage },
            // Shown by a thread that reads the writer's memory, which another process can't.
            Event::Beside(_) => return,
        });
    }
}

/// Passes a message on as the event that it was made from. `live` is what the display watches.
pub(crate) fn pass_on(progress: &Progress, live: &Arc<Live>, observer: &mut dyn Observer) {
    match progress {
        Progress::Preparing { text } => observer.event(Event::Preparing(text)),
        Progress::PhaseStarted { label, expected, limit } => {
            live.reset();
            let (expected, limit) = (*expected, *limit);
            observer.event(Event::PhaseStarted { label, expected, limit, live });
        }
        Progress::PhaseFinished { phase } => observer.event(Event::PhaseFinished(phase)),
        Progress::Wrote { bytes } => observer.event(Event::Wrote(*bytes)),
        Progress::Filling { storage } => observer.event(Event::Filling(*storage)),
        Progress::Note { text } => observer.event(Event::Note(text)),
        Progress::Live(reading) => show(reading, live),
    }
}

/// What a phase has done so far, as a message; `None` before its first interval ended.
pub(crate) fn reading(live: &Live) -> Option<LiveReading> {
    let shown = live.snapshot();
    if shown.elapsed == Nanos::ZERO {
        return None;
    }
    let occupied = (0u32..).zip(live.buckets()).filter(|(_, count)| *count > 0);
    let (index, count) = occupied.unzip();
    Some(LiveReading {
        elapsed_ns: shown.elapsed,
        bytes: shown.bytes,
        written: shown.written,
        filled: Some(shown.filled).filter(|filled| *filled > Bytes::ZERO),
        recent_ns: shown.recent.last().copied().unwrap_or_default(),
        index,
        count,
    })
}

fn show(reading: &LiveReading, live: &Live) {
    // A message that is no histogram is not shown: the run itself is checked on arrival.
    if let Ok(total) = Histogram::from_parts(&reading.index, &reading.count, None) {
        live.imitate(&total, reading.recent_ns, reading.elapsed_ns, reading.bytes, reading.filled);
        live.set_written(reading.written);
    }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::Phase;

    use super::*;

    /// The events that an observer was shown, as text.
    #[derive(Default)]
    struct Seen(Vec<String>);

    impl Observer for Seen {
        fn event(&mut self, event: Event<'_>) {
            self.0.push(match event {
                Event::PhaseFinished(Phase { name, .. }) => format!("finished {name}"),
                Event::PhaseStarted { label, expected, limit, .. } => {
                    format!("started {label} {expected:?} {limit:?}")
                }
                Event::Preparing(text) => format!("preparing {text}"),
                Event::Note(text) => format!("note {text}"),
                Event::Wrote(bytes) => format!("wrote {bytes}"),
                Event::Filling(storage) => format!("filling {storage:?}"),
                Event::Beside(_) => "beside".to_owned(),
            });
        }
    }

    #[test]
    fn events_come_over_as_they_were_but_for_a_writer_beside() {
        let (live, phase) = (Arc::<Live>::default(), &flashlag_testing::small_run().phases[0]);
        let (expected, limit) = (Some(Nanos::from_secs(3)), Some(Bytes(7)));
        let events = || {
            let label = "new/w";
            [
                Event::Preparing("a file"),
                Event::Filling(Some(Bytes(9))),
                Event::PhaseStarted { label, expected, limit, live: &live },
                Event::Wrote(Bytes(4096)),
                Event::PhaseFinished(phase),
                Event::Note("done"),
            ]
        };
        let (mut there, mut here) = (Seen::default(), Seen::default());
        events().into_iter().for_each(|event| there.event(event));
        let shown = Arc::<Live>::default();
        let mut forward = Forward(|progress| pass_on(&progress, &shown, &mut here));
        events().into_iter().for_each(|event| forward.event(event));
        forward.event(Event::Beside(&live));
        assert_eq!(here.0, there.0);
        assert_eq!(here.0.len(), 6);
    }

    #[test]
    fn progress_within_a_phase_is_shown_as_it_was_read_and_never_goes_back() {
        let (there, here) = (Arc::<Live>::default(), Arc::<Live>::default());
        assert!(reading(&there).is_none());
        let mut waits = Histogram::new();
        (1..=200).for_each(|ms| waits.record(Nanos::from_millis(ms)));
        let (recent, elapsed) = (Nanos::from_millis(150), Nanos::from_secs(2));
        there.imitate(&waits, recent, elapsed, Bytes(800), Some(Bytes(5000)));
        let read = reading(&there).unwrap();
        let mut seen = Seen::default();
        pass_on(&Progress::Live(read.clone()), &here, &mut seen);
        let (a, b) = (there.snapshot(), here.snapshot());
        assert_eq!((a.ops, a.bytes, a.elapsed), (200, Bytes(800), elapsed));
        assert_eq!((b.ops, b.bytes, b.elapsed, b.filled), (200, a.bytes, a.elapsed, a.filled));
        assert_eq!((b.median, b.p99), (a.median, a.p99));
        assert_eq!(here.buckets(), there.buckets());
        // An older message, or one that is no histogram, changes nothing.
        let older = LiveReading { elapsed_ns: Nanos(1), bytes: Bytes(1), ..read.clone() };
        pass_on(&Progress::Live(older), &here, &mut seen);
        let wrong = LiveReading { elapsed_ns: Nanos(u64::MAX), index: vec![u32::MAX], ..read };
        pass_on(&Progress::Live(wrong), &here, &mut seen);
        assert_eq!(here.snapshot(), b);
        pass_on(
            &Progress::PhaseStarted { label: String::new(), expected: None, limit: None },
            &here,
            &mut seen,
        );
        assert_eq!(here.snapshot().ops, 0);
    }
}
