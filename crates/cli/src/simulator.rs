//! The progress line while simulations run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_commands::{Counting, Simulations};
use flashlag_term::{Counter, ProgressMode};

/// A progress line on standard error.
struct Line(Counter);

impl Counting for Line {
    fn show(&mut self, line: &dyn Fn() -> String) {
        self.0.show(line);
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// A progress line for simulations.
pub fn line(mode: ProgressMode) -> Box<dyn Counting> {
    Box::new(Line(Counter::new(mode)))
}

/// The simulator of forecasts, fits and checks of `what`, with a progress line; `of`: the number of
/// simulations, if it is known.
pub fn simulations(
    stop: Arc<AtomicBool>,
    mode: ProgressMode,
    what: &str,
    of: Option<usize>,
) -> Simulations {
    Simulations::new(stop, line(mode), what, of)
}
