//! Programs in the kernel on its tracepoints: every event with its file, without mounting anything.
//!
//! The programs are in `bpf/`, compiled by `scripts/bpf` and stored with the source, so that a
//! build needs no compiler for them. They attach to raw tracepoints, which need neither kprobes nor
//! tracefs, and find the fields of the kernel's structures by its type information (CO-RE). The
//! kernel must be 5.8 or newer, with `/sys/kernel/btf/vmlinux`.

mod assemble;
mod calls;
mod object;
mod record;
mod refused;

use std::time::{Duration, Instant};

use aya::maps::{HashMap, MapData, PerCpuArray, RingBuf};
use aya::programs::{BtfTracePoint, ProgramError, RawTracePoint};
use aya::{Btf, Ebpf, EbpfLoader};
use flashlag_schema::trace::TraceLayer;
use flashlag_spec::TraceSourceKind;
use flashlag_trace::Builder;
use flashlag_units::{Nanos, counted};

use self::assemble::Assembly;
use self::object::Object;
use self::record::Record;
use crate::error::LiveError;
use crate::places::Places;
use crate::source::{KernelCost, Scope, Source, monotonic};

/// What the kernel needs for this, in words.
const NEEDS: &str = "it needs root (or the capabilities BPF and PERFMON) and Linux 5.8 or newer with \
                     /sys/kernel/btf/vmlinux";

