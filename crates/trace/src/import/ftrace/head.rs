//! The start of an ftrace line: name, thread number, CPU, time.

use flashlag_units::Nanos;

use super::super::text::seconds;

/// Column of the dash after the name: ftrace prints the name in 16 columns.
const DASH: usize = 16;

/// A line up to its event.
#[derive(Debug, PartialEq)]
pub(super) struct Head<'a> {
    pub(super) name: &'a str,
    pub(super) tid: u32,
    /// The process's number, if the line has it.
    pub(super) pid: Option<u32>,
    pub(super) t: Nanos,
    /// The event: its name and values.
    pub(super) event: &'a str,
}

/// The parts of a line; `None` if it is no event. A name may contain anything, brackets, spaces and
/// dashes included, so the dash is first sought in its column.
pub(super) fn head(line: &str) -> Option<Head<'_>> {
    let in_column = || {
        let (name, rest) = (line.get(..DASH)?, line.get(DASH..)?);
        let (tid, pid, t, event) = after_name(rest.strip_prefix('-')?)?;
        Some(Head { name: name.trim_start(), tid, pid, t, event })
    };
    in_column().or_else(|| anywhere(line)).or_else(|| of_perf(line))
}

/// The head that perf prints: `              dd  4321/4322  [001] 20065.144725:          1
/// block:block_rq_issue: …`. A name may contain anything, so this looks for a CPU number with a
/// time after it.
fn of_perf(line: &str) -> Option<Head<'_>> {
    line.match_indices(" [").find_map(|(at, _)| {
        let (cpu, rest) = line[at + 2..].split_once("] ")?;
        let _: u32 = cpu.parse().ok()?;
        let (time, event) = rest.trim_start_matches(' ').split_once(": ")?;
        let t = seconds(time)?;
        let (name, number) = line[..at].trim_end().rsplit_once(' ')?;
        let (pid, tid) = match number.split_once('/') {
            Some((pid, tid)) => (Some(pid.parse().ok()?), tid.parse().ok()?),
            None => (None, number.parse().ok()?),
        };
        Some(Head { name: name.trim(), tid, pid, t, event: perf_event(event) })
    })
}

/// The event without its count and subsystem: `block_rq_issue: …`.
fn perf_event(event: &str) -> &str {
    let event = event.trim_start_matches(' ');
    let counted = event.split_once(' ').filter(|(count, _)| count.parse::<u64>().is_ok());
    let event = counted.map_or(event, |(_, event)| event.trim_start_matches(' '));
    let is_word =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match event.split_once(':') {
        Some((system, rest)) if is_word(system) && rest.split(':').next().is_some_and(is_word) => {
            rest
        }
        _ => event,
    }
}

/// The same if another tool has moved the columns: the first dash that is followed by the rest of a
/// head.
fn anywhere(line: &str) -> Option<Head<'_>> {
    // A name has at most 15 bytes, and 63 in names of kernel threads.
    let dashes = line.match_indices('-').take_while(|(at, _)| *at < 96);
    dashes.filter(|(at, _)| *at > 0).find_map(|(at, _)| {
        let (tid, pid, t, event) = after_name(&line[at + 1..])?;
        Some(Head { name: line[..at].trim(), tid, pid, t, event })
    })
}

/// What follows the dash after the name: `230   (  228) [001] d..3  1234.567890: event`.
fn after_name(rest: &str) -> Option<(u32, Option<u32>, Nanos, &str)> {
    let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
    let tid = rest.get(..digits)?.parse().ok()?;
    let rest = rest[digits..].trim_start_matches(' ');
    let (pid, rest) = match rest.strip_prefix('(') {
        // `(-----)` if the process is not known.
        Some(inner) => {
            let (pid, rest) = inner.split_once(')')?;
            (pid.trim().parse().ok(), rest.trim_start_matches(' '))
        }
        None => (None, rest),
    };
    let (cpu, rest) = rest.strip_prefix('[')?.split_once(']')?;
    let _: u32 = cpu.parse().ok()?;
    let mut rest = rest.trim_start_matches(' ');
    for _ in 0..2 {
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        // Flags of interrupts and preemption may precede the time.
        if let Some(t) = word.strip_suffix(':').and_then(seconds) {
            return Some((tid, pid, t, after.trim_start_matches(' ')));
        }
        if word.len() > 8 {
            return None;
        }
        rest = after.trim_start_matches(' ');
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> (String, u32, Option<u32>, u64, String) {
        let head = head(line).unwrap();
        (head.name.to_owned(), head.tid, head.pid, head.t.0, head.event.to_owned())
    }

    #[test]
    fn a_name_with_dashes_brackets_and_a_whole_head_in_it_stays_one() {
        let line = |name: &str| format!("{name:>16}-230     ( 228) [001] d..3  12.5: e: x");
        for name in
            ["a-1 [0] 1.0: e: ", "pool-14-thread-", "[x]-5 (1) [2]", "kworker/u17:2", "ü [1]"]
        {
            let expected =
                (name.trim_start().to_owned(), 230, Some(228), 12_500_000_000, "e: x".to_owned());
            let padded = line(name);
            // The kernel pads by bytes.
            let padded =
                if name.len() == name.chars().count() { padded } else { padded[1..].to_owned() };
            assert_eq!(of(&padded), expected, "{padded:?}");
        }
    }

    #[test]
    fn heads_of_every_version_are_taken() {
        let expected = |pid| ("app".to_owned(), 7, pid, 1_000_001_000, "e: x".to_owned());
        assert_eq!(of("             app-7     [000] ....     1.000001: e: x"), expected(None));
        assert_eq!(of("             app-7     (-----) [000] ....1 1.000001: e: x"), expected(None));
        assert_eq!(of("app-7 [000] 1.000001: e: x"), expected(None));
        assert_eq!(of("  app-7  (    7) [000] d.h. 1.000001: e: x"), expected(Some(7)));
        for not in [
            "",
            "app",
            "app-7",
            "app-7 [000] ....",
            "app-7 [000] .... 1.0",
            "-7 [0] 1.0: e",
            "a-x [0] 1.0: e",
        ] {
            assert!(head(not).is_none(), "{not}");
        }
    }
}
