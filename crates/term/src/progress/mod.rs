//! Live progress on standard error: redrawn in place on a terminal, one plain line for each
//! finished phase where it is piped, nothing when quiet.
//!
//! The measuring thread only stores into [`Live`]; a thread of our own reads it, at most five
//! times a second, and formats.

mod counter;
mod frame;
mod output;
mod pace;
mod plan;
mod state;

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flashlag_schema::Phase;
use flashlag_schema::scenario::Scenario;
use flashlag_stats::live::Live;
use flashlag_units::{Bytes, Nanos};
use indicatif::ProgressDrawTarget;
use rustix::termios::isatty;

use crate::style::{Style, is_dumb};
pub use counter::Counter;
use output::Output;
use plan::Plan;
use state::State;

/// At most five drawings a second.
const TICK: Duration = Duration::from_millis(200);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressMode {
    /// Redrawn in place.
    Terminal(Style),
    /// One line for each event: no colour, no cursor movement.
    Lines(Style),
    /// Not at all.
    Quiet,
}

impl ProgressMode {
    /// What suits standard error: [`ProgressMode::Quiet`] where asked for, in place on a terminal
    /// that can do it, else lines.
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

/// Standard error as `mode` says.
fn on_stderr(mode: ProgressMode) -> Output {
    match mode {
        ProgressMode::Quiet => Output::Quiet,
        ProgressMode::Lines(_) => Output::Lines(Box::new(std::io::stderr())),
        ProgressMode::Terminal(_) => Output::terminal(ProgressDrawTarget::stderr_with_hz(5), true),
    }
}

/// Progress of one run. Drive it with the runner's events; give [`Progress::live`] to whatever
/// measures. Dropping it leaves the terminal as it was found.
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
    /// Progress on standard error. `title` says what is run and where, and is shown at once.
    pub fn new(mode: ProgressMode, title: &str) -> Progress {
        Progress::watching(mode, title, Arc::new(Live::default()))
    }

    /// As [`Progress::new`], for a [`Live`] that exists already.
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
        // Without a thread there is no live figure, but every line of the end of a phase.
        let spawn =
            || std::thread::Builder::new().name("progress".into()).spawn(move || tick(&watched));
        let ticker = if quiet { None } else { spawn().ok() };
        Progress { shared, ticker }
    }

    /// Where the measuring thread leaves its figures.
    pub fn live(&self) -> Arc<Live> {
        self.shared.lock().live.clone()
    }

    /// From now on the figures are read from `live`.
    pub fn watch(&self, live: &Arc<Live>) {
        self.with(|inner| inner.live = live.clone());
    }

    /// What will be done, so that the words fit and what is still to come can be shown.
    pub fn scenario(&self, scenario: &Scenario) {
        self.with(|inner| inner.state.plan = Plan::of(scenario));
    }

    /// What the whole run will write at most, and how long it will take on ordinary storage.
    pub fn plan(&self, total_bytes: Bytes, estimated: Option<Nanos>) {
        self.with(|inner| inner.state.plan(total_bytes, estimated));
    }

    /// The size of the filesystem under test.
    pub fn storage(&self, size: Bytes) {
        self.with(|inner| inner.state.set_storage(size));
    }

    /// The run has written this much by now, whatever wrote it.
    pub fn wrote(&self, total: Bytes) {
        self.with(|inner| inner.state.wrote(total));
    }

    /// The phase that begins next has a writer beside it, which shows its progress there.
    pub fn beside(&self, live: &Arc<Live>) {
        self.with(|inner| inner.state.beside(live));
    }

    /// The phase that begins next fills storage of that size, where it is known: its levels are
    /// shares of it.
    pub fn filling(&self, storage: Option<Bytes>) {
        self.with(|inner| inner.state.filling(storage));
    }

    /// A phase begins. `expected` is how long it should take, `limit_bytes` the most it may move.
    /// Forgets the figures of the phase before.
    pub fn phase_started(&self, label: &str, expected: Option<Nanos>, limit_bytes: Option<Bytes>) {
        self.with(|inner| {
            inner.live.reset();
            inner.state.begin(label, expected, limit_bytes);
        });
        self.shared.wake.notify_all();
    }

    /// A phase ended; its line stays on the screen, below those of the levels of a fill.
    pub fn phase_finished(&self, phase: &Phase) {
        self.with(|inner| {
            let ending = inner.state.finish(phase);
            for level in &ending.levels {
                inner.print(frame::level(&inner.state, level));
            }
            inner.print(frame::finished(&inner.state, &ending.title, phase));
        });
    }

    /// A remark that stays on the screen: a step skipped, a wait begun.
    pub fn note(&self, text: &str) {
        self.with(|inner| {
            for line in frame::note(&inner.state, text) {
                inner.print(line);
            }
        });
    }

    /// Something that is no phase is done now ("writing the test file"): shown on a terminal until
    /// a phase begins. A log gets a line for each phase that ended, not this.
    pub fn preparing(&self, what: &str) {
        self.with(|inner| inner.state.preparing = Some(what.to_owned()));
        self.shared.wake.notify_all();
    }

    /// Stops drawing and takes the live part off the screen. What was finished stays.
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
            // A ticker that panicked has printed why; the measurement goes on.
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
    /// What a panic elsewhere left is still good to draw.
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

/// Draws until told to stop. Woken early where a phase begins.
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
