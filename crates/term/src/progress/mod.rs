//! Live progress on standard error: redrawn in place on a terminal, one plain line for each
//! finished phase otherwise, nothing when quiet.
//!
//! The measuring thread only stores into [`Live`]; another thread reads and draws it, at most five
//! times a second.

mod counter;
mod frame;
mod output;
mod pace;
mod plan;
mod side_by_side;
mod state;

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flashlag_schema::Phase;
use flashlag_spec::scenario::Scenario;
use flashlag_stats::live::Live;
use flashlag_units::{Bytes, Nanos};
use indicatif::ProgressDrawTarget;
use rustix::termios::isatty;

use crate::stream::is_dumb;
use crate::style::Style;
pub use counter::Counter;
use output::Output;
use plan::Plan;
pub use side_by_side::SideBySide;
use state::State;

/// At most five drawings a second.
const TICK: Duration = Duration::from_millis(200);

/// The display of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressMode {
    /// Redrawn in place.
    Terminal(Style),
    /// One line for each event: no colour, no cursor movement.
    Lines(Style),
    /// Nothing is shown.
    Quiet,
}

impl ProgressMode {
    /// The mode for standard error: [`ProgressMode::Quiet`] on request, in place on a terminal that
    /// supports it, otherwise lines.
    pub fn of_stderr(quiet: bool) -> ProgressMode {
        let style = Style::of_stderr();
        if quiet {
            ProgressMode::Quiet
        } else if isatty(rustix::stdio::stderr()) && !is_dumb() {
            ProgressMode::Terminal(style)
        } else {
            ProgressMode::Lines(Style { color: false, ..style })
        }
    }
}

/// Standard error in this mode.
fn on_stderr(mode: ProgressMode) -> Output {
    match mode {
        ProgressMode::Quiet => Output::Quiet,
        ProgressMode::Lines(_) => Output::Lines(Box::new(std::io::stderr())),
        ProgressMode::Terminal(_) => Output::terminal(ProgressDrawTarget::stderr_with_hz(5), true),
    }
}

/// Progress of one run, driven by the runner's events; the measuring thread stores into
/// [`Progress::live`]. Dropping it clears the live part from the terminal.
#[derive(Debug)]
pub struct Progress {
    shared: Arc<Shared>,
    ticker: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    inner: Mutex<Inner>,
    wake: Condvar,
}

#[derive(Debug)]
struct Inner {
    live: Arc<Live>,
    state: State,
    output: Output,
    stop: bool,
}

impl Progress {
    /// Progress on standard error. `title` names scenario and target, and is shown at once.
    pub fn new(mode: ProgressMode, title: &str) -> Progress {
        Progress::watching(mode, title, Arc::new(Live::default()))
    }

    /// As [`Progress::new`], for an existing [`Live`].
    pub fn watching(mode: ProgressMode, title: &str, live: Arc<Live>) -> Progress {
        let style = match mode {
            ProgressMode::Quiet => Style::PLAIN,
            ProgressMode::Lines(style) => Style { color: false, ..style },
            ProgressMode::Terminal(style) => style,
        };
        Progress::begin(on_stderr(mode), style, title, live)
    }

    /// Plain lines into `writer`.
    pub fn to_writer(
        style: Style,
        title: &str,
        live: Arc<Live>,
        writer: Box<dyn Write + Send>,
    ) -> Progress {
        Progress::begin(Output::Lines(writer), Style { color: false, ..style }, title, live)
    }

    /// Redrawn in place on any indicatif target, as wide as `style` says.
    pub fn on_target(
        style: Style,
        title: &str,
        live: Arc<Live>,
        target: ProgressDrawTarget,
    ) -> Progress {
        Progress::begin(Output::terminal(target, false), style, title, live)
    }

    fn begin(output: Output, style: Style, title: &str, live: Arc<Live>) -> Progress {
        let in_columns = matches!(output, Output::Terminal(_));
        let quiet = matches!(output, Output::Quiet);
        let mut inner = Inner { live, state: State::new(style, in_columns), output, stop: false };
        for line in frame::title(&inner.state, title) {
            inner.print(line);
        }
        let shared = Arc::new(Shared { inner: Mutex::new(inner), wake: Condvar::new() });
        let watched = shared.clone();
        // Without a thread there are no live figures, but all lines of finished phases.
        let spawn =
            || std::thread::Builder::new().name("progress".into()).spawn(move || tick(&watched));
        let ticker = if quiet { None } else { spawn().ok() };
        Progress { shared, ticker }
    }

