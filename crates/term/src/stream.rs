//! What the terminal or file is capable of that a stream leads to.

use std::env;
use std::os::fd::AsFd;

use rustix::termios::{isatty, tcgetwinsize};

use crate::style::Style;

impl Style {
    /// The capabilities of standard output.
    pub fn of_stdout() -> Style {
        Style::of(rustix::stdio::stdout())
    }

    /// The capabilities of standard error.
    pub fn of_stderr() -> Style {
        Style::of(rustix::stdio::stderr())
    }

    /// The capabilities of a stream: colour on a terminal that is not `dumb`, unless `NO_COLOR` is
    /// set (<https://no-color.org>); the terminal's width, or `COLUMNS`, or 80; Unicode if the
    /// locale is UTF-8.
    pub fn of(stream: impl AsFd) -> Style {
        let terminal = isatty(&stream);
        let size = if terminal { tcgetwinsize(&stream).ok() } else { None };
        let columns = size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
        let asked = || env::var("COLUMNS").ok()?.parse().ok().filter(|width| *width > 0);
        Style {
            width: columns.or_else(asked).unwrap_or(80).clamp(Style::NARROWEST, 400),
            color: terminal && !is_dumb() && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
            unicode: locale_is_utf8(|name| env::var(name).ok()),
        }
    }
}

/// Whether `TERM` is `dumb` or unset.
pub(crate) fn is_dumb() -> bool {
    env::var("TERM").is_ok_and(|term| term == "dumb")
}

/// The first of `LC_ALL`, `LC_CTYPE`, `LANG` that is set decides, as in the C library.
fn locale_is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_locale_variable_that_is_set_decides() {
        let environment = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                let found = pairs.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            }
        };
        assert!(locale_is_utf8(environment(&[("LANG", "de_DE.UTF-8")])));
        assert!(locale_is_utf8(environment(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")])));
        assert!(!locale_is_utf8(environment(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")])));
        assert!(!locale_is_utf8(environment(&[])));
    }
}
