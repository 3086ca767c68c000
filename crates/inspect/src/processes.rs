//! CPU time and I/O of other processes, so that a run on a busy machine can name them. Format:
//! proc(5), `/proc/PID/stat` and `/proc/PID/io`.

use flashlag_device::ProcessStat;
use flashlag_schema::counters::{Process, Processes};
use flashlag_units::{Bytes, IntoOrder, Nanos};

use crate::reason::Reason;
use crate::root::Root;

/// Most processes to read, so that a reading stays cheap on a server with many.
const MOST: usize = 4096;

/// All processes but this one.
pub(crate) fn processes(root: &Root) -> Result<Processes, Reason> {
    let read = others(root).filter_map(|number| Some((number, process(root, number)?)));
    let processes = read.into_map();
    if processes.is_empty() {
        Err("no other process can be seen".into())
    } else {
        Ok(Processes(processes))
    }
}

/// The numbers of all processes but this one.
pub(crate) fn others(root: &Root) -> impl Iterator<Item = u32> {
    let own = root.is_live().then(std::process::id);
    let numbers = root.names("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    numbers.filter(move |number| Some(*number) != own).take(MOST)
}

fn process(root: &Root, number: u32) -> Option<Process> {
    let stat = ProcessStat::parse(&root.text(format!("/proc/{number}/stat")).ok()?)?;
    let tick = 1_000_000_000 / root.ticks_per_second();
    Some(Process {
        name: stat.name,
        started: stat.start_ticks,
        cpu: Nanos(stat.cpu_ticks.saturating_mul(tick)),
        io: io(root, number),
    })
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
        processes(&Root::captured(tree.path())).unwrap()
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
            assert!(processes(&Root::captured(tree.path())).is_err(), "{odd}");
        }
    }
}