    /// The live figures of the measuring thread.
    pub fn live(&self) -> Arc<Live> {
        self.shared.lock().live.clone()
    }

    /// Reads the figures from `live` from now on.
    pub fn watch(&self, live: &Arc<Live>) {
        self.with(|inner| inner.live = live.clone());
    }

    /// Sets the scenario, from which titles and the next tests are shown.
    pub fn scenario(&self, scenario: &Scenario) {
        self.with(|inner| inner.state.plan = Plan::of(scenario));
    }

    /// Sets the maximum bytes of the run, and its estimated time on ordinary storage.
    pub fn plan(&self, total_bytes: Bytes, estimated: Option<Nanos>) {
        self.with(|inner| inner.state.plan(total_bytes, estimated));
    }

    /// Sets the size of the filesystem under test.
    pub fn storage(&self, size: Bytes) {
        self.with(|inner| inner.state.set_storage(size));
    }

    /// Sets the bytes that the run has written, whatever wrote them.
    pub fn wrote(&self, total: Bytes) {
        self.with(|inner| inner.state.wrote(total));
    }

    /// Announces that the next phase has a background writer, with the writer's live figures.
    pub fn beside(&self, live: &Arc<Live>) {
        self.with(|inner| inner.state.beside(live));
    }

    /// Announces that the next phase fills storage of that size, if it is known: fill levels are shares
    /// of it.
    pub fn filling(&self, storage: Option<Bytes>) {
        self.with(|inner| inner.state.filling(storage));
    }

    /// Begins a phase with its expected time and the maximum bytes it may move. Resets the live
    /// figures.
    pub fn phase_started(&self, label: &str, expected: Option<Nanos>, limit_bytes: Option<Bytes>) {
        self.with(|inner| {
            inner.live.reset();
            inner.state.begin(label, expected, limit_bytes);
        });
        self.shared.wake.notify_all();
    }

    /// Ends a phase; its line stays on the screen, below those of the levels of a fill.
    pub fn phase_finished(&self, phase: &Phase) {
        self.with(|inner| {
            let ending = inner.state.finish(phase);
            for level in &ending.levels {
                inner.print(frame::level(&inner.state, level));
            }
            inner.print(frame::finished(&inner.state, &ending.title, phase));
        });
    }

    /// Prints a remark that stays on the screen: a step was skipped, a wait begins.
    pub fn note(&self, text: &str) {
        self.with(|inner| {
            for line in frame::note(&inner.state, text) {
                inner.print(line);
            }
        });
    }

    /// Shows an activity between phases ("writing the test file") until a phase begins; on a terminal
    /// only.
    pub fn preparing(&self, what: &str) {
        self.with(|inner| inner.state.preparing = Some(what.to_owned()));
        self.shared.wake.notify_all();
    }

    /// Stops drawing and clears the live part. The lines of finished phases stay.
    pub fn finished(mut self) {
        self.stop();
    }

    fn with(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.shared.lock();
        if !matches!(inner.output, Output::Quiet) {
            change(&mut inner);
        }
    }

    fn stop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.wake.notify_all();
        if let Some(ticker) = self.ticker.take() {
            // If the ticker panicked, the panic was printed; the measurement goes on.
            let _ = ticker.join();
        }
        self.shared.lock().output.clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// The state, even after a panic of another thread: it can still be drawn.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn print(&mut self, line: String) {
        self.output.print(&line);
    }

    fn tick(&mut self) {
        let (snapshot, now) = (self.live.snapshot(), Instant::now());
        let style = self.state.style;
        let due = self.state.observe(&snapshot, now);
        if let Some(line) = due.map(|fill| frame::filling(style, fill, &snapshot)) {
            self.print(line);
        }
        if let Output::Terminal(terminal) = &mut self.output {
            self.state.resize(terminal.width());
            terminal.draw(&frame::draw(&mut self.state, &snapshot, now));
        }
    }
}

/// Draws until [`Progress::stop`]. Woken early when a phase begins.
fn tick(shared: &Shared) {
    let mut inner = shared.lock();
    while !inner.stop {
        inner.tick();
        inner = match shared.wake.wait_timeout(inner, TICK) {
            Ok((inner, _)) => inner,
            Err(poisoned) => poisoned.into_inner().0,
        };
    }
}
