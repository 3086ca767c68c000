//! How the ledger classifies an event: the kind of data that it writes, and names to print.

use flashlag_schema::trace::{
    BlockFlags, BlockOperation, Trace, TraceAction, TraceLayer, TraceTask, TraceWrittenKind,
};
use flashlag_spec::TraceFileKind;

/// The layers that have events, or that the source is able to record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) calls: bool,
    pub(super) filesystem: bool,
    pub(super) block: bool,
}

impl Seen {
    pub(super) fn of(trace: &Trace) -> Seen {
        let says = |layer: TraceLayer| trace.source.layers.contains(&layer);
        let mut seen = Seen {
            calls: says(TraceLayer::SystemCalls),
            filesystem: says(TraceLayer::Filesystem),
            block: says(TraceLayer::Block),
        };
        for event in &trace.events {
            match event.action {
                TraceAction::Block { .. } => seen.block = true,
                TraceAction::Commit { .. }
                | TraceAction::Checkpoint { .. }
                | TraceAction::Clean { .. } => seen.filesystem = true,
                TraceAction::Write { .. } | TraceAction::Sync { .. } => seen.calls = true,
                _ => {}
            }
        }
        seen
    }
}

/// Whether a system call on the file is a write to storage.
pub(super) fn is_storage(trace: &Trace, file: u32) -> bool {
    trace.files.get(file as usize).is_none_or(|file| file.kind != TraceFileKind::NotStorage)
}

/// The kind of data that a system call on the file writes.
pub(super) fn kind_of_file(trace: &Trace, file: u32) -> TraceWrittenKind {
    trace.files.get(file as usize).map_or(TraceWrittenKind::Other, |file| file.kind.into())
}

/// The kind of data that a block request carries.
pub(super) fn kind_of_blocks(
    trace: &Trace,
    operation: BlockOperation,
    flags: BlockFlags,
    task: Option<u32>,
    file: Option<u32>,
) -> TraceWrittenKind {
    let task = task.and_then(|task| trace.tasks.get(task as usize));
    match () {
        () if operation == BlockOperation::Discard => TraceWrittenKind::Discard,
        () if flags.journal || task.is_some_and(is_journal_thread) => {
            TraceWrittenKind::FilesystemJournal
        }
        () if flags.meta => TraceWrittenKind::FilesystemMetadata,
        () => file.map_or(TraceWrittenKind::Blocks, |file| kind_of_file(trace, file)),
    }
}

/// Whether a thread writes nothing but a filesystem's journal or checkpoints: `jbd2/mmcblk0p28-8`,
/// `f2fs_ckpt-254:4`.
fn is_journal_thread(task: &TraceTask) -> bool {
    let names = [task.thread.as_deref(), task.process.as_deref()];
    let starts = ["jbd2/", "f2fs_ckpt-", "f2fs_ckpt:", "xfsaild/", "btrfs-transaction"];
    names.into_iter().flatten().any(|name| starts.iter().any(|start| name.starts_with(start)))
}

/// The name of a file, for display.
pub(super) fn file_name(trace: &Trace, index: u32) -> String {
    let Some(file) = trace.files.get(index as usize) else { return "a file".to_owned() };
    if let Some(path) = &file.path {
        return path.clone();
    }
    let device = file.device.and_then(|device| trace.devices.get(device as usize));
    match (file.inode, device, file.descriptor) {
        (Some(inode), Some(device), _) => format!("inode {inode} of {}", device.name),
        (Some(inode), None, _) => format!("inode {inode}"),
        (None, _, Some(descriptor)) => format!("descriptor {descriptor}"),
        (None, _, None) => "a file".to_owned(),
    }
}

/// The name of a thread, for display: its process's name, or its own, or its number.
pub(super) fn task_name(trace: &Trace, index: u32) -> Option<String> {
    let task = trace.tasks.get(index as usize)?;
    let number = || task.tid.map(|tid| format!("thread {tid}"));
    task.process.clone().or_else(|| task.thread.clone()).or_else(number)
}
