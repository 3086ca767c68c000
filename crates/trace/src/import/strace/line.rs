//! A line of strace: a number, a time, a call with its arguments, what it returned and how long it took.

use flashlag_units::Nanos;

use super::super::text::seconds;

/// A line.
#[derive(Debug, PartialEq)]
pub(super) struct Line<'a> {
    /// The thread's number; absent where strace followed one thread only.
    pub(super) tid: Option<u32>,
    /// The thread's name (`-Y`).
    pub(super) name: Option<&'a str>,
    /// The time, from midnight (`-t`, `-tt`) or from 1970 (`-ttt`).
    pub(super) t: Option<Nanos>,
    pub(super) what: What<'a>,
}

/// What a line says.
#[derive(Debug, PartialEq)]
pub(super) enum What<'a> {
    /// `name(arguments) = returned <took>`
    Call { text: &'a str },
    /// `name(arguments <unfinished ...>`
    Unfinished { text: &'a str },
    /// `<... name resumed>arguments) = returned <took>`
    Resumed { name: &'a str, text: &'a str },
    /// A signal, or an exit.
    Other,
}

/// The parts of a line; `None` if it is none of strace.
pub(super) fn parse(line: &str) -> Option<Line<'_>> {
    let (tid, name, rest) = number(line.trim_start());
    let (t, rest) = time(rest);
    let what =
        if rest.starts_with("+++ ") || rest.starts_with("--- ") || rest.starts_with("strace: ") {
            What::Other
        } else if let Some(resumed) = rest.strip_prefix("<... ") {
            let (name, text) = resumed.split_once(" resumed>")?;
            What::Resumed { name, text }
        } else {
            let open = rest.find('(')?;
            let name = &rest[..open];
            if name.is_empty()
                || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            {
                return None;
            }
            match rest.strip_suffix(" <unfinished ...>") {
                Some(text) => What::Unfinished { text },
                None => What::Call { text: rest },
            }
        };
    Some(Line { tid, name, t, what })
}

/// `[pid 12] `, `[pid 12<name>] `, `12  `, `12<name> `
fn number(line: &str) -> (Option<u32>, Option<&str>, &str) {
    let (inner, is_bracketed) = match line.strip_prefix("[pid ") {
        Some(inner) => (inner.trim_start_matches(' '), true),
        None => (line, false),
    };
    let digits = inner.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(inner.len());
    let Ok(tid) = inner[..digits].parse() else { return (None, None, line) };
    let rest = &inner[digits..];
    // A name may contain anything; a space follows the bracket that ends it.
    let end = if is_bracketed { ">] " } else { "> " };
    let (name, rest) = match rest.strip_prefix('<').and_then(|rest| rest.split_once(end)) {
        Some((name, rest)) => (Some(name), rest),
        None if is_bracketed => match rest.strip_prefix("] ") {
            Some(rest) => (None, rest),
            None => return (None, None, line),
        },
        None => (None, rest),
    };
    // `12:34:56.7` and `1700000000.5` begin with digits, too.
    match is_bracketed || name.is_some() || rest.starts_with(' ') {
        true => (Some(tid), name, rest.trim_start_matches(' ')),
        false => (None, None, line),
    }
}

/// `12:34:56.789012 `, `1700000000.789012 `, `12:34:56 `
fn time(rest: &str) -> (Option<Nanos>, &str) {
    let Some((word, after)) = rest.split_once(' ') else { return (None, rest) };
    let mut parts = word.split(':');
    let t = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(hours), Some(minutes), Some(rest), None) => clock(hours, minutes, rest),
        (Some(whole), None, ..) if whole.contains('.') => seconds(whole),
        _ => None,
    };
    match t {
        Some(t) => (Some(t), after.trim_start_matches(' ')),
        None => (None, rest),
    }
}

fn clock(hours: &str, minutes: &str, rest: &str) -> Option<Nanos> {
    let two = |text: &str| text.parse::<u64>().ok().filter(|_| text.len() == 2);
    let whole = two(hours)?.checked_mul(3600)?.checked_add(two(minutes)?.checked_mul(60)?)?;
    Some(Nanos::from_secs(whole).plus(seconds(rest)?))
}

/// A call in its parts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    /// What the call returned; absent for one that did not return.
    pub(super) returned: Option<i64>,
    /// What stands after the number: the path of a new descriptor (`-y`).
    pub(super) after: String,
    pub(super) took: Option<Nanos>,
}

impl Call {
    /// The argument with this number, from 0; empty without one.
    pub(super) fn argument(&self, at: usize) -> &str {
        self.arguments.get(at).map(String::as_str).unwrap_or_default()
    }
}

