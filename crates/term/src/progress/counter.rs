//! A progress line for counted work, such as simulations.

use std::time::{Duration, Instant};

use flashlag_units::printable_line;

use super::output::Output;
use super::{ProgressMode, on_stderr};

/// Delay before the first drawing: most work is done by then.
const SILENT: Duration = Duration::from_secs(1);
/// Minimum time between two drawings in place.
const REDRAWN: Duration = Duration::from_millis(200);
/// Minimum time between two lines of a log.
const ANOTHER_LINE: Duration = Duration::from_secs(10);

/// A progress line on standard error for work that takes longer than a second: redrawn in place on a
/// terminal, a line every ten seconds otherwise, nothing when quiet.
#[derive(Debug)]
pub struct Counter {
    mode: ProgressMode,
    /// The drawing in place, from the first one until it is cleared.
    output: Option<Output>,
    began: Instant,
    shown: Option<Instant>,
}

impl Counter {
    /// A counter whose work begins now.
    pub fn new(mode: ProgressMode) -> Counter {
        Counter { mode, output: None, began: Instant::now(), shown: None }
    }

    /// Shows `words` if a drawing is due.
    pub fn show(&mut self, words: impl FnOnce() -> String) {
        if self.is_due() {
            let line = printable_line(&words());
            match self.output() {
                Output::Terminal(terminal) => terminal.draw(&[line]),
                other => other.print(&line),
            }
        }
    }

    /// Shows lines if a drawing is due; in a log one line instead.
    pub fn show_lines(
        &mut self,
        line: impl FnOnce() -> String,
        lines: impl FnOnce() -> Vec<String>,
    ) {
        if self.is_due() {
            match self.output() {
                Output::Terminal(terminal) => {
                    let lines = lines().iter().map(|line| printable_line(line)).collect::<Vec<_>>();
                    terminal.draw(&lines);
                }
                other => other.print(&printable_line(&line())),
            }
        }
    }

    fn is_due(&mut self) -> bool {
        let every = match self.mode {
            ProgressMode::Quiet => return false,
            ProgressMode::Terminal(_) => REDRAWN,
            ProgressMode::Lines(_) => ANOTHER_LINE,
        };
        let now = Instant::now();
        let is_due = self.shown.is_none_or(|shown| now.duration_since(shown) >= every);
        let shows = is_due && now.duration_since(self.began) >= SILENT;
        if shows {
            self.shown = Some(now);
        }
        shows
    }

    fn output(&mut self) -> &mut Output {
        self.output.get_or_insert_with(|| on_stderr(self.mode))
    }

    /// Clears the line, before something else is printed.
    pub fn clear(&mut self) {
        if let Some(mut output) = self.output.take() {
            output.clear();
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_shows_nothing_and_words_are_not_even_made() {
        let mut counter = Counter::new(ProgressMode::Lines(crate::Style::PLAIN));
        counter.show(|| panic!("shown within a second"));
        counter.clear();
        let mut quiet = Counter::new(ProgressMode::Quiet);
        quiet.began -= SILENT * 2;
        quiet.show(|| panic!("shown though quiet"));
    }

    #[test]
    fn long_work_shows_a_line_and_the_next_one_later() {
        let mut counter = Counter::new(ProgressMode::Lines(crate::Style::PLAIN));
        counter.output = Some(Output::Quiet);
        counter.began -= SILENT * 2;
        let mut made = 0;
        for _ in 0..3 {
            counter.show(|| {
                made += 1;
                String::new()
            });
        }
        assert_eq!(made, 1);
    }
}
