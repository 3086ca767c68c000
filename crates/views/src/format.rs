//! Numbers as text, the same in every view: milliseconds in columns, one unit per column; shares;
//! rates. None is padded: views lay out columns.

use flashlag_stats::Percentile;
use flashlag_units::{Bytes, Nanos};

/// The text of a percentile with too few values beyond it.
pub const TOO_FEW: &str = "n too small";
/// The text of a missing value.
pub const NONE: &str = "-";

/// Milliseconds for a column, without the unit: `0.004`, `0.61`, `2.6`, `124`, `1,102`.
pub fn ms(value: Nanos) -> String {
    let millis = value.as_millis_f64();
    match millis {
        _ if value == Nanos::ZERO => "0".to_owned(),
        _ if millis < 0.0995 => format!("{millis:.3}"),
        _ if millis < 0.995 => format!("{millis:.2}"),
        _ if millis < 9.95 => format!("{millis:.1}"),
        _ => count(millis.round() as u64),
    }
}

/// As [`ms`], for an optional percentile: `n too small`, or `-` if nothing was measured.
pub fn ms_of(value: Option<Nanos>, n: u64) -> String {
    match value {
        Some(value) => ms(value),
        None if n > 0 => TOO_FEW.to_owned(),
        None => NONE.to_owned(),
    }
}

/// Seconds of waiting of a thousand operations: `39 s`, `4.1 s`, `0.12 s`.
pub fn seconds(value: f64) -> String {
    match value {
        v if !v.is_finite() || v < 0.0 => NONE.to_owned(),
        v if v < 0.995 => format!("{v:.2} s"),
        v if v < 9.95 => format!("{v:.1} s"),
        v => format!("{} s", count(v.round() as u64)),
    }
}

/// A time in running text, in a suitable unit: `85 ns`, `17 µs`, `2.6 ms`, `4.6 s`.
pub fn time(value: Nanos) -> String {
    value.to_string()
}

pub use flashlag_units::{count, mb_per_s, percent as share, rate};

/// `part` of `whole` as [`share`]; `-` if `whole` is 0.
pub fn share_of(part: u64, whole: u64) -> String {
    flashlag_units::ratio(part, whole).map_or_else(|| NONE.to_owned(), share)
}

/// Whole operations a second for a column; below ten with one decimal.
pub fn per_second(ops_per_sec: f64) -> String {
    match ops_per_sec {
        v if !v.is_finite() || v < 0.0 => NONE.to_owned(),
        0.0 => "0".to_owned(),
        v if v < 9.95 => format!("{v:.1}"),
        v => count(v.round() as u64),
    }
}

/// A ratio: `1.03×`, `2.3×`, `137×`, `1,013×`.
pub fn times(ratio: f64) -> String {
    format!("{}×", ratio_bare(ratio))
}

/// As [`times`] without the sign, for intervals: `(117 to 160)`.
pub fn ratio_bare(ratio: f64) -> String {
    match ratio {
        v if !v.is_finite() || v < 0.0 => NONE.to_owned(),
        v if v < 0.0995 => small(v),
        v if v < 1.995 => format!("{v:.2}"),
        v if v < 9.95 => format!("{v:.1}"),
        v => count(v.round() as u64),
    }
}

/// A ratio and its interval, with as many digits as distinguish the ends from the ratio, at most three:
/// `6.8×` and `6.7 to 6.9`; `15.2×` and `15.1 to 15.3`. No interval where three digits do not
/// distinguish its ends from the ratio, as between simulations that hardly vary.
pub fn ratio_with_interval(ratio: f64, low: f64, high: f64) -> (String, Option<String>) {
    let plain = [ratio, low, high].map(ratio_bare);
    let [value, from, to] = if plain[0] == plain[1] || plain[0] == plain[2] {
        [ratio, low, high].map(three_digits)
    } else {
        plain
    };
    let interval = (from != value || to != value).then(|| format!("{from} to {to}"));
    (format!("{value}×"), interval)
}

/// Three digits after the zeros, however many those are: `0.0123`, `0.000457`.
fn small(value: f64) -> String {
    let zeros = if value > 0.0 { (-value.log10()).floor().clamp(0.0, 30.0) as usize } else { 0 };
    format!("{value:.*}", zeros + 3)
}

fn three_digits(value: f64) -> String {
    match value {
        v if !v.is_finite() || v < 0.0 => NONE.to_owned(),
        v if v < 0.0995 => small(v),
        v if v < 0.9995 => format!("{v:.3}"),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => count(v.round() as u64),
    }
}

/// A size in running text: `300 MB`, `1.5 GB`.
pub fn size(bytes: Bytes) -> String {
    bytes.to_string()
}

/// The name of a percentile: `p50`, `p99`, `p99.9`.
pub fn percentile(percentile: Percentile) -> String {
    let (whole, fraction) = (percentile.0 / 100, percentile.0 % 100);
    match fraction {
        0 => format!("p{whole}"),
        f if f % 10 == 0 => format!("p{whole}.{}", f / 10),
        f => format!("p{whole}.{f:02}"),
    }
}

/// A list in a sentence: `Trimmed`, `Trimmed and Idle`, `New, Trimmed and Idle`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1 check fails`, `2 checks fail`: a count with its noun and verb.
pub fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(n as u64), if n == 1 { one } else { many })
}

/// A small count at the beginning of a sentence: `Two`, `Three`, `12`.
pub(crate) fn counted(n: usize) -> String {
    match n {
        1 => "One".to_owned(),
        2 => "Two".to_owned(),
        3 => "Three".to_owned(),
        4 => "Four".to_owned(),
        5 => "Five".to_owned(),
        6 => "Six".to_owned(),
        more => count(more as u64),
    }
}

/// A limit of waits; one frame at 60 Hz with two decimals.
pub fn limit(limit: Nanos) -> String {
    if limit == flashlag_schema::Lag::FRAME_60HZ { "16.67 ms".to_owned() } else { time(limit) }
}

/// A text with its first letter in lower case, unless the first word is an abbreviation (`O_DIRECT`, `WAL`).
pub fn decapitalized(text: &str) -> String {
    let mut letters = text.chars();
    let (first, second) = (letters.next(), letters.next());
    match (first, second) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().collect::<String>() + &text[first.len_utf8()..]
        }
        _ => text.to_owned(),
    }
}

/// A text with exactly one full stop at its end.
pub(crate) fn sentence_of(text: &str) -> String {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.ends_with('.') {
        trimmed.to_owned()
    } else {
        format!("{trimmed}.")
    }
}

/// A text with its first letter in upper case.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
