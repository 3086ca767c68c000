//! The kernel's tracepoints as text, from a tracefs instance of flashlag's own.

mod instance;
mod look;

use flashlag_schema::trace::TraceLayer;
use flashlag_spec::TraceSourceKind;
use flashlag_trace::{Builder, TracepointText, numbers_of_calls};
use flashlag_units::{Nanos, count};

pub(crate) use self::instance::sweep;
use self::instance::{Instance, unusable};
use self::look::Machine;
use crate::error::LiveError;
use crate::places::Places;
use crate::source::{Scope, Source, monotonic};

/// System calls that have tracepoints of their own.
const CALLS: [&str; 10] = [
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "fsync",
    "fdatasync",
    "ftruncate",
    "sync",
    "syncfs",
];

/// The layer that a tracepoint of the filesystems or of block devices shows, with the sentence for
/// a kernel without it. One alternative of a row is enough.
const TRACEPOINTS: [(&[&str], Option<&str>); 9] = [
    (&["ext4/ext4_da_write_begin", "f2fs/f2fs_write_begin"], Some(NAMES)),
    (&["ext4/ext4_write_begin"], None),
    (&["ext4/ext4_sync_file_enter", "f2fs/f2fs_sync_file_enter"], Some(NAMES)),
    (&["ext4/ext4_sync_file_exit", "f2fs/f2fs_sync_file_exit"], None),
    (&["ext4/ext4_unlink_enter"], Some("removals of files are not seen")),
    (
        &["jbd2/jbd2_start_commit", "f2fs/f2fs_write_checkpoint"],
        Some("commits of the filesystem are not seen"),
    ),
    (&["jbd2/jbd2_end_commit", "f2fs/f2fs_gc_begin"], None),
    (&["f2fs/f2fs_gc_end"], None),
    (&["block/block_rq_requeue"], None),
];
const NAMES: &str = "files are named only while a process has them open";
/// Tracepoints of block requests: all three, or the layer is absent.
const BLOCK: [&str; 3] =
    ["block/block_bio_queue", "block/block_rq_issue", "block/block_rq_complete"];

/// What this source lacks compared to eBPF programs.
const LOST: [&str; 3] = [
    "opens, closes, renames, memory maps and io_uring's direct writes are not in the kernel's text",
    "a file has a number instead of a name if the kernel no longer has its name in memory when \
     flashlag reads the event",
    "an unlink that fails is shown as one that succeeded",
];

/// The source.
pub struct Tracefs {
    instance: Instance,
    text: TracepointText,
    start: u64,
    layers: Vec<TraceLayer>,
    limits: Vec<String>,
}

impl Tracefs {
    /// Creates the instance and enables tracepoints.
    ///
    /// # Errors
    /// tracefs is not mounted or not accessible, or the kernel lacks something that is needed.
    pub fn start(scope: &Scope, places: Places) -> Result<Tracefs, LiveError> {
        if scope.reads {
            return Err(unusable("reads are recorded by eBPF alone: leave out --reads"));
        }
        let own = std::process::id();
        let instance = Instance::new(scope.mount_tracefs, own)?;
        let mut limits: Vec<String> = LOST.map(str::to_owned).to_vec();
        let mut layers = Vec::new();
        if calls(&instance, own, &mut limits)? {
            layers.push(TraceLayer::SystemCalls);
        }
        for (alternatives, without) in TRACEPOINTS {
            let some = alternatives.iter().filter(|one| instance.enable(one, None).is_ok()).count();
            if let (0, Some(without)) = (some, without) {
                limits.push(format!("{without}: this kernel has no {}", alternatives.join(" or ")));
            }
        }
        if instance.has("jbd2/jbd2_end_commit") || instance.has("f2fs/f2fs_write_checkpoint") {
            layers.push(TraceLayer::Filesystem);
        }
        match BLOCK.iter().try_for_each(|one| instance.enable(one, None)) {
            Ok(()) => layers.push(TraceLayer::Block),
            Err(error) => limits.push(format!("requests to block devices are not seen: {error}")),
        }
        if layers.is_empty() {
            return Err(unusable("this kernel has none of the tracepoints that flashlag needs"));
        }
        if scope.command_only {
            instance.enable("sched/sched_process_fork", None)?;
            instance.enable("sched/sched_process_exit", None)?;
            limits.push(
                "block requests are those of all processes, not of the command alone".to_owned(),
            );
        }
        let start = monotonic();
        instance.set("tracing_on", "1")?;
        let look = Machine::new(own, places, scope.command_only);
        let text = TracepointText::new(Nanos(start), Box::new(look));
        Ok(Tracefs { instance, text, start, layers, limits })
    }

    fn drain(&mut self, to: &mut Builder) -> Result<(), LiveError> {
        loop {
            let piece = self.instance.read().map_err(|error| LiveError::Failed {
                source_name: "tracefs",
                reason: error.to_string(),
            })?;
            if piece.is_empty() {
                return Ok(());
            }
            self.text.take(piece, to);
        }
    }
}

/// Enables the tracepoints of system calls, by name or by number; returns whether the kernel has
/// them.
fn calls(instance: &Instance, own: u32, limits: &mut Vec<String>) -> Result<bool, LiveError> {
    let others = format!("common_pid != {own}");
    if instance.has("syscalls/sys_enter_fsync") {
        for call in CALLS {
            for end in ["enter", "exit"] {
                instance.enable(&format!("syscalls/sys_{end}_{call}"), Some(&others))?;
            }
        }
        limits.push("calls of 32-bit programs are not shown".to_owned());
        return Ok(true);
    }
    let without =
        "system calls are not seen, only what filesystems make of them: this kernel has no";
    let Some(numbers) = numbers_of_calls() else {
        limits.push(format!("{without} syscalls/sys_enter_fsync"));
        return Ok(false);
    };
    let ids: Vec<String> = numbers.iter().map(|number| format!("id == {number}")).collect();
    let filter = format!("{others} && ({})", ids.join(" || "));
    let ends = ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"];
    if ends.iter().any(|end| instance.enable(end, Some(&filter)).is_err()) {
        limits.push(format!("{without} raw_syscalls"));
        return Ok(false);
    }
    limits.push("calls of 32-bit programs have numbers of their own, and are misread".to_owned());
    Ok(true)
}

impl Source for Tracefs {
    fn kind(&self) -> TraceSourceKind {
        TraceSourceKind::Tracefs
    }

    fn zero(&self) -> Nanos {
        Nanos(self.start)
    }

    fn collect(&mut self, to: &mut Builder) -> Result<(), LiveError> {
        self.drain(to)
    }

    fn end(&mut self, to: &mut Builder) -> Result<(), LiveError> {
        self.instance.set("tracing_on", "0")?;
        self.drain(to)?;
        self.text.end(to);
        let lasted = monotonic().saturating_sub(self.start);
        let unknown = self.text.unknown_calls();
        let source = to.source();
        source.kind = TraceSourceKind::Tracefs;
        source.layers.clone_from(&self.layers);
        source.lasted_ns = Nanos(lasted);
        // The text's own marks of lost events refer to the same events.
        source.lost = Some(self.instance.lost());
        source.limits.append(&mut self.limits);
        if unknown > 0 {
            source.limits.push(format!(
                "{} calls are not shown: when flashlag read them, their descriptors were closed, \
                 so it is not known whether they were files",
                count(unknown)
            ));
        }
        Ok(())
    }
}