/// The parts of `name(arguments) = returned <took>`. Strings, structures and paths within may contain
/// commas and brackets. `None` if the text is no whole call.
pub(super) fn call(text: &str) -> Option<Call> {
    let open = text.find('(')?;
    let name = text[..open].to_owned();
    let inner = &text[open + 1..];
    let mut arguments = Vec::new();
    let mut start = 0;
    let mut depth = 0_i32;
    let mut angles = 0_u32;
    let mut quoted = false;
    let mut escaped = false;
    let mut end = None;
    for (at, letter) in inner.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '<' if angles > 0 || is_path(inner, at) => angles += 1,
            '>' if angles > 0 => angles -= 1,
            // Of a path nothing is meant; strace escapes angles in it.
            _ if angles > 0 => {}
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                arguments.push(inner[start..at].trim().to_owned());
                end = Some(at + 1);
                break;
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(inner[start..at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    let rest = inner[end?..].trim_start().strip_prefix("= ")?;
    let (rest, took) = match rest.rsplit_once(" <") {
        Some((before, took)) => match took.strip_suffix('>').and_then(seconds) {
            Some(took) => (before, Some(took)),
            None => (rest, None),
        },
        None => (rest, None),
    };
    let digits = rest
        .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
        .unwrap_or(rest.len());
    let number = &rest[..digits];
    let returned = match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(u64::cast_signed),
        None => number.parse().ok(),
    };
    if returned.is_none() && !rest.starts_with('?') {
        return None;
    }
    Some(Call { name, arguments, returned, after: rest[digits..].to_owned(), took })
}

/// Whether the path of a descriptor begins at this angle: `3<`, `AT_FDCWD<`, but not `1<<20`.
fn is_path(text: &str, at: usize) -> bool {
    let is_word = text[..at].ends_with(|letter: char| letter.is_ascii_alphanumeric());
    is_word && !text[at + 1..].starts_with('<')
}

/// The number and the path of `3</data/x>`; a path that was removed has `(deleted)` after it.
pub(super) fn descriptor(text: &str) -> Option<(u32, Option<String>)> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..digits].parse().ok()?;
    Some((number, path_in(&text[digits..])))
}

/// The path of `</data/x>`, or of `</dev/null<char 1:3>>`.
pub(super) fn path_in(text: &str) -> Option<String> {
    let inner = text.strip_prefix('<')?;
    let end = inner.find(['<', '>'])?;
    let path = inner[..end].strip_suffix(" (deleted)").unwrap_or(&inner[..end]);
    (!path.is_empty()).then(|| unescaped(path))
}

/// The text of `"…"`; strace cuts long ones and adds dots, which is no path.
pub(super) fn string(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    Some(unescaped(inner))
}

/// A text without C's escapes. Bytes that are no UTF-8 are replaced.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let octal = rest.iter().take(3).take_while(|digit| (b'0'..=b'7').contains(digit)).count();
        if octal > 0 {
            let value = rest[..octal]
                .iter()
                .fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            bytes.push((value & 0xff) as u8);
            rest = &rest[octal..];
            continue;
        }
        let hex = rest.strip_prefix(b"x").and_then(|digits| {
            let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
            u8::from_str_radix(digits, 16).ok()
        });
        if let Some(value) = hex {
            bytes.push(value);
            rest = &rest[3..];
        } else if let Some((letter, after)) = rest.split_first() {
            bytes.push(match letter {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'v' => 11,
                b'f' => 12,
                other => *other,
            });
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_split_at_its_own_commas_and_brackets_only() {
        let of = |text: &str| {
            let call = call(text).unwrap();
            (call.arguments.join("|"), call.returned.unwrap(), call.took)
        };
        let text = r#"write(3</a, b)c>, "x\", 1) = 9 <0.5>", 16) = 16 <0.000012>"#;
        let expected = (r#"3</a, b)c>|"x\", 1) = 9 <0.5>"|16"#.to_owned(), 16, Some(Nanos(12_000)));
        assert_eq!(of(text), expected);
        assert_eq!(of("sync() = 0"), (String::new(), 0, None));
        assert_eq!(of("pwritev(3, [{iov_base=\"a\", iov_len=1}], 1, 8) = -1 ENOSPC (x)").1, -1);
        for not in ["write(3", "write(3, \"x", "write(3)", "write(3) =", "write", ""] {
            assert_eq!(call(not), None, "{not}");
        }
    }

    #[test]
    fn a_line_has_its_thread_and_its_time_in_every_variant() {
        let of = |line: &str| {
            let line = parse(line).unwrap();
            (line.tid, line.t.map(|t| t.0 / 1000), line.name.map(str::to_owned))
        };
        assert_eq!(of("sync() = 0"), (None, None, None));
        assert_eq!(of("12 sync() = 0"), (Some(12), None, None));
        assert_eq!(of("12    00:00:01.000002 sync() = 0"), (Some(12), Some(1_000_002), None));
        assert_eq!(of("[pid  12] 1.5 sync() = 0"), (Some(12), Some(1_500_000), None));
        assert_eq!(of("00:01:00 sync() = 0"), (None, Some(60_000_000), None));
        assert_eq!(of("1700000000.000001 sync() = 0").1, Some(1_700_000_000_000_001));
        let name = Some("a> 1.0 b".to_owned());
        assert_eq!(of("[pid 12<a> 1.0 b>] 1.5 sync() = 0"), (Some(12), Some(1_500_000), name));
        assert_eq!(parse("12 +++ exited with 0 +++").unwrap().what, What::Other);
        assert!(parse("hello").is_none() && parse("a b(c) = 0").is_none());
    }

    #[test]
    fn paths_are_those_of_the_file_system() {
        let path = |text: &str| descriptor(text).unwrap().1.unwrap();
        assert_eq!(path(r"3</a\74b\76\n\303\244>"), "/a<b>\nä");
        assert_eq!(path("3</dev/null<char 1:3>>"), "/dev/null");
        assert_eq!(path("3</x.db (deleted)>(deleted)"), "/x.db");
        assert_eq!(descriptor("3"), Some((3, None)));
        assert_eq!(descriptor("AT_FDCWD"), None);
        assert_eq!(string(r#""/a\"b\x41""#).unwrap(), "/a\"bA");
    }
}
