//! What is told on standard error while simulations go on for longer than a moment.

use std::io::Write;
use std::time::{Duration, Instant};

use flashlag_runner::{Event, Observer};
use flashlag_term::ProgressMode;
use flashlag_units::printable_line;

/// Nobody wonders for less than this.
const SILENT: Duration = Duration::from_secs(1);
/// In place, at most so often.
const REDRAWN: Duration = Duration::from_millis(200);
/// A new line, at most so often.
const ANOTHER_LINE: Duration = Duration::from_secs(10);

/// Counts simulations and their days aloud.
#[derive(Debug)]
pub struct Waiting {
    mode: ProgressMode,
    what: String,
    of: Option<usize>,
    done: usize,
    day: Option<(usize, usize)>,
    phase: String,
    began: Instant,
    told: Option<Instant>,
    /// How wide what stands on the terminal is.
    drawn: usize,
}

impl Waiting {
    /// For simulations of `what`, so many where that is known.
    pub fn new(mode: ProgressMode, what: &str, of: Option<usize>) -> Waiting {
        Waiting {
            mode,
            what: what.to_owned(),
            of,
            done: 0,
            day: None,
            phase: String::new(),
            began: Instant::now(),
            told: None,
            drawn: 0,
        }
    }

    /// A simulation is done.
    pub fn simulated(&mut self) {
        self.done += 1;
        self.day = None;
        self.phase.clear();
        self.tell();
    }

    /// A day of at most so many begins.
    pub fn day(&mut self, day: usize, of: usize) {
        self.day = Some((day.min(of), of));
        self.tell();
    }

    /// Wipes what stands on the terminal, before something else is printed there.
    pub fn clear(&mut self) {
        if self.drawn > 0 {
            let _ = write!(std::io::stderr().lock(), "\r{:1$}\r", "", self.drawn);
            self.drawn = 0;
        }
    }

    fn words(&self) -> String {
        let of = self.of.map(|of| format!(" of {of}")).unwrap_or_default();
        let mut words = format!("{}: simulation {}{of}", self.what, self.done + 1);
        if let Some((day, of)) = self.day {
            words.push_str(&format!(", day {day} of at most {of}"));
        } else if !self.phase.is_empty() {
            words.push_str(&format!(", {}", self.phase));
        }
        words
    }

    fn tell(&mut self) {
        let every = match self.mode {
            ProgressMode::Quiet => return,
            ProgressMode::Terminal(_) => REDRAWN,
            ProgressMode::Lines(_) => ANOTHER_LINE,
        };
        let now = Instant::now();
        let since = |then: Option<Instant>| then.map(|then| now.duration_since(then));
        let due = since(self.told).is_none_or(|since| since >= every);
        if now.duration_since(self.began) < SILENT || !due {
            return;
        }
        self.told = Some(now);
        let words = printable_line(&self.words());
        // Nobody may look any more.
        let mut to = std::io::stderr().lock();
        let _ = match self.mode {
            ProgressMode::Terminal(_) => {
                let blank = self.drawn.saturating_sub(words.chars().count());
                self.drawn = words.chars().count();
                write!(to, "\r{words}{:blank$}", "")
            }
            _ => writeln!(to, "{words}"),
        };
    }
}

impl Observer for Waiting {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::PhaseStarted { label, .. } => label.clone_into(&mut self.phase),
            Event::Preparing(what) => what.clone_into(&mut self.phase),
            _ => {}
        }
        self.tell();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.clear();
    }
}
