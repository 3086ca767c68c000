//! Formats of figures without a unit of their own, the same in every command: percentages, counts,
//! rates.

use crate::Nanos;

/// Text for a missing value.
const NONE: &str = "-";

/// A share as a percentage: `0%`, `0.02%`, `0.7%`, `9.9%`, `14%`, `100%`, `250%`. `0%` and `100%`
/// are exact: other shares are never rounded to them.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if !percent.is_finite() => NONE.to_owned(),
        p if p <= 0.0 => "0%".to_owned(),
        p if p < 0.005 => "<0.01%".to_owned(),
        p if p < 0.095 => format!("{p:.2}%"),
        p if p < 9.95 => format!("{p:.1}%"),
        p if p < 99.5 => format!("{p:.0}%"),
        p if p < 100.0 => format!("{:.1}%", p.min(99.9)),
        p => format!("{p:.0}%"),
    }
}

/// As [`percent`], with a minus sign before a share below 0: `-4.2%`.
pub fn signed_percent(share: f64) -> String {
    let size = percent(share.abs());
    if share < 0.0 { format!("-{size}") } else { size }
}

/// A whole number with thousands separated: `12,000`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of things: `1 process`, `12,000 processes`.
pub fn counted(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

/// Two or three significant digits, never an exponent: `0.0052`, `0.066`, `0.11`, `4.31`, `41.7`,
/// `238`, `1,640`.
pub fn rate(value: f64) -> String {
    match value {
        v if !v.is_finite() || v < 0.0 => NONE.to_owned(),
        0.0 => "0".to_owned(),
        v if v < 0.009_95 => format!("{v:.4}"),
        v if v < 0.0995 => format!("{v:.3}"),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => count(v.round() as u64),
    }
}

/// Megabytes (10^6) per second, without the unit, so that two rates share one unit: `0.84`.
pub fn mb_per_s(bytes_per_sec: f64) -> String {
    rate(bytes_per_sec / 1e6)
}

/// `count` per second of `elapsed`; `None` if no time has passed.
pub fn per_second(count: u64, elapsed: Nanos) -> Option<f64> {
    (elapsed.0 > 0).then(|| count as f64 * 1e9 / elapsed.0 as f64)
}

/// `part / whole`; `None` if `whole` is zero.
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_two_digits_and_never_rounds_to_none_or_all() {
        let shares = [0.0, 1e-6, 0.0002, 0.0065, 0.097, 0.0996, 0.95, 0.9999, 1.0, 2.5, f64::NAN];
        let printed = shares.map(percent).join(" ");
        assert_eq!(printed, "0% <0.01% 0.02% 0.7% 9.7% 10% 95% 99.9% 100% 250% -");
    }

    #[test]
    fn two_rates_of_a_sentence_are_in_one_unit() {
        assert_eq!(
            format!("{} to {} MB/s", mb_per_s(1.29e6), mb_per_s(836e3)),
            "1.29 to 0.84 MB/s"
        );
        assert_eq!([0.0, 5.2e3, 10.6e6, 1.64e9].map(mb_per_s).join(" "), "0 0.0052 10.6 1,640");
    }
}
