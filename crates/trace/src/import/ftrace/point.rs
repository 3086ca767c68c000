//! The text of a tracepoint.

use super::super::kernel::{CallWords, Point, Step};
use super::super::text::number;

/// The kind of a parsed event.
#[derive(Debug, PartialEq)]
pub(super) enum Parsed<'a> {
    /// A storage event, with the process's name if the event has it.
    Point(Point<'a>, Option<&'a str>),
    /// Another one.
    Other,
    /// A storage event that can't be read.
    Damaged,
}

/// Reads `name: values`, `sys_name(values)` or `sys_name -> value`.
pub(super) fn parse(event: &str) -> Parsed<'_> {
    let is_call = |rest: &&str| !rest.starts_with("enter:") && rest.contains(['(', '>']);
    if let Some(call) = event.strip_prefix("sys_").filter(is_call) {
        return system_call(call).map_or(Parsed::Other, |point| Parsed::Point(point, None));
    }
    let Some((name, values)) = event.split_once(':') else { return Parsed::Other };
    let values = values.trim_start_matches(' ');
    if let Some(point) = named_call(name, values) {
        return point.map_or(Parsed::Damaged, |point| Parsed::Point(point, None));
    }
    if let "android_fs_datawrite_start" | "f2fs_datawrite_start" = name {
        return match named_write(values) {
            Some((point, process)) => Parsed::Point(point, Some(process)),
            None => Parsed::Damaged,
        };
    }
    match point(name, values) {
        Some(Some(point)) => Parsed::Point(point, None),
        Some(None) => Parsed::Other,
        None => Parsed::Damaged,
    }
}

/// A tracepoint of storage; `Some(None)` for any other event, `None` for one that can't be read.
fn point<'a>(name: &str, values: &'a str) -> Option<Option<Point<'a>>> {
    let device = || device_of(values);
    let inode = || value(values, "ino");
    Some(Some(match name {
        "ext4_sync_file_enter" | "f2fs_sync_file_enter" => {
            let data_only = value(values, "datasync") == Some(1);
            Point::SyncEnter { device: device()?, inode: inode()?, data_only }
        }
        "ext4_sync_file_exit" | "f2fs_sync_file_exit" => {
            let data_only = value(values, "datasync") == Some(1);
            Point::SyncExit { device: device()?, inode: inode()?, data_only }
        }
        "ext4_da_write_begin" | "ext4_write_begin" | "f2fs_write_begin" => {
            let (offset, bytes) = (value(values, "pos")?, value(values, "len")?);
            Point::Write { device: device()?, inode: inode()?, offset, bytes }
        }
        "ext4_da_write_end" | "ext4_write_end" | "ext4_journalled_write_end" | "f2fs_write_end" => {
            let (offset, bytes) = (value(values, "pos")?, value(values, "copied")?);
            Point::WriteEnd { device: device()?, inode: inode()?, offset, bytes }
        }
        "ext4_unlink_enter" => Point::Unlink { device: device()?, inode: inode()? },
        "sched_process_fork" => {
            let (_, child) = values.rsplit_once(" child_pid=")?;
            Point::Forked { child: child.trim().parse().ok()? }
        }
        "sched_process_exit" => Point::Ended,
        "sys_enter" => number_enter(values)?,
        "sys_exit" => {
            let (number, returned) = values.strip_prefix("NR ")?.split_once(" = ")?;
            // A skipped call has the number -1.
            let Ok(number) = number.trim().parse() else { return Some(None) };
            Point::NumberExit { number, returned: returned.trim().parse().ok()? }
        }
        "jbd2_start_commit" => Point::CommitBegin { device: device()? },
        "jbd2_end_commit" => Point::CommitEnd { device: device()? },
        "f2fs_gc_begin" => Point::CleanBegin { device: device()? },
        "f2fs_gc_end" => Point::CleanEnd { device: device()? },
        "f2fs_write_checkpoint" => return Some(checkpoint(device()?, values)),
        "block_bio_queue" => block(Step::Queue, values)?,
        "block_rq_issue" => block(Step::Issue, values)?,
        "block_rq_requeue" => block(Step::Requeue, values)?,
        "block_rq_complete" => block(Step::Complete, values)?,
        "block_bio_complete" => block(Step::CompleteOfBio, values)?,
        "block_bio_remap" => {
            let (_, above) = values.split_once(" <- (")?;
            Point::Remap { above: above.split_once(')')?.0.to_owned() }
        }
        _ => return Some(None),
    }))
}

/// The first or the last state of an F2FS checkpoint.
pub(in crate::import) fn checkpoint<'a>(device: String, state: &str) -> Option<Point<'a>> {
    match () {
        () if state.contains("start block_ops") => Some(Point::CheckpointBegin { device }),
        () if state.contains("finish checkpoint") => Some(Point::CheckpointEnd { device }),
        () => None,
    }
}

/// The number after a name: `ino 12`, `ino = 12`. In every event, fields that are names come last.
fn value(values: &str, name: &str) -> Option<u64> {
    let is_start = |at: usize| at == 0 || matches!(values.as_bytes()[at - 1], b' ' | b',');
    let at = values.match_indices(name).find_map(|(at, _)| {
        let after = values[at + name.len()..].strip_prefix(' ')?;
        is_start(at).then(|| after.strip_prefix("= ").unwrap_or(after))
    })?;
    let end = at.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(at.len());
    at[..end].parse().ok()
}

