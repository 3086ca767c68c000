//! Counters that are read several times a second, from files that stay open.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flashlag_device::read_clock;
use flashlag_schema::{Look, Surroundings};
use flashlag_units::{Bytes, Nanos};
use rustix::time::ClockId;

use crate::block::name;
use crate::probe::Probe;
use crate::reason::Reason;

/// Longest text of such a file to read.
const LONGEST: usize = 4096;
/// The name of the threads whose I/O belongs to a test's background job, not to the measured
/// operations.
const BESIDE: &str = "background";

/// A reader of the counters of a directory's storage, for many readings.
#[derive(Debug)]
pub struct CounterWatch {
    disks: Vec<File>,
    /// The device that the filesystem is on: a discard may end there, as in a loop device.
    top: Option<File>,
    process: Option<File>,
    beside: Beside,
    cpu_pressure: Option<File>,
    io_pressure: Option<File>,
    /// Opened for each reading: the kernel copies the journal's statistics when the file is opened.
    journal: Option<PathBuf>,
    checkpoints: Vec<File>,
    cleanings: Vec<File>,
    missing: Vec<String>,
}

impl CounterWatch {
    /// Opens the counters' files of this machine. Never fails: a counter without a file is absent
    /// from every reading, and [`CounterWatch::missing`] says why.
    pub fn open(probe: &Probe) -> CounterWatch {
        let mut missing = Vec::new();
        let stack = probe.stack();
        let mut disks = Vec::new();
        match stack {
            Ok(stack) => {
                let files = stack.disks.iter().map(|disk| open(&probe.real(&disk.join("stat"))));
                match files.collect::<Result<Vec<File>, Reason>>() {
                    Ok(files) => disks = files,
                    Err(reason) => missing.push(format!("disk counters: {reason}")),
                }
            }
            Err(reason) => missing.push(format!("disk counters: {reason}")),
        }
        let top_file = stack.as_ref().ok().map(|stack| probe.real(&stack.top.join("stat")));
        let top = stack.as_ref().ok().map(|stack| name(&stack.top));
        let mut keep = |what: &str, opened: Result<File, Reason>| match opened {
            Ok(file) => Some(file),
            Err(reason) => {
                missing.push(format!("{what}: {reason}"));
                None
            }
        };
        let process = keep("this process's I/O", open(Path::new("/proc/self/io")));
        let cpu_pressure = keep("pressure on CPUs", open(Path::new("/proc/pressure/cpu")));
        let io_pressure = keep("pressure on I/O", open(Path::new("/proc/pressure/io")));
        let journal = journal(probe, top.as_deref());
        let f2fs = |names: [&str; 2]| -> Vec<File> {
            let Some(top) = &top else { return Vec::new() };
            let directory = Path::new("/sys/fs/f2fs").join(top);
            let files = names.into_iter().map(|name| open(&probe.real(&directory.join(name))));
            files.collect::<Result<_, _>>().unwrap_or_default()
        };
        let checkpoints = f2fs(["cp_foreground_calls", "cp_background_calls"]);
        let cleanings = f2fs(["gc_foreground_calls", "gc_background_calls"]);
        if journal.is_none() {
            missing.push("commits of a journal: no /proc/fs/jbd2 of this filesystem".to_owned());
        }
        if checkpoints.is_empty() {
            missing.push("checkpoints and cleaning: no such counters in /sys/fs/f2fs".to_owned());
        }
        CounterWatch {
            disks,
            top: top_file.and_then(|file| open(&file).ok()),
            process,
            beside: Beside::default(),
            cpu_pressure,
            io_pressure,
            journal,
            checkpoints,
            cleanings,
            missing,
        }
    }

