use std::fmt;
use std::io::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::termios::tcgetwinsize;

/// The destination of lines.
pub(super) enum Output {
    Terminal(Terminal),
    Lines(Box<dyn Write + Send>),
    Quiet,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Output::Terminal(_) => "Terminal",
            Output::Lines(_) => "Lines",
            Output::Quiet => "Quiet",
        })
    }
}

/// Lines at the bottom of the screen, redrawn in place. The cursor is never hidden and no terminal
/// mode is changed, so only the lines themselves need to be cleared.
pub(super) struct Terminal {
    bar: ProgressBar,
    is_stderr: bool,
}

impl Output {
    pub(super) fn terminal(target: ProgressDrawTarget, is_stderr: bool) -> Output {
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        if is_stderr {
            leave_drawing_on_panic();
        }
        Output::Terminal(Terminal { bar, is_stderr })
    }

    /// Prints a line that stays.
    pub(super) fn print(&mut self, line: &str) {
        match self {
            Output::Terminal(terminal) => terminal.bar.println(line),
            // The pipe was closed on purpose.
            Output::Lines(writer) => {
                let _ = writeln!(writer, "{line}").and_then(|()| writer.flush());
            }
            Output::Quiet => {}
        }
    }

    /// Clears the redrawn lines.
    pub(super) fn clear(&mut self) {
        if let Output::Terminal(terminal) = self {
            terminal.bar.finish_and_clear();
            DRAWN.store(false, Ordering::Relaxed);
        }
    }
}

impl Terminal {
    pub(super) fn draw(&mut self, lines: &[String]) {
        if self.bar.is_finished() {
            return;
        }
        DRAWN.store(self.is_stderr && !lines.is_empty(), Ordering::Relaxed);
        self.bar.set_message(lines.join("\n"));
        self.bar.tick();
    }

    /// The current width, if it is known: the window may have been resized.
    pub(super) fn width(&self) -> Option<usize> {
        let size = self.is_stderr.then(|| tcgetwinsize(rustix::stdio::stderr()).ok())??;
        Some(usize::from(size.ws_col)).filter(|width| *width > 0)
    }
}

/// Whether redrawn lines are on the screen.
static DRAWN: AtomicBool = AtomicBool::new(false);

/// A panic hook that gives the message a line of its own, in the terminal's default colours; a panic
/// may abort, so that nothing is dropped. Takes no lock: the panicking thread may hold any.
fn leave_drawing_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if DRAWN.swap(false, Ordering::Relaxed) {
                let _ = rustix::io::write(rustix::stdio::stderr(), b"\x1b[0m\r\n");
            }
            before(panic);
        }));
    });
}
