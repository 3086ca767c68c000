//! What the kernel says of a process, and of this start of the machine: proc(5).

use std::fs;

/// A line of `/proc/PID/stat`, of a process or a thread. Times are in clock ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its program's name, cut to 15 bytes.
    pub name: String,
    /// Running, sleeping, waiting for storage (`D`), …
    pub state: char,
    /// The process that started it.
    pub parent: u32,
    /// Pages that had to be read from storage before it could go on.
    pub major_faults: u64,
    /// Time on a CPU, its own and the kernel's for it.
    pub cpu_ticks: u64,
    /// From the machine's start to its own: tells it from a later process with the same number.
    pub start_ticks: u64,
}

impl ProcessStat {
    /// Reads that of a process; `None` if there is none, or it has ended and was not waited for.
    pub fn of(pid: u32) -> Option<ProcessStat> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        ProcessStat::parse(&text).filter(|stat| !matches!(stat.state, 'Z' | 'X' | 'x'))
    }

    /// That of a process which was noted with its start and the machine's: a number alone may belong to another one by
    /// now.
    pub fn of_noted(pid: u32, start_ticks: u64, boot: Option<&str>) -> Option<ProcessStat> {
        let stat = ProcessStat::of(pid).filter(|stat| stat.start_ticks == start_ticks)?;
        (boot == boot_id().as_deref()).then_some(stat)
    }

    /// `PID (NAME) STATE …`: the name may hold anything, brackets too, so the last bracket ends it.
    pub fn parse(text: &str) -> Option<ProcessStat> {
        let (head, rest) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let mut fields = rest.split_ascii_whitespace();
        // `nth` takes what it passes: state is field 3 of the manual, and the others are 4, 12, 14, 15 and 22.
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let major_faults = fields.nth(7)?.parse().ok()?;
        let user: u64 = fields.nth(1)?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        let start_ticks = fields.nth(6)?.parse().ok()?;
        let name = name.to_owned();
        let cpu_ticks = user.saturating_add(system);
        Some(ProcessStat { name, state, parent, major_faults, cpu_ticks, start_ticks })
    }
}

/// A name that is new with each start of the machine; `None` where the kernel hides it.
pub fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let rest = "D 4 5 6 7 8 9 10 11 12 13 70 30 0 0 20 0 1 0 12345 99 99";
        let expected = ProcessStat {
            name: "a (b) c)".to_owned(),
            state: 'D',
            parent: 4,
            major_faults: 12,
            cpu_ticks: 100,
            start_ticks: 12345,
        };
        assert_eq!(ProcessStat::parse(&format!("9 (a (b) c)) {rest}")), Some(expected));
        for odd in ["", "9", ")(", "9 (a", "9 (a) S", "9 (a) S 1 2 3", "9 () ", &rest[2..]] {
            assert_eq!(ProcessStat::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_kernel_and_this_process_agree_on_who_it_is() {
        let own = ProcessStat::of(std::process::id()).unwrap();
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        let name = fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!(own.name, name.trim_end());
        assert_eq!(boot_id().unwrap().len(), 36);
    }

    #[test]
    fn a_noted_process_is_no_later_one_with_its_number() {
        let (own, boot) = (std::process::id(), boot_id());
        let start = ProcessStat::of(own).unwrap().start_ticks;
        assert!(ProcessStat::of_noted(own, start, boot.as_deref()).is_some());
        assert!(ProcessStat::of_noted(own, start + 1, boot.as_deref()).is_none());
        assert!(ProcessStat::of_noted(own, start, Some("another")).is_none());
    }

    #[test]
    fn a_process_that_has_ended_is_none_even_if_nobody_waited_for_it() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while ProcessStat::of(child.id()).is_some() {
            assert!(std::time::Instant::now() < until, "it counts as alive");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child.wait().unwrap();
    }
}
