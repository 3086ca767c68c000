//! The time at the start of a strace line.

use flashlag_units::Nanos;

use super::super::text::seconds;

/// Columns in which strace prints the seconds since the previous line.
pub(super) const RELATIVE_WIDTH: usize = 6;
/// Seconds since 1970 have at least this many digits (since 1973).
const UNIX_DIGITS: usize = 9;

/// A time as printed in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// From midnight (`-t`, `-tt`).
    Clock(Nanos),
    /// From 1970 (`-ttt`).
    Unix(Nanos),
    /// A few seconds: since the previous line (`-r`), or as another program rewrote them.
    Small {
        t: Nanos,
        /// Whether it is right-aligned, as strace prints it.
        is_padded: bool,
    },
}

impl Stamp {
    /// The time at the start of a text, and the rest: `12:34:56.789012 `, `1700000000.789012 `, `
    /// 0.000102 `, `12:34:56 (+     0.000102) `.
    pub(super) fn of(rest: &str) -> (Option<Stamp>, &str) {
        let text = rest.trim_start_matches(' ');
        let Some((word, after)) = text.split_once(' ') else { return (None, rest) };
        let is_padded = rest.len() - text.len() + whole_digits(word) >= RELATIVE_WIDTH;
        let stamp = if word.contains(':') { clock(word) } else { number(word, is_padded) };
        let Some(stamp) = stamp else { return (None, rest) };
        let after = after.trim_start_matches(' ');
        let since = after.strip_prefix("(+").and_then(|inner| inner.split_once(") "));
        match since.filter(|(since, _)| seconds(since.trim()).is_some()) {
            Some((_, after)) => (Some(stamp), after),
            None => (Some(stamp), after),
        }
    }

    /// The printed time.
    pub(super) fn time(self) -> Nanos {
        match self {
            Stamp::Clock(t) | Stamp::Unix(t) | Stamp::Small { t, .. } => t,
        }
    }
}

fn whole_digits(word: &str) -> usize {
    word.bytes().take_while(u8::is_ascii_digit).count()
}

fn number(word: &str, is_padded: bool) -> Option<Stamp> {
    let digits = whole_digits(word);
    let t = seconds(word)?;
    match digits {
        UNIX_DIGITS.. => Some(Stamp::Unix(t)),
        // A whole number alone could be anything, for example a thread number.
        _ if word.contains('.') || is_padded => Some(Stamp::Small { t, is_padded }),
        _ => None,
    }
}

fn clock(word: &str) -> Option<Stamp> {
    let mut parts = word.split(':');
    let (Some(hours), Some(minutes), Some(rest), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let two = |text: &str| text.parse::<u64>().ok().filter(|_| text.len() == 2);
    let whole = two(hours)?.checked_mul(3600)?.checked_add(two(minutes)?.checked_mul(60)?)?;
    Some(Stamp::Clock(Nanos::from_secs(whole).plus(seconds(rest)?)))
}

/// Whether the small times at a file's beginning are relative to the previous line: they are
/// right-aligned as strace prints such times, or one is less than the one before.
pub(super) fn are_relative(small: impl Iterator<Item = (Nanos, bool)>) -> bool {
    let mut last = Nanos::ZERO;
    let mut any_padded = false;
    for (t, is_padded) in small {
        any_padded |= is_padded;
        if any_padded || t < last {
            return true;
        }
        last = t;
    }
    false
}
