use std::fs;

use serde::{Deserialize, Serialize};

/// The process that a directory of ours belongs to. An id alone says nothing: it is used again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// When it began, in clock ticks since the start of the system (`/proc/PID/stat`, field 22).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_ticks: Option<u64>,
    /// Which start of the system (`/proc/sys/kernel/random/boot_id`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub boot_id: Option<String>,
}

impl Owner {
    /// This process.
    pub fn this_process() -> Owner {
        let pid = std::process::id();
        let start_ticks = process_stat(pid).map(|stat| stat.start_ticks);
        Owner { pid, start_ticks, boot_id: boot_id() }
    }

    /// Whether that very process still runs, and is another than this one. A process that is dead
    /// but not yet waited for does not run; where its start can't be read, it is not known to run.
    pub fn runs_elsewhere(&self) -> bool {
        if self.pid == std::process::id() || self.boot_id != boot_id() {
            return false;
        }
        let stat = process_stat(self.pid);
        stat.is_some_and(|stat| !stat.dead && Some(stat.start_ticks) == self.start_ticks)
    }
}

struct ProcessStat {
    dead: bool,
    start_ticks: u64,
}

fn process_stat(pid: u32) -> Option<ProcessStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `PID (NAME) STATE …`: the name may hold anything, parentheses too, so what counts begins after
/// the last one. The state is field 3, the start field 22.
fn parse_stat(text: &str) -> Option<ProcessStat> {
    let after_name = &text[text.rfind(')')? + 1..];
    let mut fields = after_name.split_ascii_whitespace();
    let state = fields.next()?;
    let start_ticks = fields.nth(18)?.parse().ok()?;
    Some(ProcessStat { dead: matches!(state, "Z" | "X" | "x"), start_ticks })
}

fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_does_not_shift_the_fields() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        let stat = parse_stat(&format!("42 (a) b) (c) {rest}")).unwrap();
        assert_eq!((stat.dead, stat.start_ticks), (false, 4711));
        assert!(
            parse_stat("42 (a) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 5").unwrap().dead
        );
        assert!(parse_stat("").is_none() && parse_stat("42 (a").is_none());
        assert!(parse_stat("42 (a) S 1").is_none());
    }

    #[test]
    fn another_start_time_or_boot_is_another_process() {
        let parent = std::os::unix::process::parent_id();
        let start_ticks = process_stat(parent).map(|stat| stat.start_ticks);
        let owner = Owner { pid: parent, start_ticks, boot_id: boot_id() };
        assert!(owner.runs_elsewhere());
        assert!(!Owner { start_ticks: Some(1), ..owner.clone() }.runs_elsewhere());
        assert!(!Owner { boot_id: Some("other".to_owned()), ..owner }.runs_elsewhere());
        assert!(!Owner::this_process().runs_elsewhere());
    }
}
