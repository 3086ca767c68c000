//! Which process modifies and closes which file, from fanotify; and how much each process writes,
//! from its counters in `/proc`. Neither has single writes, syncs or latencies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use flashlag_schema::trace::{TraceAction, TraceFile, TraceTask};
use flashlag_spec::{TraceFileKind, TraceSourceKind};
use flashlag_trace::Builder;
use flashlag_units::{Bytes, Nanos, counted};
use nix::errno::Errno;
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use rustix::fs::CWD;

use crate::counters::{Counted, Counters};
use crate::error::LiveError;
use crate::places::Places;
use crate::source::{Disks, Scope, Source, monotonic};

/// How often to read the counters: each reading goes through all processes.
const COUNTED_EVERY: Duration = Duration::from_secs(1);
/// Most reads of the queue per call, so that a flood of events can't block everything else: each
/// read has up to 170 events.
const MOST_READS: usize = 1000;

/// What this source lacks compared to tracepoints.
const LOST: [&str; 3] = [
    "single writes, their bytes and places, fsyncs, waits, commits and block requests are not seen",
    "a change means that a process modified a file between two readings, 20 a second, however \
     much it wrote",
    "bytes are those that a process sent to disks, for all of its files together; what it writes \
     just before it exits is missed",
];

/// The source.
pub struct FileEvents {
    queue: Fanotify,
    places: Places,
    marked: BTreeSet<PathBuf>,
    renewed: Instant,
    began: Instant,
    /// The monotonic clock then.
    zero: Nanos,
    own: u32,
    counters: Counters,
    counted: Instant,
    /// What was already reported for each process.
    said: BTreeMap<u32, Counted>,
    command_only: bool,
    processes: HashMap<u32, Option<String>>,
    overflows: u64,
    unmarked: BTreeMap<PathBuf, Errno>,
}

fn unusable(reason: impl std::fmt::Display) -> LiveError {
    LiveError::Unusable { source_name: "fanotify", reason: reason.to_string() }
}

impl FileEvents {
    /// Begins to watch.
    pub fn start(scope: &Scope, places: Places) -> Result<FileEvents, LiveError> {
        if scope.reads {
            return Err(unusable("reads are recorded by eBPF alone: leave out --reads"));
        }
        let flags = InitFlags::FAN_CLASS_NOTIF | InitFlags::FAN_CLOEXEC | InitFlags::FAN_NONBLOCK;
        let opened = EventFFlags::O_RDONLY | EventFFlags::O_LARGEFILE | EventFFlags::O_CLOEXEC;
        let queue = Fanotify::init(flags, opened | EventFFlags::O_NOATIME).map_err(|error| {
            unusable(match error {
                Errno::EPERM => format!("{error}: to watch whole filesystems needs root"),
                Errno::ENOSYS => "this kernel was built without".to_owned(),
                error => error.to_string(),
            })
        })?;
        let mut events = FileEvents {
            queue,
            places,
            marked: BTreeSet::new(),
            renewed: Instant::now(),
            began: Instant::now(),
            zero: Nanos(monotonic()),
            own: std::process::id(),
            counters: Counters::start(scope)?,
            counted: Instant::now(),
            said: BTreeMap::new(),
            command_only: scope.command_only,
            processes: HashMap::new(),
            overflows: 0,
            unmarked: BTreeMap::new(),
        };
        events.mark();
        if events.marked.is_empty() {
            let reasons = events.unmarked.iter();
            let reasons = reasons.map(|(path, error)| format!("{}: {error}", path.display()));
            let reasons: Vec<String> = reasons.take(3).collect();
            return Err(unusable(format!("no filesystem can be watched ({})", reasons.join("; "))));
        }
        Ok(events)
    }

    /// Watches filesystems that were mounted since the last call.
    fn mark(&mut self) {
        let mask = MaskFlags::FAN_MODIFY | MaskFlags::FAN_CLOSE_WRITE;
        for device in self.places.filesystems() {
            let Some(place) = self.places.mount_point(device) else { continue };
            if self.marked.contains(place) || self.unmarked.contains_key(place) {
                continue;
            }
            // Mark the whole filesystem (Linux 4.20), otherwise the single mount.
            let add = |of: MarkFlags| {
                self.queue.mark(MarkFlags::FAN_MARK_ADD | of, mask, CWD, Some(place))
            };
            let marked = add(MarkFlags::FAN_MARK_FILESYSTEM);
            match marked.or_else(|_| add(MarkFlags::FAN_MARK_MOUNT)) {
                Ok(()) => drop(self.marked.insert(place.to_owned())),
                Err(error) => drop(self.unmarked.insert(place.to_owned(), error)),
            }
        }
        self.renewed = Instant::now();
    }

