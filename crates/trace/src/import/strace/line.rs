//! A line of strace: a thread number, a time, a call with its arguments, its result and its
//! duration.

use flashlag_units::Nanos;

use super::super::text::seconds;
use super::stamp::{RELATIVE_WIDTH, Stamp};

/// A line.
#[derive(Debug, PartialEq)]
pub(super) struct Line<'a> {
    /// The thread's number; absent if strace followed only one thread.
    pub(super) tid: Option<u32>,
    /// The thread's name (`-Y`).
    pub(super) name: Option<&'a str>,
    pub(super) t: Option<Stamp>,
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
    /// A signal, an exit, a message of strace.
    Other,
    /// A caller in a stack trace (`-k`).
    Caller,
    /// The header of the table of calls (`-C`), which ends the output.
    Summary,
    /// None of these.
    Damaged,
}

/// The parts of a line, in the order in which strace prints them: thread number, time, time since
/// the previous line (`-r` after `-t`), number of the call (`-n`), instruction pointer (`-i`), the
/// call.
pub(super) fn parse(line: &str) -> Line<'_> {
    let (tid, name, rest) = number(line);
    let (t, rest) = Stamp::of(rest);
    let rest = without_places(rest.trim_start_matches(' '));
    Line { tid, name, t, what: what(rest) }
}

fn what(rest: &str) -> What<'_> {
    let is_other = ["+++ ", "--- ", "strace: ", "[ Process PID="];
    if is_other.iter().any(|start| rest.starts_with(start)) {
        return What::Other;
    }
    if rest.starts_with("> ") {
        return What::Caller;
    }
    if rest.starts_with("% time ") {
        return What::Summary;
    }
    if let Some(resumed) = rest.strip_prefix("<... ") {
        let resumed = resumed.split_once(" resumed>");
        return resumed.map_or(What::Damaged, |(name, text)| What::Resumed { name, text });
    }
    let name = rest.split_once('(').map_or("", |(name, _)| name);
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return What::Damaged;
    }
    // strace detached from the thread during the call.
    let unfinished = [" <unfinished ...>", " <detached ...>"];
    match unfinished.iter().find_map(|end| rest.strip_suffix(end)) {
        Some(text) => What::Unfinished { text },
        None => What::Call { text: rest },
    }
}

/// `[pid 12] `, `[pid 12<name>] `, `12  `, `12<name> `
fn number(line: &str) -> (Option<u32>, Option<&str>, &str) {
    let trimmed = line.trim_start();
    let (inner, is_bracketed) = match trimmed.strip_prefix("[pid ") {
        Some(inner) => (inner.trim_start_matches(' '), true),
        None => (trimmed, false),
    };
    let digits = inner.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(inner.len());
    // A right-aligned number is a time: strace left-aligns thread numbers.
    if line.len() > trimmed.len() && line.len() - trimmed.len() + digits == RELATIVE_WIDTH {
        return (None, None, line);
    }
    let Ok(tid) = inner[..digits].parse() else { return (None, None, line) };
    let rest = &inner[digits..];
    // A name may contain anything; it ends at a bracket with a space after it.
    let end = if is_bracketed { ">] " } else { "> " };
    let (name, rest) = match rest.strip_prefix('<').and_then(|rest| rest.split_once(end)) {
        Some((name, rest)) => (Some(name), rest),
        None if is_bracketed => match rest.strip_prefix("] ") {
            Some(rest) => (None, rest),
            None => return (None, None, line),
        },
        None => (None, rest),
    };
    // `12:34:56.7` and `1700000000.5` begin with digits, too, and `1700000000 ` is not a thread
    // number.
    if is_bracketed || name.is_some() || (rest.starts_with(' ') && digits <= PID_DIGITS) {
        (Some(tid), name, rest)
    } else {
        (None, None, line)
    }
}

/// The most digits of a thread number: the kernel has at most 2²² threads.
const PID_DIGITS: usize = 7;

/// A line without the call's number and the instruction pointer: `[  18] `, `[00007f5e741b1e67] `,
/// `[????] `.
fn without_places(mut rest: &str) -> &str {
    for _ in 0..2 {
        let place = rest.strip_prefix('[').and_then(|inner| inner.split_once("] "));
        let is_place = |place: &str| {
            let inner = place.trim_start_matches(' ');
            !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'?')
        };
        match place {
            Some((place, after)) if is_place(place) => rest = after,
            _ => break,
        }
    }
    rest
}

