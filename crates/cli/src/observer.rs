//! Shows the events of a run on the progress display.

use flashlag_runner::{Event, Observer};
use flashlag_term::Progress;

/// Hands the runner's events to the progress display.
pub struct ProgressObserver<'a>(pub &'a Progress);

impl Observer for ProgressObserver<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Preparing(what) => self.0.preparing(what),
            Event::PhaseStarted { label, expected, limit, live } => {
                self.0.watch(live);
                self.0.phase_started(label, expected, limit);
            }
            Event::Wrote(total) => self.0.wrote(total),
            Event::Beside(live) => self.0.beside(live),
            Event::Filling(storage) => self.0.filling(storage),
            Event::PhaseFinished(phase) => self.0.phase_finished(phase),
            Event::Note(text) => self.0.note(text),
        }
    }
}