    fn at(&self) -> Nanos {
        Nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Takes the waiting events, each process and file once.
    fn drain(&mut self, to: &mut Builder) -> Result<(), LiveError> {
        // By process, file and inode: whether it was modified, and whether it was closed.
        let mut seen: BTreeMap<(u32, String, u64), (bool, bool)> = BTreeMap::new();
        for _ in 0..MOST_READS {
            let events = match self.queue.read_events() {
                Ok(events) => events,
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => continue,
                // The file of an event can't be opened: skip that event.
                Err(Errno::ENXIO | Errno::ETXTBSY | Errno::EACCES | Errno::ENOENT) => {
                    self.overflows += 1;
                    continue;
                }
                Err(error) => {
                    let reason = error.to_string();
                    return Err(LiveError::Failed { source_name: "fanotify", reason });
                }
            };
            for event in &events {
                if event.mask().contains(MaskFlags::FAN_Q_OVERFLOW) {
                    self.overflows += 1;
                }
                let (Ok(pid), Some(file)) = (u32::try_from(event.pid()), event.fd()) else {
                    continue;
                };
                if pid == self.own || !self.is_watched(pid) {
                    continue;
                }
                let Some((path, inode)) = path_of(&file) else { continue };
                let known = seen.entry((pid, path, inode)).or_default();
                known.0 |= event.mask().contains(MaskFlags::FAN_MODIFY);
                known.1 |= event.mask().contains(MaskFlags::FAN_CLOSE_WRITE);
            }
        }
        let t = self.at();
        for ((pid, path, inode), (changed, closed)) in seen {
            let task = self.task(pid, to);
            let kind = TraceFileKind::Other;
            let (path, inode) = (Some(path), Some(inode));
            let file = to.file(TraceFile { path, inode, kind, ..TraceFile::default() });
            if changed {
                to.event(t, None, Some(task), TraceAction::Change { file });
            }
            if closed {
                to.event(t, None, Some(task), TraceAction::Close { file });
            }
        }
        Ok(())
    }

    fn is_watched(&self, pid: u32) -> bool {
        !self.command_only || self.counters.descends(pid)
    }

    fn task(&mut self, pid: u32, to: &mut Builder) -> u32 {
        let name = self.processes.entry(pid).or_insert_with(|| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            Some(name.trim_end_matches('\n').to_owned())
        });
        let (process, thread) = (name.clone(), None);
        to.task(TraceTask { tid: Some(pid), pid: Some(pid), process, thread })
    }

    /// Adds what each process wrote since the last time.
    fn count(&mut self, to: &mut Builder) {
        self.counters.collect();
        let t = self.at();
        for (pid, now) in self.counters.by_process() {
            let before = self.said.insert(pid, now.clone()).unwrap_or_default();
            let writes = now.writes.saturating_sub(before.writes);
            let bytes = Bytes(now.to_disk.0.saturating_sub(before.to_disk.0));
            if bytes == Bytes::ZERO {
                continue;
            }
            self.processes.entry(pid).or_insert(Some(now.name));
            let task = self.task(pid, to);
            to.event(t, None, Some(task), TraceAction::Counted { writes, bytes });
        }
        // By the next reading the number may belong to another process, or the process may have
        // executed another program.
        self.processes.clear();
        self.counted = Instant::now();
    }
}

impl Source for FileEvents {
    fn kind(&self) -> TraceSourceKind {
        TraceSourceKind::Fanotify
    }

    fn zero(&self) -> Nanos {
        self.zero
    }

    fn collect(&mut self, to: &mut Builder) -> Result<(), LiveError> {
        if self.renewed.elapsed() >= Duration::from_secs(1) {
            self.places.renew();
            self.mark();
        }
        // A command's processes are recognised when the counters are read.
        if self.command_only || self.counted.elapsed() >= COUNTED_EVERY {
            self.count(to);
        }
        self.drain(to)
    }

    fn end(&mut self, to: &mut Builder) -> Result<(), LiveError> {
        self.drain(to)?;
        self.count(to);
        let lasted = self.at();
        let source = to.source();
        source.kind = TraceSourceKind::Fanotify;
        source.lasted_ns = lasted;
        source.lost = Some(self.overflows);
        source.limits.extend(LOST.map(str::to_owned));
        if self.command_only {
            source.limits.push(
                "what the command's processes change is missed if they end between two readings"
                    .to_owned(),
            );
        }
        for (place, error) in &self.unmarked {
            source.limits.push(format!("{} is not watched: {error}", place.display()));
        }
        let refused = self.counters.refused.len();
        if refused > 0 {
            let words = "process does not let its counters be read";
            let many = "processes do not let their counters be read";
            source.limits.push(counted(refused as u64, words, many));
        }
        Ok(())
    }

    fn disks(&self) -> Option<Disks> {
        self.counters.disks().ok()
    }
}

/// The path of an open file, and its inode number.
fn path_of(file: &impl AsFd) -> Option<(String, u64)> {
    let file = file.as_fd();
    let status = rustix::fs::fstat(file).ok()?;
    let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let path = path.to_string_lossy();
    // The kernel appends this if the name was unlinked, even if the file has another one.
    let is_gone = || fs::symlink_metadata(&*path).is_err();
    let name = path.strip_suffix(" (deleted)").filter(|_| is_gone());
    Some((name.unwrap_or(&path).to_owned(), status.st_ino))
}