/// `dev 8,1`, `dev = (8,1)`
fn device_of(values: &str) -> Option<String> {
    let rest = values.strip_prefix("dev ")?;
    let rest = rest.strip_prefix("= (").unwrap_or(rest);
    let end =
        rest.find(|letter: char| !letter.is_ascii_digit() && letter != ',').unwrap_or(rest.len());
    plain_device(&rest[..end])
}

fn plain_device(text: &str) -> Option<String> {
    let (major, minor) = text.split_once(',')?;
    let (_, _): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    Some(text.to_owned())
}

/// `8,0 WS 4096 () 8 + 8 [x]`, `8,0 WS 8 + 8 [x]`
fn block(step: Step, values: &str) -> Option<Point<'_>> {
    let (device, rest) = values.split_once(' ')?;
    let (rwbs, rest) = rest.split_once(' ')?;
    // A command that reads or writes no blocks is between the brackets.
    let rest = match rest.split_once(") ") {
        Some((bytes, rest)) if bytes.contains('(') => rest,
        _ => rest,
    };
    let (sector, rest) = rest.split_once(" + ")?;
    let end = rest.find(' ').unwrap_or(rest.len());
    let (sector, sectors) = (sector.parse().ok()?, rest[..end].parse().ok()?);
    Some(Point::Block { step, device: plain_device(device)?, rwbs, sector, sectors })
}

/// `entry_name /x, offset 0, bytes 4096, cmdline app, pid 1, i_size 0, ino 2`; F2FS's own
/// tracepoints also with ` = ` or `: `. Path and name may contain anything, so parse the numbers at
/// the end first.
fn named_write(values: &str) -> Option<(Point<'_>, &str)> {
    let rest = values.strip_prefix("entry_name ")?;
    let (rest, inode) = rest.rsplit_once(", ino ")?;
    let (rest, _) = rest.rsplit_once(", i_size ")?;
    let (rest, _) = rest.rsplit_once(", pid ")?;
    let (path, rest) = rest.split_once(", offset ")?;
    let (offset, rest) = rest.split_once(", bytes ")?;
    let (bytes, process) = rest.split_once(", cmdline ")?;
    let (offset, bytes) = (offset.trim().parse().ok()?, bytes.trim().parse().ok()?);
    let inode = inode.trim().parse().ok()?;
    Some((Point::NamedWrite { path, inode, offset, bytes }, process))
}

/// `fsync(fd: 3)`, `fsync -> 0x0`; numbers are in hexadecimal.
fn system_call(text: &str) -> Option<Point<'_>> {
    if let Some((name, returned)) = text.split_once(" -> ") {
        let returned = number(returned.trim())?;
        // Errors are small negative numbers in 64 bits.
        return Some(Point::CallExit { name, returned: returned.cast_signed() });
    }
    let (name, values) = text.split_once('(')?;
    Some(Point::CallEnter { name, words: call_words(values) })
}

/// A system call as perf and trace-cmd print it: `sys_enter_fsync: fd: 0x00000003`,
/// `sys_exit_fsync: 0x0`; `None` for another event.
fn named_call<'a>(name: &'a str, values: &str) -> Option<Option<Point<'a>>> {
    if let Some(name) = name.strip_prefix("sys_enter_") {
        return Some(Some(Point::CallEnter { name, words: call_words(values) }));
    }
    let name = name.strip_prefix("sys_exit_")?;
    let returned = values.trim().trim_start_matches("= ");
    let negative = returned.strip_prefix('-').and_then(|digits| digits.parse::<i64>().ok());
    let returned =
        negative.map(|digits| -digits).or_else(|| number(returned).map(u64::cast_signed));
    Some(returned.map(|returned| Point::CallExit { name, returned }))
}

/// The arguments of a call by their names, in hexadecimal.
fn call_words(values: &str) -> CallWords {
    let hexadecimal = |wanted: &str| {
        let value = values.split([',', ')']).find_map(|part| part.trim().strip_prefix(wanted))?;
        u64::from_str_radix(value.trim().trim_start_matches("0x"), 16).ok()
    };
    let fd = hexadecimal("fd: ").and_then(|fd| u32::try_from(fd).ok());
    CallWords { fd, offset: hexadecimal("pos: "), length: hexadecimal("length: ") }
}

/// `NR 18 (3, 7ffd5b0, 1000, 2000, 0, 0)`: hexadecimal numbers without `0x`.
fn number_enter(values: &str) -> Option<Point<'_>> {
    let (number, rest) = values.strip_prefix("NR ")?.split_once(" (")?;
    let number = number.trim().parse().unwrap_or(u64::MAX);
    let mut all = [None; 6];
    for (place, word) in all.iter_mut().zip(rest.split_once(')')?.0.split(',')) {
        *place = u64::from_str_radix(word.trim(), 16).ok();
    }
    Some(Point::NumberEnter { number, words: words_of(all) })
}

/// Reads the raw arguments as (fd, length, offset); which of them mean that depends on the call.
pub(in crate::import) fn words_of(all: [Option<u64>; 6]) -> CallWords {
    let [fd, length, _, offset, ..] = all;
    CallWords { fd: fd.and_then(|fd| u32::try_from(fd).ok()), offset, length }
}
