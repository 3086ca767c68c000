//! Line breaking: never between a number and its unit.

/// Units that follow a number and a space.
const UNITS: [&str; 28] = [
    "ns",
    "µs",
    "us",
    "ms",
    "s",
    "min",
    "h",
    "d",
    "mo",
    "B",
    "kB",
    "MB",
    "GB",
    "TB",
    "KiB",
    "MiB",
    "GiB",
    "Hz",
    "kHz",
    "MHz",
    "GHz",
    "B/s",
    "kB/s",
    "MB/s",
    "GB/s",
    "saves/s",
    "operations/s",
    "°C",
];

/// The words of `text` between which a line may break: split at spaces, except for the space
/// between a number and its unit (`4 KiB`, `1 min 26 s`) and those of `n = 1,000` and `1 in 100`.
/// Spaces within such a word are kept; others are dropped.
pub fn line_words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start_matches(' ');
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = word_end(rest, 0);
        loop {
            let next = end + rest[end..].len() - rest[end..].trim_start_matches(' ').len();
            if next >= rest.len() || !belongs(&rest[..end], &rest[next..]) {
                break;
            }
            end = word_end(rest, next);
        }
        let word = &rest[..end];
        rest = rest[end..].trim_start_matches(' ');
        Some(word)
    })
}

fn word_end(text: &str, from: usize) -> usize {
    text[from..].find(' ').map_or(text.len(), |length| from + length)
}

/// Whether `rest` must start on the line on which `before` ends.
fn belongs(before: &str, rest: &str) -> bool {
    let last = before.rsplit(' ').next().unwrap_or(before);
    let next = &rest[..word_end(rest, 0)];
    let bare = next.trim_end_matches(|c: char| !c.is_alphanumeric());
    let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let ends_in_digit = last.ends_with(|c: char| c.is_ascii_digit());
    match last {
        // `1 min 26 s`, `2 h 05 min`.
        "min" | "h" => before.contains(' ') && number(next) && has_unit(rest),
        "n" => next == "=",
        "=" => number(next) && before.ends_with("n ="),
        "in" => number(next) && before.ends_with("1 in"),
        "1" if next == "in" => rest[word_end(rest, 0)..].trim_start().starts_with('1'),
        _ => ends_in_digit && UNITS.contains(&bare),
    }
}

/// Whether `text` starts with a number and its unit.
fn has_unit(text: &str) -> bool {
    let unit = text.split(' ').filter(|word| !word.is_empty()).nth(1).unwrap_or_default();
    UNITS.contains(&unit.trim_end_matches(|c: char| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        let words = |text| line_words(text).collect::<Vec<_>>().join("|");
        assert_eq!(
            words("5.4% of 4 KiB writes miss a 60 Hz frame"),
            "5.4%|of|4 KiB|writes|miss|a|60 Hz|frame"
        );
        assert_eq!(words("in 1 min 26 s, or 2 h 05 min."), "in|1 min 26 s,|or|2 h 05 min.");
        assert_eq!(
            words("n = 3,506 each; 1 in 100 took (12 ms)"),
            "n = 3,506|each;|1 in 100|took|(12 ms)"
        );
        assert_eq!(words("  run 1 has 15 of  them in 3 steps "), "run|1|has|15|of|them|in|3|steps");
        assert_eq!(
            words("from 10.6 to 1.29 MB/s after 13 GB: 1 in two"),
            "from|10.6|to|1.29 MB/s|after|13 GB:|1|in|two"
        );
        assert_eq!(words(""), "");
    }

    #[test]
    fn nothing_is_lost_but_spaces() {
        for text in
            ["a  b", "1 s 2 ms", "min 5 s", "n = n", "1 in", "= 3", "µ 1 µs", "\u{a0} 4 KiB"]
        {
            let all: String = line_words(text).collect::<String>().replace(' ', "");
            assert_eq!(all, text.replace(' ', ""), "{text}");
        }
    }
}
