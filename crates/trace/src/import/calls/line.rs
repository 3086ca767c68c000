//! One line of a list of system calls: thread, microseconds, call, arguments.

use flashlag_units::Nanos;

/// A call. A negative number means that the call failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) thread: u32,
    pub(super) t: Nanos,
    pub(super) call: Call,
}

/// Which call it was, and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Open {
        path: String,
        flags: String,
        fd: u32,
    },
    Close {
        fd: u32,
    },
    Read {
        fd: u32,
        offset: Option<u64>,
        bytes: u64,
    },
    Write {
        fd: u32,
        offset: Option<u64>,
        bytes: u64,
    },
    Sync {
        fd: u32,
        data_only: bool,
    },
    SyncAll,
    Unlink {
        path: String,
    },
    Rename {
        from: String,
        to: String,
    },
    Truncate {
        fd: u32,
        bytes: u64,
    },
    /// The size or the mode of a file was read; whether the file exists.
    Look {
        path: String,
        is_there: bool,
    },
    /// A call that failed, or one that neither changes nor names a file.
    Nothing,
}

/// Parses a line of this form; `None` if it is none.
pub(super) fn parse(line: &str) -> Option<Line> {
    let (thread, rest) = line.trim_start().split_once(' ')?;
    let (micros, rest) = rest.split_once(' ')?;
    let (name, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
    let thread = thread.parse().ok()?;
    let micros: u64 = micros.parse().ok()?;
    let t = Nanos(micros.checked_mul(1000)?);
    let call = call(name, &words(arguments))?;
    Some(Line { thread, t, call })
}

fn call(name: &str, words: &[&str]) -> Option<Call> {
    let text = |at: usize| words.get(at).map(|word| unquoted(word));
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    let fd = |at: usize| words.get(at)?.parse::<u32>().ok();
    let failed = |at: usize| {
        words.get(at).is_some_and(|word| word.starts_with('-') && word[1..].parse::<u64>().is_ok())
    };
    Some(match name {
        "open" | "openat" | "creat" => match words {
            [.., last] if failed(words.len() - 1) && last.len() < 6 => Call::Nothing,
            [_, flags @ .., _] => {
                Call::Open { path: text(0)?, flags: flags.concat(), fd: fd(words.len() - 1)? }
            }
            _ => return None,
        },
        "close" => Call::Close { fd: fd(0)? },
        "read" | "write" | "pread" | "pwrite" | "pread64" | "pwrite64" => {
            let has_offset = name.starts_with('p');
            let size = if has_offset { 2 } else { 1 };
            if failed(0) || failed(size) {
                return Some(Call::Nothing);
            }
            let (fd, bytes) = (fd(0)?, number(size)?);
            let offset = if has_offset { Some(number(1)?) } else { None };
            offset.unwrap_or(0).checked_add(bytes)?;
            if name.contains("read") {
                Call::Read { fd, offset, bytes }
            } else {
                Call::Write { fd, offset, bytes }
            }
        }
        "fsync" | "fdatasync" if failed(1) => Call::Nothing,
        "fsync" | "fdatasync" => Call::Sync { fd: fd(0)?, data_only: name == "fdatasync" },
        "sync" | "syncfs" => Call::SyncAll,
        "unlink" if failed(1) => Call::Nothing,
        "unlink" => Call::Unlink { path: text(0)? },
        "rename" if failed(2) => Call::Nothing,
        "rename" => Call::Rename { from: text(0)?, to: text(1)? },
        "ftruncate" | "ftruncate64" if failed(2) => Call::Nothing,
        "ftruncate" | "ftruncate64" => Call::Truncate { fd: fd(0)?, bytes: number(1)? },
        "access" | "stat" | "stat64" | "lstat" | "lstat64" => {
            Call::Look { path: text(0)?, is_there: !failed(1) }
        }
        "fstat" | "fstat64" | "lseek" | "_llseek" | "mkdir" | "rmdir" | "fcntl" | "fcntl64" => {
            Call::Nothing
        }
        _ => return None,
    })
}

/// Splits at spaces; a quoted path is one word.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(' ');
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('"').and_then(|inner| inner.find("\" ").map(|end| end + 2));
        let end = quoted.or_else(|| rest.find(' ')).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after.trim_start_matches(' ');
    }
    words
}

fn unquoted(word: &str) -> String {
    let inner = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
    inner.unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_spaces_and_quotes_is_one_argument() {
        let line = parse("7 12 open \"/a b\"c -1 9\" O_RDWR|O_CREAT 33").unwrap();
        let call = Call::Open {
            path: "/a b\"c -1 9".to_owned(),
            flags: "O_RDWR|O_CREAT".to_owned(),
            fd: 33,
        };
        assert_eq!(line, Line { thread: 7, t: Nanos::from_micros(12), call });
        assert_eq!(parse("7 12 open /x O_RDONLY -1").unwrap().call, Call::Nothing);
        assert_eq!(parse("7 12 pwrite 33 8 -28").unwrap().call, Call::Nothing);
        let write = Call::Write { fd: 33, offset: Some(8), bytes: 9 };
        assert_eq!(parse("7 12 pwrite 33 8 9").unwrap().call, write);
    }

    #[test]
    fn what_is_no_call_is_no_line() {
        for not in [
            "",
            "7",
            "7 12",
            "x 12 close 3",
            "7 -1 close 3",
            "7 12 close",
            "7 12 close x",
            "7 12 dance 3",
            "7 12 pwrite 3 18446744073709551615 1",
            "7 18446744073709551615 close 3",
            "7 12 open",
            "7 12 open /x",
        ] {
            assert_eq!(parse(not), None, "{not}");
        }
    }
}
