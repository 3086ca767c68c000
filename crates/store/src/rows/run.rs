use flashlag_explain::LagVerdict;
use flashlag_schema::{Run, RunStatus, TargetKind};
use flashlag_spec::{Reading, Verdict};
use flashlag_views::device_name;

use super::state::{age, found_filled_percent, kind};
use super::{ColumnOf, short};
use crate::standing::Standing;
use crate::table::Kind::{Boolean, Integer, Real, Text};

/// A run file. If it can't be read, only its name, its size and the reason are known.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// The file, relative to the folder.
    pub file: String,
    /// SHA-256 of the file.
    pub file_sha256: String,
    /// Its size.
    pub file_bytes: u64,
    /// Whether it counts.
    pub standing: Standing,
    /// Why not.
    pub reason: Option<String>,
    /// Checksum of the run as it was measured.
    pub run: Option<String>,
    /// Hash of the measurement: equal in all copies.
    pub measurement_sha256: Option<String>,
    /// The file that counts instead.
    pub copy_of: Option<String>,
    /// Whether it was made by `flashlag share`.
    pub shared: bool,
    /// The run's own facts.
    pub facts: Option<RunFacts>,
}

/// The facts of a run, without private parts.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFacts {
    /// Name of the device, as in every view.
    pub device: String,
    /// `emmc`, `sd`, `ufs`, …
    pub kind: Option<String>,
    /// Model that the device reports.
    pub model: Option<String>,
    pub firmware: Option<String>,
    pub size_bytes: Option<u64>,
    /// The machine around it.
    pub machine: Option<String>,
    pub system: Option<String>,
    pub kernel: Option<String>,
    pub target: TargetKind,
    /// The profile of a virtual device.
    pub profile: Option<String>,
    pub filesystem: Option<String>,
    pub mount_options: Option<String>,
    /// The mount option that keeps a sync from flushing the device.
    pub no_flush: Option<String>,
    /// The filesystems above it, from the top.
    pub above: Option<String>,
    /// Fill level of the filesystem before the run.
    pub filled_percent: Option<f64>,
    /// Age of the device.
    pub age: Option<String>,
    /// The scenario's name.
    pub scenario: String,
    pub scenario_hash: String,
    pub seed: u64,
    /// When it began.
    pub started: Option<String>,
    /// The version that measured.
    pub flashlag: String,
    /// How it ended.
    pub status: &'static str,
    /// Whether no check failed.
    pub trusted: bool,
    /// The worst verdict of the tests that decide.
    pub verdict: Option<LagVerdict>,
    /// Bytes that the run wrote.
    pub written_bytes: u64,
}

impl RunFacts {
    /// The facts of a run without private parts.
    pub(crate) fn of(run: &Run, verdict: Option<LagVerdict>) -> RunFacts {
        let environment = &run.environment;
        let text = |reading: &Reading<String>| reading.value().map(|text| short(text));
        let options = environment.filesystem.options.value().map(|all| short(&all.join(",")));
        let above: Vec<&str> = environment.filesystem.above().collect();
        RunFacts {
            device: short(&device_name(run)),
            kind: kind(run).map(|kind| short(&kind)),
            model: text(&environment.device.model),
            firmware: text(&environment.device.firmware),
            size_bytes: environment.device.size_bytes.value().map(|bytes| bytes.0),
            machine: text(&environment.software.machine),
            system: text(&environment.software.system),
            kernel: text(&environment.software.kernel),
            target: run.target.kind,
            profile: run.target.profile.as_ref().map(|profile| short(&profile.name)),
            filesystem: text(&environment.filesystem.kind),
            mount_options: options,
            no_flush: environment.filesystem.option_without_flush().map(short),
            above: (!above.is_empty()).then(|| short(&above.join(","))),
            filled_percent: found_filled_percent(run),
            age: age(run).map(|age| short(&age)),
            scenario: short(&run.scenario.name),
            scenario_hash: short(&run.scenario.hash),
            seed: run.scenario.seed,
            started: run.started.as_deref().map(short),
            flashlag: short(&run.flashlag.version),
            status: status(&run.status),
            trusted: run.trust.verdict == Verdict::Trusted,
            verdict,
            written_bytes: run.wear.written_bytes.0,
        }
    }

    /// Whether a model was measured and not a device.
    pub fn is_simulated(&self) -> bool {
        self.target == TargetKind::Simulated
    }
}

fn status(status: &RunStatus) -> &'static str {
    match status {
        RunStatus::Running { .. } => "running",
        RunStatus::Complete => "complete",
        RunStatus::Interrupted { .. } => "interrupted",
        RunStatus::Failed { .. } => "failed",
    }
}

