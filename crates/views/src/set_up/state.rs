//! The state of filesystem, device and memory, a short line each.

use flashlag_schema::counters::Throttle;
use flashlag_schema::internals::{
    Databases, DeviceInternals, Ext4Journal, FilesystemInternals, MemoryState, PortableFormat,
};
use flashlag_schema::{Environment, Limit, Limits, Run};
use flashlag_spec::Reading;
use flashlag_units::Bytes;

use super::unplugged::{lost, promise, true_size};
use crate::format;

/// The lines, each with its subject: `ext4`, `journal ordered, barriers on`. What could not be read is
/// left out. `run`: what was measured there, if it was.
pub fn state(environment: &Environment, run: Option<&Run>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut add = |subject, parts: Vec<Option<String>>| {
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            lines.push((subject, parts.join(", ")));
        }
    };
    add("space", vec![space(environment)]);
    add("true size", vec![true_size(environment, run)]);
    if let Some(internals) = &environment.internals {
        if let Some(one) = internals.filesystem.value() {
            let (subject, parts) = filesystem(one);
            add(subject, parts);
        }
        add("unplugged", vec![internals.unplugged.as_ref().map(|one| lost(one, internals))]);
        let cipher = environment.encryption.value().and_then(|one| one.cipher.clone());
        add("encryption", vec![cipher]);
        add("queue", queue(environment));
        if let Some(one) = internals.device.value() {
            let (subject, parts) = device(one);
            add(subject, parts);
        }
        add("memory", memory(&internals.memory));
        add("heat", heat(environment, &internals.thermal));
        add("databases", vec![databases(&internals.databases)]);
    }
    if let Some(found) = &environment.limits {
        add("limits", limits(found));
    }
    if let Some(life) = environment.device.life.value() {
        add(
            "wear",
            vec![Some(format!("at most {}% of the rated life used", life.used_percent_at_most))],
        );
    }
    lines
}

fn shown<T>(reading: &Reading<T>, words: impl Fn(&T) -> String) -> Option<String> {
    reading.value().map(words)
}

fn on_off(name: &'static str) -> impl Fn(&bool) -> String {
    move |on| format!("{name} {}", if *on { "on" } else { "off" })
}

fn space(environment: &Environment) -> Option<String> {
    let filesystem = &environment.filesystem;
    let (free, total) = (filesystem.free_bytes.value()?, filesystem.total_bytes.value()?);
    Some(format!("{} free of {}", format::size(*free), format::size(*total)))
}

fn queue(environment: &Environment) -> Vec<Option<String>> {
    let queue = &environment.device.queue;
    vec![
        shown(&queue.scheduler, |name| format!("scheduler {name}")),
        shown(&queue.write_cache, |mode| match mode.as_str() {
            "write back" => "write cache on".to_owned(),
            "write through" => "no write cache".to_owned(),
            other => other.to_owned(),
        }),
        shown(&queue.fua, |fua| format!("{}FUA", if *fua { "" } else { "no " })),
        shown(&queue.discard_max_bytes, |bytes| {
            if bytes.0 > 0 { "takes discards".to_owned() } else { "takes no discards".to_owned() }
        }),
    ]
}

fn journal_mode(mode: Ext4Journal) -> &'static str {
    match mode {
        Ext4Journal::None => "no journal",
        Ext4Journal::Writeback => "data=writeback",
        Ext4Journal::Ordered => "data=ordered",
        Ext4Journal::Journal => "data=journal",
    }
}

fn filesystem(internals: &FilesystemInternals) -> (&'static str, Vec<Option<String>>) {
    match internals {
        FilesystemInternals::Ext4 {
            journal,
            barrier,
            commit_s,
            fast_commits,
            lifetime_written_bytes,
            errors,
            features,
        } => (
            "ext4",
            vec![
                shown(journal, |mode| journal_mode(*mode).to_owned()),
                shown(barrier, on_off("barriers")),
                shown(commit_s, |seconds| format!("a commit every {seconds} s")),
                fast_commits
                    .value()
                    .filter(|count| **count > 0)
                    .map(|count| format!("{} fast commits since the mount", format::count(*count))),
                shown(lifetime_written_bytes, |bytes| {
                    format!("{} written so far", format::size(*bytes))
                }),
                errors.value().filter(|count| **count > 0).map(|count| format!("{count} errors")),
                shown(features, |features| {
                    let on = features.iter().any(|feature| feature == "fast_commit");
                    on_off("fast commits")(&on)
                }),
            ],
        ),
        FilesystemInternals::F2fs {
            free_segments,
            dirty_segments,
            spare_segments,
            fsync_mode,
            ipu_policy: _,
            checkpoints,
            cleanings,
            lifetime_written_bytes,
        } => (
            "F2FS",
            vec![
                shown(free_segments, |count| format!("{} free segments", format::count(*count))),
                shown(dirty_segments, |count| format!("{} dirty", format::count(*count))),
                shown(spare_segments, |count| format!("{} spare", format::count(*count))),
                shown(fsync_mode, |mode| format!("fsync_mode={mode}")),
                shown(checkpoints, |calls| {
                    format!("{} checkpoints", format::count(calls.foreground + calls.background))
                }),
                shown(cleanings, |calls| {
                    format!("{} cleanings that a write waited for", format::count(calls.foreground))
                }),
                shown(lifetime_written_bytes, |bytes| {
                    format!("{} written so far", format::size(*bytes))
                }),
            ],
        ),
        FilesystemInternals::Portable { format, by_fuse, .. } => {
            (format.name(), portable(*format, *by_fuse))
        }
        FilesystemInternals::Btrfs { compression, nodatacow } => {
            ("Btrfs", btrfs(compression.as_deref(), *nodatacow))
        }
    }
}