    /// What could not be opened, and why.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Reads all counters now. `hottest` is the storage's temperature in thousandths of a degree,
    /// if known.
    pub fn look(&mut self, hottest: Option<i64>) -> Look {
        let mut counts = self.disk().unwrap_or_default();
        if let Some(top) = self.top.as_ref().and_then(|file| disk(&text(file)?)) {
            (counts.discards, counts.discard_ns) = (top.discards, top.discard_ns);
        }
        let beside = self.beside.bytes();
        let own = self.process.as_ref().and_then(bytes_of);
        counts.own_bytes = own.map(|own| own.saturating_minus(beside));
        counts.cpu_pressure_ns = self.cpu_pressure.as_ref().and_then(pressure);
        counts.io_pressure_ns = self.io_pressure.as_ref().and_then(pressure);
        counts.commits =
            self.journal.as_ref().and_then(|path| transactions(&File::open(path).ok()?));
        counts.checkpoints = sum(&self.checkpoints);
        counts.cleanings = sum(&self.cleanings);
        counts.hottest_millicelsius = hottest;
        Look { at: now(), counts }
    }

    fn disk(&self) -> Option<Surroundings> {
        let mut sum: Option<Surroundings> = None;
        for file in &self.disks {
            let disk = disk(&text(file)?)?;
            sum = Some(sum.map_or(disk, |sum| sum.plus(&disk)));
        }
        sum
    }
}

/// The journal's own account: `/proc/fs/jbd2/DEVICE-INODE/info`.
fn journal(probe: &Probe, top: Option<&str>) -> Option<PathBuf> {
    let directory = probe.real(Path::new("/proc/fs/jbd2"));
    let of_device = |name: &str| {
        let (device, inode) = name.rsplit_once('-').unwrap_or((name, ""));
        Some(device) == top && inode.bytes().all(|byte| byte.is_ascii_digit())
    };
    let entries = std::fs::read_dir(&directory).ok()?.flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let found = names.find(|name| of_device(name))?;
    let path = directory.join(found).join("info");
    open(&path).is_ok().then_some(path)
}

/// The I/O of the threads that run beside the measured operations; after a thread has ended, its
/// last reading counts.
#[derive(Debug, Default)]
struct Beside(BTreeMap<String, Option<(File, Bytes)>>);

impl Beside {
    fn bytes(&mut self) -> Bytes {
        let tasks = Path::new("/proc/self/task");
        for entry in std::fs::read_dir(tasks).into_iter().flatten().flatten() {
            let task = entry.file_name().to_string_lossy().into_owned();
            if self.0.contains_key(&task) {
                continue;
            }
            let of = |file: &str| -> PathBuf { tasks.join(&task).join(file) };
            let comm = std::fs::read_to_string(of("comm")).unwrap_or_default();
            let file = (comm.trim() == BESIDE).then(|| open(&of("io")).ok()).flatten();
            self.0.insert(task, file.map(|file| (file, Bytes::ZERO)));
        }
        let mut sum = Bytes::ZERO;
        for (file, read) in self.0.values_mut().flatten() {
            *read = bytes_of(file).unwrap_or(*read);
            sum = sum.plus(*read);
        }
        sum
    }
}

fn open(path: &Path) -> Result<File, Reason> {
    let file = File::open(path).map_err(|error| Reason::call("open", path, error))?;
    // Some files can be opened but not read.
    text(&file).map(|_| file).ok_or_else(|| Reason::file(path, std::io::ErrorKind::Other))
}

fn text(file: &File) -> Option<String> {
    let mut text = [0u8; LONGEST];
    let length = file.read_at(&mut text, 0).ok()?;
    Some(String::from_utf8_lossy(text.get(..length)?).into_owned())
}

/// A disk's `stat`: Documentation/block/stat.rst.
fn disk(text: &str) -> Option<Surroundings> {
    let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let at = |index: usize| numbers.get(index).copied();
    let sectors = at(2)?.saturating_add(at(6)?);
    Some(Surroundings {
        disk_bytes: Some(Bytes(sectors.saturating_mul(512))),
        disk_requests: Some(at(0)?.saturating_add(at(4)?)),
        disk_busy_ns: at(9).map(Nanos::from_millis),
        discards: at(11),
        discard_ns: at(14).map(Nanos::from_millis),
        flushes: at(15),
        flush_ns: at(16).map(Nanos::from_millis),
        ..Surroundings::default()
    })
}

/// `read_bytes` and `write_bytes` of a process's or a thread's `io`.
fn bytes_of(file: &File) -> Option<Bytes> {
    let text = text(file)?;
    let field = |name: &str| -> Option<u64> {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value?.trim().parse().ok()
    };
    Some(Bytes(field("read_bytes")?.saturating_add(field("write_bytes")?)))
}

