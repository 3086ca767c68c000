//! What happened in a trace while a run measured.

use flashlag_schema::trace::{
    Trace, TraceDuring, TraceFrame, TraceRun, TraceRunSaves, TraceRunStall, TraceRunTest,
};
use flashlag_schema::{Phase, Run};

use super::frames::Judged;
use crate::beside::{Span, nanos};

/// The tests of a run that a trace shows, each with its time.
#[derive(Debug)]
pub(super) struct Tests<'a>(Vec<(&'a Phase, Span)>);

impl<'a> Tests<'a> {
    pub(super) fn of(run: &'a Run, within: &[(usize, Span)]) -> Tests<'a> {
        let phase = |(number, span): &(usize, Span)| Some((run.phases.get(*number)?, *span));
        Tests(within.iter().filter_map(phase).collect())
    }

    /// The test in which a frame ended; of the halves of a mixed test, the first.
    fn at(&self, frame: &TraceFrame) -> Option<usize> {
        let end = i128::from(frame.t_ns.plus(frame.took_ns).0);
        self.0.iter().position(|(_, span)| (span.from..=span.to).contains(&end))
    }

    /// What the run did while a frame was drawn.
    pub(super) fn during(&self, frame: &TraceFrame) -> Option<TraceDuring> {
        let (phase, span) = self.0.get(self.at(frame)?)?;
        Some(TraceDuring { test: phase.label(), stall: stall(phase, *span, frame) })
    }

    /// The late frames of a trace by test.
    pub(super) fn sums(&self, trace: &Trace, by_storage: &[Judged<'_>]) -> TraceRun {
        let mut sums = TraceRun {
            tests: self.0.iter().map(|(phase, span)| test(trace, phase, *span)).collect(),
            elsewhere: 0,
        };
        for frame in &trace.late_frames {
            let Some(at) = self.at(frame) else {
                sums.elsewhere += 1;
                continue;
            };
            let ((phase, span), sum) = (self.0[at], &mut sums.tests[at]);
            sum.late += 1;
            sum.at_stalls += u64::from(stall(phase, span, frame).is_some());
        }
        for Judged { frame, .. } in by_storage {
            if let Some(at) = self.at(frame) {
                sums.tests[at].by_storage += 1;
            }
        }
        sums
    }
}

fn test(trace: &Trace, phase: &Phase, span: Span) -> TraceRunTest {
    let begun = nanos(span.from);
    let ended = nanos(span.to).min(trace.source.lasted_ns);
    let saves = |lag: flashlag_schema::Lag| TraceRunSaves { saves: lag.saves, late: lag.over_60hz };
    TraceRunTest {
        test: phase.label(),
        t_ns: begun,
        lasted_ns: ended.saturating_since(begun),
        saves: phase.lag.map(saves),
        ..TraceRunTest::default()
    }
}

/// The longest stall of the run's operations while a frame was drawn.
fn stall(phase: &Phase, span: Span, frame: &TraceFrame) -> Option<TraceRunStall> {
    let drawn = Span { from: frame.t_ns.0.into(), to: frame.t_ns.plus(frame.took_ns).0.into() };
    let within = phase.stalls.iter().filter(|stall| {
        let from = span.from + i128::from(stall.t_ns.0);
        Span { from, to: from + i128::from(stall.ns.0) }.meets(drawn).is_ok()
    });
    let longest = within.max_by_key(|stall| stall.ns)?;
    Some(TraceRunStall { took_ns: longest.ns, cause: longest.cause })
}