fn btrfs(compression: Option<&str>, nodatacow: bool) -> Vec<Option<String>> {
    let compression = match compression {
        Some(kind) => format!("compression {kind}"),
        None => "no compression".to_owned(),
    };
    vec![Some(compression), nodatacow.then(|| "overwrites in place".to_owned())]
}

fn portable(format: PortableFormat, by_fuse: bool) -> Vec<Option<String>> {
    let by = if by_fuse { "served by a FUSE daemon" } else { "by the kernel" };
    [by, "no journal", promise(format, by_fuse)].map(|words| Some(words.to_owned())).into()
}

fn device(internals: &DeviceInternals) -> (&'static str, Vec<Option<String>>) {
    match internals {
        DeviceInternals::Emmc { command_queue, cache_bytes, cache_on, background_operations } => (
            "eMMC",
            vec![
                shown(command_queue, on_off("command queue")),
                shown(cache_bytes, |bytes| format!("write cache of {}", format::size(*bytes))),
                shown(cache_on, on_off("write cache")),
                shown(background_operations, on_off("background operations")),
            ],
        ),
        DeviceInternals::Ufs {
            version,
            write_booster,
            write_booster_free_percent,
            host_map,
            gear,
            lanes,
            sleeps_after_ns,
        } => (
            "UFS",
            vec![
                shown(version, |version| format!("version {version}")),
                shown(write_booster, on_off("WriteBooster")),
                shown(write_booster_free_percent, |percent| format!("{percent}% of it free")),
                shown(host_map, on_off("HPB")),
                shown(gear, Clone::clone),
                shown(lanes, |lanes| format::plural(*lanes as usize, "lane", "lanes")),
                shown(sleeps_after_ns, |after| match after.0 {
                    0 => "link never sleeps".to_owned(),
                    _ => format!("link sleeps after {}", format::time(*after)),
                }),
            ],
        ),
        DeviceInternals::Sd {
            speed_class,
            uhs_grade,
            video_class,
            app_class,
            allocation_unit_bytes,
        } => (
            "SD card",
            vec![
                shown(speed_class, |class| format!("class {class}")),
                uhs_grade.value().filter(|grade| **grade > 0).map(|grade| format!("U{grade}")),
                video_class.value().filter(|class| **class > 0).map(|class| format!("V{class}")),
                shown(app_class, |class| match class {
                    0 => "no app performance class".to_owned(),
                    class => format!("A{class}"),
                }),
                shown(allocation_unit_bytes, |unit| {
                    format!("allocation unit of {} KiB", unit.0 >> 10)
                }),
            ],
        ),
        DeviceInternals::Nvme { wakes_within_ns } => (
            "NVMe",
            vec![shown(wakes_within_ns, |within| match within.0 {
                0 => "kept awake".to_owned(),
                _ => format!("may sleep if it wakes up within {}", format::time(*within)),
            })],
        ),
    }
}

fn heat(environment: &Environment, thermal: &Reading<Throttle>) -> Vec<Option<String>> {
    let at = |what, reading: &Reading<(i64, i64)>| {
        shown(reading, |(before, _)| format!("{what} at {:.0} °C", *before as f64 / 1000.0))
    };
    let held = thermal.value().and_then(|thermal| thermal.frequency_limit_percent);
    vec![
        at("storage", &environment.storage_temperature_millicelsius),
        at("CPU", &environment.cpu_temperature_millicelsius),
        held.filter(|percent| *percent < 100)
            .map(|percent| format!("CPU held to {percent}% of its frequency")),
    ]
}

/// The limits of control groups, and whether some groups can't be seen.
fn limits(limits: &Limits) -> Vec<Option<String>> {
    let used = |limit: &Limit| {
        let used = limit.used.map(|used| format!(", {} used", format::size(Bytes(used))));
        used.unwrap_or_default()
    };
    let set = limits.set.iter();
    let set =
        set.map(|limit| Some(format!("{} ({}{})", limit.in_words(), limit.file, used(limit))));
    // Without a list of groups nothing is known about any, so they are left out like everything
    // that can't be read.
    let unseen = limits.unseen.iter().filter(|reason| !reason.starts_with("/proc/self/cgroup"));
    set.chain(unseen.map(|reason| Some(reason.clone()))).collect()
}

fn databases(databases: &Reading<Databases>) -> Option<String> {
    let found = databases.value().filter(|found| found.databases > 0)?;
    let worst = found.worst.as_ref()?;
    let count = format::plural(found.databases as usize, "database", "databases");
    let pieces = format::plural(worst.pieces as usize, "piece", "pieces");
    let name = worst.name.as_deref().map(|name| format!("{name}, ")).unwrap_or_default();
    Some(format!("{count} found; most pieces: {name}{} in {pieces}", format::size(worst.bytes)))
}

fn memory(memory: &MemoryState) -> Vec<Option<String>> {
    vec![
        shown(&memory.available_bytes, |bytes| format!("{} available", format::size(*bytes))),
        memory
            .swapped_to_disk_bytes
            .value()
            .filter(|bytes| bytes.0 > 0)
            .map(|bytes| format!("{} swapped to a disk", format::size(*bytes))),
        memory
            .swapped_to_memory_bytes
            .value()
            .filter(|bytes| bytes.0 > 0)
            .map(|bytes| format!("{} swapped to compressed memory", format::size(*bytes))),
        shown(&memory.pressure, |pressure| {
            format!("waited for {:.1}% of the last 10 s", pressure.avg10_hundredths as f64 / 100.0)
        }),
    ]
}
