//! Overload: a schedule that a device can't keep. Its queue and the waits grow for as long as the
//! test lasts, so percentiles depend on the length of the test, not on the device.

use flashlag_schema::{Phase, Run};
use flashlag_spec::Operation;
use flashlag_spec::scenario::Test;
use flashlag_units::{Nanos, per_second};

use flashlag_explain::{Plan, due, is_overloaded};

use crate::format;

/// The rates of an overloaded schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// Operations done a second.
    pub done_per_sec: f64,
    /// Operations that the schedule asks for a second.
    pub due_per_sec: f64,
    /// The counted operations: `saves`, `operations`.
    pub what: &'static str,
    /// Of a replay: the time within which all of the trace was due, and the time that it took.
    pub replayed: Option<(Nanos, Nanos)>,
}

/// The overload of a phase; `None` if it kept its schedule, had none, or was merely late.
///
/// A scheduled test is overloaded if fewer than nine in ten of the due operations were done, and in each
/// third of its time fewer than came due: the queue grew to the end. Its waits depend on the length of
/// the test, so no percentile is given.
pub fn overload(run: &Run, phase: &Phase) -> Option<Overload> {
    if !is_overloaded(phase) {
        return None;
    }
    let planned = match Plan::of(run).test(&phase.name) {
        Some(Test::Save(save)) => save.arrivals.per_second,
        Some(Test::FileSave(save)) => save.arrivals.per_second,
        Some(Test::Io(io)) => io.arrivals.per_second,
        Some(Test::Replay(_) | Test::Card(_)) | None => None,
    };
    let scheduled = phase.replay.as_ref().and_then(|replay| replay.scheduled_ns);
    let within = scheduled.unwrap_or(phase.elapsed_ns);
    let counted = per_second(due(phase), within).unwrap_or_default();
    let what = if phase.operation == Operation::Save { "saves" } else { "operations" };
    let done_per_sec = phase.ops_per_sec;
    let replayed = scheduled.map(|within| (within, phase.elapsed_ns));
    Some(Overload { done_per_sec, due_per_sec: planned.unwrap_or(counted), what, replayed })
}

impl Overload {
    /// `3.8 of the 100 saves due each second are done; the queue grows`, `what is due within 24 ms in the recording takes
    /// 261 ms`.
    pub fn in_words(&self) -> String {
        let Overload { done_per_sec, due_per_sec, what, replayed } = self;
        if let Some(times) = replayed {
            return of_a_recording(*times);
        }
        let (done, due) = (format::per_second(*done_per_sec), format::per_second(*due_per_sec));
        format!("{done} of the {due} {what} due each second are done; the queue grows")
    }

    /// `of the 100 saves due each second, only 3.8 are done, and the queue grows`.
    pub fn clause(&self) -> String {
        let Overload { done_per_sec, due_per_sec, what, replayed } = self;
        if let Some(times) = replayed {
            return of_a_recording(*times);
        }
        let (done, due) = (format::per_second(*done_per_sec), format::per_second(*due_per_sec));
        format!("of the {due} {what} due each second, only {done} are done, and the queue grows")
    }
}

/// A replay that fell behind: an app that saves one thing after another is due as fast as the recorded device was,
/// so a rate of saves would be that of the recorded device.
fn of_a_recording((within, took): (Nanos, Nanos)) -> String {
    let (within, took) = (format::time(within), format::time(took));
    format!("what is due within {within} in the recording takes {took}")
}

/// The overload of a test over several runs, of which at least one was overloaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overloads {
    /// The mean of the overloaded runs.
    pub mean: Overload,
    /// Number of overloaded runs.
    pub overloaded: usize,
    /// Number of runs.
    pub runs: usize,
}

impl Overloads {
    /// The overload of a phase over several runs; `None` if all kept their schedule.
    pub(crate) fn of(all: &[(&Run, &Phase)]) -> Option<Overloads> {
        let overloads: Vec<Overload> =
            all.iter().filter_map(|(run, phase)| overload(run, phase)).collect();
        let first = *overloads.first()?;
        let count = overloads.len() as f64;
        let mean = |of: fn(&Overload) -> f64| overloads.iter().map(of).sum::<f64>() / count;
        let took = mean(|overload| overload.replayed.map_or(0.0, |(_, took)| took.0 as f64));
        let mean = Overload {
            done_per_sec: mean(|overload| overload.done_per_sec),
            due_per_sec: mean(|overload| overload.due_per_sec),
            replayed: first.replayed.map(|(within, _)| (within, Nanos(took.round() as u64))),
            ..first
        };
        Some(Overloads { mean, overloaded: overloads.len(), runs: all.len() })
    }

    /// `overloaded: 3.8 of the 100 saves due each second are done; the queue grows`; `overloaded in 1 of 3 runs: …`
    /// if the others kept it.
    pub fn in_words(&self) -> String {
        match self.some() {
            None => format!("overloaded: {}", self.mean.in_words()),
            Some(some) => format!("overloaded {some}: {}", self.mean.in_words()),
        }
    }

    /// The same without the word, beside the verdict `overloaded`: `3.8 of the 100 saves due each second are done; the queue grows`; `in
    /// 1 of 3 runs: …`.
    pub fn beside_the_verdict(&self) -> String {
        match self.some() {
            None => self.mean.in_words(),
            Some(some) => format!("{some}: {}", self.mean.in_words()),
        }
    }

    /// `in 1 of 3 runs`; `None` if all were overloaded.
    fn some(&self) -> Option<String> {
        let Overloads { overloaded, runs, .. } = self;
        (overloaded < runs).then(|| format!("in {overloaded} of {runs} runs"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlag_testing::sample::SampleKind;
    use flashlag_units::Nanos;

    /// A run of four operations a second, with `missed` slots.
    fn four_a_second(seconds: u64, missed: u64) -> Phase {
        let phases = SampleKind::Quick.run().phases;
        let mut phase = phases.into_iter().find(|phase| !phase.closed_loop).expect("a schedule");
        phase.elapsed_ns = Nanos::from_secs(seconds);
        (phase.ops, phase.missed_slots) = (4 * seconds, Some(missed));
        phase.ops_per_sec = 4.0;
        let last = phase.intervals.last().cloned().expect("a series");
        phase.intervals = (1..=seconds)
            .map(|second| flashlag_schema::IntervalRecord {
                t_ns: Nanos::from_secs(second),
                ops: 4,
                ..last.clone()
            })
            .collect();
        phase
    }

    /// Twice the test is twice the waits, and the same words.
    #[test]
    fn the_words_do_not_depend_on_how_long_the_test_was() {
        let run = SampleKind::Quick.run();
        let said = |phase: &Phase| overload(&run, phase).unwrap().in_words();
        let (short, long) = (four_a_second(12, 1180), four_a_second(24, 2360));
        assert_eq!(said(&short), said(&long));
        assert_eq!(said(&short), "4.0 of the 100 saves due each second are done; the queue grows");
    }
}
