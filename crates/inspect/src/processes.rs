//! Who else uses the machine: CPU time and I/O of other processes, so that a crowded run can name
//! its neighbour. Format: proc(5), `/proc/PID/stat` and `/proc/PID/io`.

use std::collections::BTreeMap;

use flashlag_units::{Bytes, Nanos};

use crate::root::Root;

/// More are not looked at: it must stay cheap on a server with many.
const MOST: usize = 4096;

/// What one process had used by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Used {
    /// In clock ticks since boot: a process number is used again, with another start.
    started: u64,
    cpu: Nanos,
    /// Absent for other users' processes, unless read by root.
    io: Option<Bytes>,
}

/// All processes but this one, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes(BTreeMap<u32, (String, Used)>);

/// What processes of one name used between two moments, together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbour {
    /// Their name: `cc1plus`. Chosen by whoever started them: data, never markup.
    pub name: String,
    /// How many there were.
    pub processes: u32,
    /// CPU time.
    pub cpu: Nanos,
    /// Bytes read from and written to storage, of those that can be seen.
    pub io_bytes: Bytes,
}

impl Processes {
    pub(crate) fn read(root: &Root) -> Result<Processes, String> {
        let own = std::process::id();
        let numbers = root.names("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
        let others = numbers.filter(|number| !root.is_live() || *number != own).take(MOST);
        let read = others.filter_map(|number| Some((number, process(root, number)?)));
        let processes: BTreeMap<_, _> = read.collect();
        if processes.is_empty() {
            Err("no other process can be seen".to_owned())
        } else {
            Ok(Processes(processes))
        }
    }

    /// Who used what since `earlier`, by name, in no order. A process that ended in between is
    /// not counted.
    pub fn since(&self, earlier: &Processes) -> Vec<Neighbour> {
        let mut by_name: BTreeMap<&str, Neighbour> = BTreeMap::new();
        for (number, (name, used)) in &self.0 {
            let before = earlier.0.get(number).map(|(_, before)| before);
            let before = before.filter(|before| before.started == used.started);
            let io = |used: Option<&Used>| used.and_then(|used| used.io).unwrap_or_default();
            let neighbour = by_name.entry(name).or_default();
            neighbour.processes += 1;
            let cpu = used.cpu.since(before.map_or(Nanos::ZERO, |before| before.cpu));
            neighbour.cpu = neighbour.cpu.plus(cpu);
            let moved = io(Some(used)).minus(io(before));
            neighbour.io_bytes = neighbour.io_bytes.plus(moved);
        }
        let named = by_name.into_iter();
        named.map(|(name, neighbour)| Neighbour { name: name.to_owned(), ..neighbour }).collect()
    }
}

/// `PID (NAME) STATE …`: the name may hold spaces and brackets, so the last bracket ends it. Of
/// the fields after it, the 12th and 13th are user and system time, the 20th the start.
fn process(root: &Root, number: u32) -> Option<(String, Used)> {
    let text = root.text(format!("/proc/{number}/stat")).ok()?;
    let (head, fields) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let tick = 1_000_000_000 / root.ticks_per_second();
    let cpu = field(11)?.saturating_add(field(12)?).saturating_mul(tick);
    Some((name.to_owned(), Used { started: field(19)?, cpu: Nanos(cpu), io: io(root, number) }))
}

fn io(root: &Root, number: u32) -> Option<Bytes> {
    let text = root.text(format!("/proc/{number}/io")).ok()?;
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
        lines.find_map(|rest| rest.strip_prefix(": ")?.parse::<u64>().ok())
    };
    Some(Bytes(field("read_bytes")?.saturating_add(field("write_bytes")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(stat: &str) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("proc/7")).unwrap();
        std::fs::write(tree.path().join("proc/7/stat"), stat).unwrap();
        tree
    }

    fn stat(user: u64, started: u64) -> String {
        format!("7 (a b) c)) R 1 1 1 0 -1 0 0 0 0 0 {user} 5 0 0 20 0 1 0 {started} 0 0")
    }

    fn read(stat: &str) -> Processes {
        let tree = tree(stat);
        Processes::read(&Root::captured(tree.path())).unwrap()
    }

    #[test]
    fn a_name_with_brackets_and_spaces_is_read_whole() {
        let [neighbour] = read(&stat(300, 9)).since(&read(&stat(100, 9))).try_into().unwrap();
        assert_eq!((neighbour.name.as_str(), neighbour.processes), ("a b) c)", 1));
        assert_eq!(neighbour.cpu, Nanos::from_secs(2));
    }

    #[test]
    fn a_process_number_used_again_is_another_process() {
        let [neighbour] = read(&stat(300, 9)).since(&read(&stat(290, 1))).try_into().unwrap();
        assert_eq!(neighbour.cpu, Nanos::from_millis(3050));
    }

    #[test]
    fn a_line_that_is_none_is_no_process() {
        for odd in ["", "7", "7 (x", ")(", "7 (x) R 1", "7 () R"] {
            let tree = tree(odd);
            assert!(Processes::read(&Root::captured(tree.path())).is_err(), "{odd}");
        }
    }
}
