use flashlag_units::Bytes;

use crate::line::{Line, Page};
use crate::style::{Role, Style};
use crate::text::sanitize;

/// Something that went wrong, for a person: what happened, the numbers, what to do, and whether
/// anything was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// What happened, in a line, without a full stop: `not enough free space to fill /data`.
    pub what: String,
    /// The numbers and names behind it, a line each: `needs 21.4 GB free, has 3.2 GB`.
    pub numbers: Vec<String>,
    /// What to do, in a sentence or two.
    pub advice: String,
    /// Commands to try, as they would be typed.
    pub commands: Vec<String>,
    /// What it left behind.
    pub written: Written,
}

/// What a command that failed left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Written {
    /// It is not a command that writes.
    #[default]
    DoesNotWrite,
    /// Nothing.
    Nothing,
    /// So much, and it was removed.
    Removed(Bytes),
    /// So much is still there.
    Left {
        /// How much.
        bytes: Bytes,
        /// Where.
        directory: String,
    },
    /// So much was removed, and the phases that were done are in a file.
    Kept {
        /// How much was removed.
        removed: Bytes,
        /// The run file.
        run: String,
    },
}

/// A problem as text for standard error.
pub fn problem(problem: &Problem, style: Style) -> String {
    let mut page = Page::new(style);
    let mut head = Line::new(style);
    head.add(Role::Late, "flashlag: ");
    page.hanging(&head, 10, Role::Strong, &sanitize(&problem.what));
    let indent = Line::new(style);
    for number in &problem.numbers {
        page.hanging(&indent, 2, Role::Ink, &sanitize(number));
    }
    if !problem.advice.is_empty() {
        page.hanging(&indent, 2, Role::Ink, &sanitize(&problem.advice));
    }
    for command in &problem.commands {
        page.hanging(&indent, 4, Role::Strong, &sanitize(command));
    }
    if let Some(text) = written(&problem.written) {
        page.hanging(&indent, 2, Role::Ink, &sanitize(&text));
    }
    page.finish()
}

fn written(written: &Written) -> Option<String> {
    Some(match written {
        Written::DoesNotWrite => return None,
        Written::Nothing | Written::Removed(Bytes::ZERO) => "Nothing was written.".to_owned(),
        Written::Removed(bytes) => format!("{bytes} had been written and is removed again."),
        Written::Left { bytes, directory } => format!(
            "{bytes} of ours is still in {directory}. To remove it: flashlag clean {directory}"
        ),
        Written::Kept { removed: Bytes::ZERO, run } => {
            format!("The phases that were done are in {run}.")
        }
        Written::Kept { removed, run } => {
            format!("The phases that were done are in {run}; {removed} was removed again.")
        }
    })
}