/// A call in its parts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    /// The call's result; absent if it did not return.
    pub(super) returned: Option<i64>,
    /// What follows the result: the path of a new descriptor (`-y`).
    pub(super) after: String,
    pub(super) took: Option<Nanos>,
}

impl Call {
    /// The argument at an index, from 0; empty if there is none.
    pub(super) fn argument(&self, at: usize) -> &str {
        self.arguments.get(at).map(String::as_str).unwrap_or_default()
    }
}

/// The parts of `name(arguments) = returned <took>`; `None` if the call is incomplete.
pub(super) fn call(text: &str) -> Option<Call> {
    let (name, inner) = text.split_once('(')?;
    let (arguments, end) = parts(inner)?;
    let arguments = arguments.into_iter().map(str::to_owned).collect();
    let rest = inner[end..].trim_start().strip_prefix("= ")?;
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
    let (name, after) = (name.to_owned(), rest[digits..].to_owned());
    Some(Call { name, arguments, returned, after, took })
}

/// Splits at commas up to the closing bracket; also returns the position after that bracket.
/// Strings, structures and paths may contain commas and brackets. `None` without a closing bracket.
pub(super) fn parts(inner: &str) -> Option<(Vec<&str>, usize)> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut depth = 0_i32;
    let mut angles = 0_u32;
    let mut quoted = false;
    let mut escaped = false;
    for (at, letter) in inner.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '<' if angles > 0 || is_path(inner, at) => angles += 1,
            '>' if angles > 0 => angles -= 1,
            // Skip the content of a path; strace escapes angle brackets in it.
            _ if angles > 0 => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => {
                parts.push(inner[start..at].trim());
                return Some((parts, at + 1));
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// Whether this angle bracket opens a descriptor's path: `3<`, `AT_FDCWD<`, but not `1<<20`.
fn is_path(text: &str, at: usize) -> bool {
    let is_word = text[..at].ends_with(|letter: char| letter.is_ascii_alphanumeric());
    is_word && !text[at + 1..].starts_with('<')
}

/// The number and the path of `3</data/x>`. `(deleted)` follows the path of an unlinked file.
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

/// The text of `"…"`. strace cuts long strings and appends dots: those are not usable as paths.
pub(super) fn string(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    Some(unescaped(inner))
}

/// Decodes C escapes; replaces bytes that are not UTF-8.
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
            let line = parse(line);
            assert!(matches!(line.what, What::Call { text: "sync() = 0" }), "{line:?}");
            (line.tid, line.t.map(|t| t.time().0 / 1000), line.name.map(str::to_owned))
        };
        assert_eq!(of("sync() = 0"), (None, None, None));
        assert_eq!(of("12 sync() = 0"), (Some(12), None, None));
        assert_eq!(of("12    00:00:01.000002 sync() = 0"), (Some(12), Some(1_000_002), None));
        assert_eq!(of("[pid  12] 1.5 sync() = 0"), (Some(12), Some(1_500_000), None));
        assert_eq!(of("00:01:00 sync() = 0"), (None, Some(60_000_000), None));
        assert_eq!(of("1700000000.000001 sync() = 0").1, Some(1_700_000_000_000_001));
        assert_eq!(of("1700000000 sync() = 0"), (None, Some(1_700_000_000_000_000), None));
        assert_eq!(of("     3 sync() = 0"), (None, Some(3_000_000), None));
        assert_eq!(of("12         3 sync() = 0"), (Some(12), Some(3_000_000), None));
        assert_eq!(of("     0.25 [  18] sync() = 0"), (None, Some(250_000), None));
        assert_eq!(of("12 00:00:01 (+     0.25) [00007f5e741b1e67] sync() = 0").1, Some(1_000_000));
        assert_eq!(of("[pid 12] [????] [????????????????] sync() = 0"), (Some(12), None, None));
        let name = Some("a> 1.0 b".to_owned());
        assert_eq!(of("[pid 12<a> 1.0 b>] 1.5 sync() = 0"), (Some(12), Some(1_500_000), name));
        let what = |line| parse(line).what;
        assert_eq!(what("12 +++ exited with 0 +++"), What::Other);
        assert_eq!(what(" > /usr/lib/libc.so.6(write+0x10) [0x114a]"), What::Caller);
        assert_eq!(
            what("% time     seconds  usecs/call     calls    errors syscall"),
            What::Summary
        );
        assert_eq!((what("hello"), what("a b(c) = 0")), (What::Damaged, What::Damaged));
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
