//! Reports for a terminal of 100 columns.

mod change;
mod check;
mod fit;
mod table;

use flashlag_units::line_words;

pub use change::{forecast, sweep};
pub use check::check;
pub use fit::{fit, tuned};

/// What a terminal has at least.
const WIDTH: usize = 100;

/// Three significant digits: `0.45`, `10.6`, `183`.
fn number(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if !value.is_finite() => return "-".to_owned(),
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 || size == 0.0 => 2,
        _ if size >= 0.1 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

/// A change with its sign: `+4.2`, `-31`.
fn signed(value: f64) -> String {
    if value.abs() >= 99.5 { format!("{value:+.0}") } else { format!("{value:+.1}") }
}

/// A share as a percentage: `0.3%`, `31%`, `more than 100%` where it says little.
fn percent(share: f64) -> String {
    if share.is_finite() && share <= 1.0 {
        flashlag_units::percent(share)
    } else {
        "more than 100%".to_owned()
    }
}

/// What must be read before anything else.
fn warned(warnings: &[String], text: &mut String) {
    for warning in warnings {
        text.push_str(&wrapped(warning, "Warning: ", 2));
    }
    if !warnings.is_empty() {
        text.push('\n');
    }
}

/// Words over as many lines as they need, each line after the first indented.
fn wrapped(text: &str, first: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut length = first.chars().count();
    let mut empty = true;
    for word in line_words(text) {
        let wide = word.chars().count();
        if !empty && length + 1 + wide > WIDTH {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = " ".repeat(indent);
            length = indent;
            empty = true;
        }
        if !empty {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += wide;
        empty = false;
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
}
