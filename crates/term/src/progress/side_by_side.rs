use super::output::Output;
use super::{ProgressMode, on_stderr};
use crate::style::Style;

/// Progress of runs that go on side by side: one line for each, redrawn in place on a terminal.
#[derive(Debug)]
pub struct SideBySide {
    output: Output,
    style: Style,
    lines: Vec<(String, String)>,
}

impl SideBySide {
    /// A line for each name, on standard error.
    pub fn new(mode: ProgressMode, names: &[String]) -> SideBySide {
        let style = match mode {
            ProgressMode::Terminal(style) | ProgressMode::Lines(style) => style,
            ProgressMode::Quiet => Style::PLAIN,
        };
        let lines = names.iter().map(|name| (name.clone(), String::new())).collect();
        SideBySide { output: on_stderr(mode), style, lines }
    }

    /// Shows what a run does now.
    pub fn show(&mut self, index: usize, text: &str) {
        let Some(line) = self.lines.get_mut(index) else { return };
        text.clone_into(&mut line.1);
        let said = format!("{}: {text}", line.0);
        match &mut self.output {
            Output::Terminal(terminal) => {
                let whole = self.lines.iter().map(|(name, text)| format!("{name}: {text}"));
                let width = self.style.width;
                terminal.draw(
                    &whole.map(|line| line.chars().take(width).collect()).collect::<Vec<_>>(),
                );
            }
            other => other.print(&said),
        }
    }

    /// Clears the lines from a terminal.
    pub fn finished(mut self) {
        self.output.clear();
    }
}