/// The total in the `some` line of a pressure file, in microseconds.
fn pressure(file: &File) -> Option<Nanos> {
    let text = text(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    Some(Nanos::from_micros(total.parse().ok()?))
}

/// `123 transactions (45 requested), each up to 16384 blocks`.
fn transactions(file: &File) -> Option<u64> {
    text(file)?.split_whitespace().next()?.parse().ok()
}

fn sum(files: &[File]) -> Option<u64> {
    let each = files.iter().map(|file| text(file)?.trim().parse::<u64>().ok());
    let counts: Vec<u64> = each.collect::<Option<_>>()?;
    (!counts.is_empty())
        .then(|| counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count)))
}

fn now() -> Nanos {
    read_clock(ClockId::Monotonic)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::Root;

    fn file(text: &str) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn a_disks_line_is_read_by_its_columns_and_an_old_kernels_has_fewer() {
        let new = disk("8 1 16 5 9 2 32 7 0 40 50 3 0 800 11 6 12").unwrap();
        assert_eq!(new.disk_bytes, Some(Bytes(48 * 512)));
        assert_eq!(new.disk_requests, Some(17));
        assert_eq!(new.disk_busy_ns, Some(Nanos::from_millis(40)));
        assert_eq!((new.discards, new.discard_ns), (Some(3), Some(Nanos::from_millis(11))));
        assert_eq!((new.flushes, new.flush_ns), (Some(6), Some(Nanos::from_millis(12))));
        let old = disk("8 1 16 5 9 2 32 7 0 40 50").unwrap();
        assert_eq!((old.discards, old.flushes), (None, None));
        assert_eq!(disk("8 x"), None);
        assert_eq!(disk(""), None);
    }

    #[test]
    fn accounts_are_read_by_their_words() {
        let io = file("rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 7\n");
        assert_eq!(bytes_of(&io), Some(Bytes(12_288)));
        assert_eq!(bytes_of(&file("rchar: 9\n")), None);
        let some = file("some avg10=0.98 avg60=0.85 avg300=0.61 total=7654511\nfull total=1\n");
        assert_eq!(pressure(&some), Some(Nanos::from_micros(7_654_511)));
        assert_eq!(pressure(&file("full total=1\n")), None);
        let info = file("123 transactions (45 requested), each up to 16384 blocks\naverage:\n");
        assert_eq!(transactions(&info), Some(123));
        assert_eq!(transactions(&file("\n")), None);
        assert_eq!(sum(&[file("3\n"), file("4\n")]), Some(7));
        assert_eq!(sum(&[file("3\n"), file("x\n")]), None);
        assert_eq!(sum(&[]), None);
    }

    #[test]
    fn the_io_of_a_background_is_counted_apart_while_it_lives_and_after() {
        let mut beside = Beside::default();
        assert_eq!(beside.bytes(), Bytes::ZERO);
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (say, ready) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name(BESIDE.to_owned()).spawn(move || {
            say.send(()).unwrap();
            let _ = ended.recv();
        });
        ready.recv().unwrap();
        let before = beside.bytes();
        assert_eq!(beside.0.values().flatten().count(), 1);
        drop(end);
        thread.unwrap().join().unwrap();
        assert_eq!(beside.bytes(), before);
    }

    #[test]
    fn readings_go_on_and_what_is_missing_has_a_reason() {
        let home = tempfile::tempdir().unwrap();
        let mut watch = CounterWatch::open(&Probe::open(&Root::system(), home.path()));
        let (first, second) = (watch.look(None), watch.look(Some(31_000)));
        assert!(second.at >= first.at);
        assert_eq!(second.counts.hottest_millicelsius, Some(31_000));
        let lacks = |word: &str| watch.missing().iter().any(|reason| reason.contains(word));
        assert_eq!(second.counts.disk_bytes.is_none(), lacks("disk counters"));
        assert_eq!(second.counts.commits.is_none(), lacks("commits"));
        assert_eq!(second.counts.checkpoints.is_none(), lacks("checkpoints"));
    }
}