/// As in the run file.
pub(crate) fn target_name(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::Path => "path",
        TargetKind::Simulated => "simulated",
        TargetKind::Lab => "lab",
        TargetKind::Phone => "phone",
        TargetKind::Imported => "imported",
    }
}

/// A cell of a run's own facts.
macro_rules! fact {
    ($name:literal, $kind:ident, $about:literal, $value:expr) => {
        ColumnOf {
            name: $name,
            kind: $kind,
            about: $about,
            value: |row| {
                let value: fn(&RunFacts) -> crate::table::Value = $value;
                row.facts.as_ref().map_or(crate::table::Value::Null, value)
            },
        }
    };
}

/// The columns of a run.
#[rustfmt::skip]
pub const RUNS: &[ColumnOf<RunRow>] = &[
    ColumnOf { name: "file", kind: Text, about: "the file, relative to the folder", value: |r| (&r.file).into() },
    ColumnOf { name: "standing", kind: Text, about: "good, copy, untrusted, unverified, unreadable", value: |r| r.standing.name().into() },
    ColumnOf { name: "reason", kind: Text, about: "why the run does not count", value: |r| r.reason.as_ref().into() },
    ColumnOf { name: "run", kind: Text, about: "checksum of the run as it was measured", value: |r| r.run.as_ref().into() },
    fact!("device", Text, "name of the device, as in every view", |r| (&r.device).into()),
    fact!("kind", Text, "emmc, sd, ufs, nvme, ...; of a model what its profile names", |r| r.kind.as_ref().into()),
    fact!("model", Text, "model, as the device reports it", |r| r.model.as_ref().into()),
    fact!("firmware", Text, "firmware, as the device reports it", |r| r.firmware.as_ref().into()),
    fact!("size_bytes", Integer, "size of the device", |r| r.size_bytes.into()),
    fact!("machine", Text, "product or board", |r| r.machine.as_ref().into()),
    fact!("system", Text, "distribution or Android build", |r| r.system.as_ref().into()),
    fact!("kernel", Text, "kernel", |r| r.kernel.as_ref().into()),
    fact!("target", Text, "path, simulated, lab, phone, imported", |r| target_name(r.target).into()),
    fact!("profile", Text, "profile of a virtual device", |r| r.profile.as_ref().into()),
    fact!("filesystem", Text, "filesystem", |r| r.filesystem.as_ref().into()),
    fact!("mount_options", Text, "mount options, without private ones", |r| r.mount_options.as_ref().into()),
    fact!("no_flush", Text, "mount option by which a sync flushes no device: nobarrier, ...", |r| r.no_flush.as_ref().into()),
    fact!("above", Text, "filesystems above it, from the top: fuse, overlay", |r| r.above.as_ref().into()),
    fact!("filled_percent", Real, "share of the filesystem in use before the run", |r| r.filled_percent.into()),
    fact!("age", Text, "new or aged:... of a virtual device; else the share of rated life used", |r| r.age.as_ref().into()),
    fact!("scenario", Text, "scenario", |r| (&r.scenario).into()),
    fact!("scenario_hash", Text, "runs with equal hashes did the same", |r| (&r.scenario_hash).into()),
    fact!("seed", Integer, "seed", |r| r.seed.into()),
    fact!("started", Text, "when it began, RFC 3339; absent in virtual time", |r| r.started.as_ref().into()),
    fact!("flashlag", Text, "version that measured", |r| (&r.flashlag).into()),
    fact!("status", Text, "complete, running, interrupted, failed", |r| r.status.into()),
    fact!("trusted", Boolean, "whether no check failed", |r| r.trusted.into()),
    fact!("verdict", Text, "worst of the tests that decide", |r| r.verdict.map(LagVerdict::name).into()),
    fact!("written_bytes", Integer, "bytes that the run wrote", |r| r.written_bytes.into()),
    ColumnOf { name: "shared", kind: Boolean, about: "whether it was made by flashlag share", value: |r| r.shared.into() },
    ColumnOf { name: "copy_of", kind: Text, about: "the file with the same measurement that counts", value: |r| r.copy_of.as_ref().into() },
    ColumnOf { name: "measurement_sha256", kind: Text, about: "hash of the measurements, equal in \
         all copies", value: |r| r.measurement_sha256.as_ref().into() },
    ColumnOf { name: "file_sha256", kind: Text, about: "hash of the file", value: |r| (&r.file_sha256).into() },
    ColumnOf { name: "file_bytes", kind: Integer, about: "size of the file", value: |r| r.file_bytes.into() },
];