/// A program, its tracepoint, and what is lost if a kernel lacks the tracepoint.
type Attached = (&'static str, &'static str, Option<&'static str>);

/// All programs but those of F2FS.
const PROGRAMS: [Attached; 11] = [
    ("enter", "sys_enter", None),
    ("leave", "sys_exit", None),
    ("thread_exit", "sched_process_exit", None),
    ("fork", "sched_process_fork", None),
    ("queue", "block_bio_queue", Some("the threads that issue block requests")),
    ("issue", "block_rq_issue", Some("requests to block devices")),
    ("complete", "block_rq_complete", Some("requests to block devices")),
    ("commit_begins", "jbd2_start_commit", Some("commits of ext4's journal")),
    ("commit_ends", "jbd2_end_commit", Some("commits of ext4's journal")),
    ("ring_submit_request", "io_uring_submit_req", Some("writes through io_uring")),
    ("ring_complete", "io_uring_complete", Some("writes through io_uring")),
];

/// Programs for F2FS's tracepoints, which exist only in a kernel with F2FS.
const OF_F2FS: [Attached; 3] = [
    ("checkpoint", "f2fs_write_checkpoint", Some("checkpoints of F2FS")),
    ("cleaning_begins", "f2fs_gc_begin", Some("cleaning of F2FS")),
    ("cleaning_ends", "f2fs_gc_end", Some("cleaning of F2FS")),
];

/// How long, out of each second, the kernel counts the programs' run time: counting has a cost,
/// too.
const COUNTED: Duration = Duration::from_millis(50);
const COUNTED_EVERY: Duration = Duration::from_millis(500);

/// The source.
pub struct Programs {
    kernel: Ebpf,
    ring: RingBuf<MapData>,
    counts: PerCpuArray<MapData, u64>,
    filesystems: HashMap<MapData, u32, u8>,
    watched: std::collections::BTreeSet<u32>,
    assembly: Assembly,
    layers: Vec<TraceLayer>,
    limits: Vec<String>,
    renewed: Instant,
    run_time: RunTime,
}

/// The programs' run time in the kernel, estimated from samples.
#[derive(Default)]
struct RunTime {
    counting: Option<(std::os::fd::OwnedFd, Instant)>,
    last: Option<Instant>,
    counted: Duration,
    refused: bool,
}

fn unusable(reason: impl std::fmt::Display) -> LiveError {
    let mut missing = refused::Rights::of_this_process().missing().join("; ");
    if !missing.is_empty() {
        missing.insert_str(0, ": ");
    }
    let reason = format!("{reason}{missing}; {NEEDS}; the source tracefs needs less");
    LiveError::Unusable { source_name: "eBPF", reason }
}

impl Programs {
    /// Loads and attaches the programs.
    pub fn start(scope: &Scope, places: Places) -> Result<Programs, LiveError> {
        let arguments = calls::ARGUMENTS
            .ok_or_else(|| unusable("the registers of this processor are not known"))?;
        let btf = Btf::from_sys_fs().map_err(|error| unusable(in_words(&error)))?;
        let own = std::process::id();
        let table = calls::table();
        let disks = places.disks();
        let object = Object::unpack();
        let request_argument = u32::from(has_two_arguments(&btf, &object));
        let mut kernel = EbpfLoader::new()
            .btf(Some(&btf))
            .override_global("calls", table.as_slice(), true)
            .override_global("argument_at", arguments.as_slice(), true)
            .override_global("own", &own, true)
            .override_global("followed_only", &u32::from(scope.command_only), true)
            .override_global("request_argument", &request_argument, true)
            .override_global("compat", &u32::from(cfg!(target_arch = "x86_64")), true)
            .override_global("reads", &u32::from(scope.reads), true)
            .override_global("all_disks", &u32::from(disks.is_none()), true)
            .load(object.bytes())
            .map_err(|error| unusable(in_words(&error)))?;
        let watched = places.filesystems();
        let mut filesystems = map::<u8>(&mut kernel, "filesystems")?;
        for device in &watched {
            filesystems.insert(device, 1, 0).map_err(|error| unusable(in_words(&error)))?;
        }
        fill(&mut kernel, "disks", disks.iter().flatten())?;
        fill(&mut kernel, "followed", scope.command_only.then_some(&own).into_iter())?;
        let ring = kernel.take_map("events").ok_or_else(|| unusable("no ring"))?;
        let ring = RingBuf::try_from(ring).map_err(|error| unusable(in_words(&error)))?;
        let counts = kernel.take_map("counts").ok_or_else(|| unusable("no counters"))?;
        let counts = PerCpuArray::try_from(counts).map_err(|error| unusable(in_words(&error)))?;
        let mut programs = Programs {
            kernel,
            ring,
            counts,
            filesystems,
            watched,
            assembly: Assembly::new(monotonic(), own, places),
            layers: vec![TraceLayer::SystemCalls, TraceLayer::Filesystem, TraceLayer::Block],
            limits: limits_of(scope),
            renewed: Instant::now(),
            run_time: RunTime::default(),
        };
        programs.attach(&PROGRAMS)?;
        // An F2FS mounted later is not traced: few machines mount one during a recording.
        if programs.assembly.places.watched().any(|mount| mount.kind == "f2fs") {
            programs.attach(&OF_F2FS)?;
        }
        Ok(programs)
    }

    /// Attaches programs. A tracepoint that the kernel lacks is reported as a loss; without an
    /// essential one this fails.
    fn attach(&mut self, all: &[Attached]) -> Result<(), LiveError> {
        for &(name, tracepoint, without) in all {
            let Err(error) = attach(&mut self.kernel, name, tracepoint) else { continue };
            let reason = in_words(&error);
            let Some(lost) = without else {
                return Err(unusable(format!("the tracepoint {tracepoint}: {reason}")));
            };
            self.limits
                .push(format!("this recording lacks {lost}: tracepoint {tracepoint}: {reason}"));
            match tracepoint {
                "block_rq_issue" | "block_rq_complete" => {
                    self.layers.retain(|layer| *layer != TraceLayer::Block);
                }
                "jbd2_start_commit" | "jbd2_end_commit" => {
                    self.layers.retain(|layer| *layer != TraceLayer::Filesystem);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// New mounts become watched.
    fn renew(&mut self) {
        self.assembly.places.renew();
        for device in self.assembly.places.filesystems() {
            if self.watched.insert(device) {
                // A full table already has 4,096 filesystems.
                let _ = self.filesystems.insert(device, 1, 0);
            }
        }
        self.renewed = Instant::now();
    }

    fn counted(&self, which: u32) -> u64 {
        self.counts.get(&which, 0).map_or(0, |values| values.iter().sum())
    }

    fn drain(&mut self, to: &mut Builder) {
        while let Some(record) = self.ring.next() {
            self.assembly.add(Record::read(&record), to);
        }
    }

    /// Starts or ends counting the programs' time.
    fn sample(&mut self) {
        let run_time = &mut self.run_time;
        if run_time.refused {
            return;
        }
        match &run_time.counting {
            Some((_, since)) if since.elapsed() >= COUNTED => {
                run_time.counted += since.elapsed();
                run_time.counting = None;
            }
            Some(_) => {}
            None if run_time.last.is_none_or(|last| last.elapsed() >= COUNTED_EVERY) => {
                match aya::sys::enable_stats(aya::sys::Stats::RunTime) {
                    Ok(open) => run_time.counting = Some((open, Instant::now())),
                    Err(_) => run_time.refused = true,
                }
                run_time.last = Some(Instant::now());
            }
            None => {}
        }
    }
}

impl Source for Programs {
    fn kind(&self) -> TraceSourceKind {
        TraceSourceKind::Ebpf
    }

    fn zero(&self) -> Nanos {
        Nanos(self.assembly.start())
    }

    fn collect(&mut self, to: &mut Builder) -> Result<(), LiveError> {
        self.sample();
        if self.renewed.elapsed() >= Duration::from_secs(1) {
            self.renew();
        }
        self.drain(to);
        Ok(())
    }

    fn end(&mut self, to: &mut Builder) -> Result<(), LiveError> {
        if let Some((_, since)) = self.run_time.counting.take() {
            self.run_time.counted += since.elapsed();
        }
        self.drain(to);
        let lasted = monotonic().saturating_sub(self.assembly.start());
        let lost: u64 = (0..3).map(|which| self.counted(which)).sum();
        let (unfollowed, compat) = (self.counted(3), self.counted(4));
        let left_out = self.assembly.left_out;
        let source = to.source();
        source.kind = TraceSourceKind::Ebpf;
        source.layers.clone_from(&self.layers);
        source.lasted_ns = flashlag_units::Nanos(lasted);
        source.lost = Some(lost);
        source.limits.append(&mut self.limits);
        source.limits.extend(left_out.in_words());
        if unfollowed > 0 {
            let one = "process of the command was not followed";
            let many = "processes of the command were not followed";
            source.limits.push(counted(unfollowed, one, many));
        }
        if compat > 0 {
            source.limits.push(format!("{compat} calls of 32-bit programs are not shown"));
        }
        Ok(())
    }

    fn kernel_cost(&self) -> Option<KernelCost> {
        let programs = self.kernel.programs();
        let infos = programs.filter_map(|(_, program)| program.info().ok());
        let (time, runs) = infos.fold((Duration::ZERO, 0), |(time, runs), info| {
            (time + info.run_time(), runs + info.run_count())
        });
        (self.run_time.counted > Duration::ZERO).then_some(KernelCost {
            time,
            runs,
            counted: self.run_time.counted,
        })
    }
}

/// What this source can't distinguish.
fn limits_of(scope: &Scope) -> Vec<String> {
    let of_all = "block requests are those of all processes, not of the command alone".to_owned();
    if scope.command_only { vec![of_all] } else { Vec::new() }
}

/// Whether the request is the tracepoint's second argument: a program that reads a second argument
/// does not load if there is none.
fn has_two_arguments(btf: &Btf, object: &Object) -> bool {
    let Ok(mut kernel) = EbpfLoader::new().btf(Some(btf)).load(object.bytes()) else {
        return false;
    };
    let program = kernel.program_mut("two_arguments");
    let Some(Ok(program)) = program.map(<&mut BtfTracePoint>::try_from) else { return false };
    program.load("block_rq_issue", btf).is_ok()
}

/// Why a program of the object is not attached.
#[derive(Debug, thiserror::Error)]
enum AttachError {
    #[error("the program is missing")]
    Missing,
    #[error(transparent)]
    Kernel(#[from] ProgramError),
}

fn attach(kernel: &mut Ebpf, name: &str, tracepoint: &str) -> Result<(), AttachError> {
    let program = kernel.program_mut(name).ok_or(AttachError::Missing)?;
    let program: &mut RawTracePoint = program.try_into()?;
    program.load()?;
    program.attach(tracepoint)?;
    Ok(())
}

fn map<V: aya::Pod>(
    kernel: &mut Ebpf,
    name: &'static str,
) -> Result<HashMap<MapData, u32, V>, LiveError> {
    let map = kernel.take_map(name).ok_or_else(|| unusable(format!("no map {name}")))?;
    HashMap::try_from(map).map_err(|error| unusable(in_words(&error)))
}

fn fill<'a>(
    kernel: &mut Ebpf,
    name: &'static str,
    keys: impl Iterator<Item = &'a u32>,
) -> Result<(), LiveError> {
    let map = kernel.map_mut(name).ok_or_else(|| unusable(format!("no map {name}")))?;
    let mut map: HashMap<&mut MapData, u32, u8> =
        HashMap::try_from(map).map_err(|error| unusable(in_words(&error)))?;
    for key in keys {
        map.insert(key, 1, 0).map_err(|error| unusable(in_words(&error)))?;
    }
    Ok(())
}

/// An error with its causes, without the verifier's log.
fn in_words(error: &dyn std::error::Error) -> String {
    let mut parts = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default().trim_end_matches(':');
        if !line.is_empty() && parts.last().is_none_or(|last: &String| !last.ends_with(line)) {
            parts.push(line.to_owned());
        }
        next = error.source();
    }
    parts.join(": ")
}

#[cfg(test)]
mod tests;
