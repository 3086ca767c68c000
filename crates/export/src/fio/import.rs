//! fio's `json+` as a run.

use std::collections::{BTreeMap, BTreeSet};

use flashlag_schema::{
    Environment, Lag, LatencySummary, Ledger, Phase, Program, Run, RunStatus, ScenarioRecord,
    Skipped, StoredHistogram, Target, TargetKind, Wear,
};
use flashlag_spec::scenario::{Durability, EngineKind, hash_of_text};
use flashlag_spec::{Operation, Reading, State};
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos, per_second};
use serde_json::Value;

use super::bins::histogram_of;
use super::clients::Clients;
use super::error::FioFileError;
use super::extension::Extension;
use super::failed::{error_of, why_no_bins};
use super::old::{is_old, modern};
use super::options::{Options, millis};
use super::results::{Results, jobs_of, results_in};
use super::trust::unknown_trust;

/// Reads fio's `json+` output, or what [`super::export`] wrote, as a run: one phase for each job and direction.
/// Several results in one file, those of clients (`fio --client`), text around the JSON and fio 2.x are read as
/// well; a job that failed is left out and listed. No trust check is made: all are unknown.
///
/// # Errors
/// The text has no JSON of fio or of another version, no bins (plain `json`), bins that make no
/// histogram, or nothing was measured.
pub fn import(text: &str) -> Result<Run, FioFileError> {
    let Results { results, notes } = results_in(text)?;
    let version_of =
        |root: &Value| root.get("fio version").and_then(Value::as_str).map(str::to_owned);
    let mut imported = Imported { left_out: notes, ..Imported::default() };
    let mut without_bins = None;
    for root in &results {
        let version = version_of(root).ok_or(FioFileError::NotFio)?;
        let known = ["fio-3.", "flashlag-"].iter().any(|known| version.starts_with(known));
        if !known && !is_old(&version) {
            return Err(FioFileError::Version { found: version });
        }
        imported.by_us = version.starts_with("flashlag-");
        imported.is_old = is_old(&version);
        let jobs = jobs_of(root);
        let clients = Clients::of(&jobs);
        for job in jobs {
            let modern = imported.is_old.then(|| modern(job));
            let client = clients.name(job);
            imported.job(
                root.get("global options"),
                modern.as_ref().unwrap_or(job),
                client.as_deref(),
                &mut without_bins,
            )?;
        }
    }
    if imported.phases.is_empty() {
        return Err(without_bins.unwrap_or_else(|| imported.nothing()));
    }
    let first = results.first().ok_or(FioFileError::NotFio)?;
    let version = version_of(first).unwrap_or_default();
    Ok(imported.run(first, &version))
}

#[derive(Default)]
struct Imported {
    /// Written by [`super::export`]: latencies are a run's, flush included.
    by_us: bool,
    /// By fio 2.x, which counts whole microseconds.
    is_old: bool,
    /// The parts of the file that were not read.
    left_out: Vec<String>,
    phases: Vec<Phase>,
    skipped: Vec<Skipped>,
    command: Vec<String>,
    doing: String,
    places: BTreeSet<String>,
    seed: Option<u64>,
}

impl Imported {
    /// Adds the phases of a job. One without bins is listed as left out, and the reason kept for a file in which no
    /// job has any.
    fn job(
        &mut self,
        global: Option<&Value>,
        job: &Value,
        host: Option<&str>,
        without_bins: &mut Option<FioFileError>,
    ) -> Result<(), FioFileError> {
        let name = job.get("jobname").and_then(Value::as_str).unwrap_or("job");
        let name = host.map_or_else(|| name.to_owned(), |host| format!("{name} on {host}"));
        let options = Options::of(global, job.get("job options"));
        self.command.push(format!("--name={name}"));
        self.command.extend(options.arguments().filter(|text| !text.starts_with("--name=")));
        self.doing.push_str(&format!("[{name}]\n{}", options.doing()));
        self.seed = self.seed.or(options.number("randseed"));
        self.places.extend(options.get("filename").or(options.get("directory")).map(str::to_owned));
        let moved = |direction: &str| {
            let side = job.get(direction)?;
            let count = ["total_ios", "io_bytes"]
                .map(|field| side.get(field).and_then(Value::as_u64).unwrap_or(0));
            count.iter().any(|count| *count > 0).then_some(side)
        };
        let both = moved("read").is_some() && moved("write").is_some();
        for direction in ["read", "write"] {
            if let Some(side) = moved(direction) {
                let title = if both { format!("{name}_{direction}") } else { name.clone() };
                match self.phase(&name, title.clone(), direction, &options, job, side) {
                    Ok(phase) => self.phases.push(phase),
                    Err(FioFileError::NoBins { job, direction, why }) => {
                        self.leave_out(title, why.clone());
                        without_bins.get_or_insert(FioFileError::NoBins { job, direction, why });
                    }
                    Err(other) => return Err(other),
                }
            }
        }
        if let Some(error) =
            error_of(job).filter(|_| !both && moved("read").or(moved("write")).is_none())
        {
            self.leave_out(
                name.clone(),
                format!("fio ended the job with {error}, before it had done anything"),
            );
        }
        if moved("trim").is_some() {
            let why = "fio's trims are not imported: only reads and writes are";
            self.leave_out(format!("{name}_trim"), why.to_owned());
        }
        Ok(())
    }

    fn leave_out(&mut self, step: String, reason: String) {
        self.skipped.push(Skipped { step, state: State::New, reason });
    }

    /// The refusal of a file without any phase, with what fio reports about its jobs.
    fn nothing(&self) -> FioFileError {
        let said = |skipped: &Skipped| format!("{}: {}", skipped.step, skipped.reason);
        let said: Vec<String> = self.skipped.iter().take(3).map(said).collect();
        let why = if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) };
        FioFileError::Nothing { why }
    }

    fn phase(
        &self,
        job_name: &str,
        title: String,
        direction: &'static str,
        options: &Options,
        job: &Value,
        side: &Value,
    ) -> Result<Phase, FioFileError> {
        let ours = job.get("flashlag");
        let mut notes = Vec::new();
        // The whole latency if fio kept its bins (--lat_percentiles=1), otherwise the latency from
        // submission.
        let mut latency = None;
        for (field, note) in LATENCIES {
            if let Some(histogram) =
                side.get(field).map(|l| histogram_of(job_name, l)).transpose()?
            {
                latency = histogram;
            }
            if latency.is_some() {
                notes.extend((!self.by_us).then(|| (*note).to_owned()));
                break;
            }
        }
        let no_bins = || {
            let why = why_no_bins(options, side, job);
            FioFileError::NoBins { job: job_name.to_owned(), direction, why }
        };
        let latency = latency.filter(|latency| latency.count() > 0).ok_or_else(no_bins)?;
        let flush = match (direction, job.pointer("/sync/lat_ns")) {
            ("write", Some(sync)) => histogram_of(job_name, sync)?,
            _ => None,
        };
        let response = match ours.and_then(|ours| ours.get("response_ns")) {
            Some(response) => histogram_of(job_name, response)?,
            None => None,
        };
        let bytes = Bytes(side.get("io_bytes").and_then(Value::as_u64).unwrap_or(0));
        let extension =
            ours.and_then(|ours| serde_json::from_value::<Extension>(ours.clone()).ok());
        let durable = self.durable(direction, options, &mut notes);
        note_what_differs(&mut notes, options, side, &latency);
        notes.extend(error_of(job).map(|error| format!("fio ended the job with {error}.")));
        if self.is_old {
            notes.push("fio 2 counts whole microseconds.".to_owned());
        }
        let run = self.repetition(&title);
        let elapsed = elapsed_of(job, side);
        // Rests belong to a closed loop.
        let rests = extension.as_ref().is_none_or(|ours| ours.think.is_none());
        let think = options.think(done_by(job), elapsed).filter(|_| rests && response.is_none());
        notes.extend(think.iter().filter_map(|(_, note)| note.clone()));
        let phase = Phase {
            run,
            think: think.map(|(think, _)| think),
            operation: options.operation(direction),
            block_bytes: options.block(direction).unwrap_or(Bytes(bytes.0 / latency.count())),
            span_bytes: options.span().unwrap_or_default(),
            queue_depth: options.queue_depth(),
            durable,
            direct: options.direct(),
            bytes,
            elapsed_ns: elapsed,
            missed_slots: response.as_ref().map(|_| 0),
            notes,
            ..blank(title, job)
        };
        Ok(with_figures(extension.unwrap_or_default().over(phase), &latency, flush, response))
    }

    /// fio counts a write and the flush after it apart, and does not say which flush belongs to
    /// which write: such a latency is that of the write alone, and is not called durable.
    fn durable(&self, direction: &str, options: &Options, notes: &mut Vec<String>) -> Durability {
        if direction == "read" {
            return Durability::None;
        }
        match options.flush_after_each() {
            Some(flush) if self.by_us => flush,
            Some(_) => {
                notes.push(
                    "fio counts each write and the flush after it apart: latency is that of the \
                     write alone, flush latency stands beside it, and a durable write takes both. \
                     For durable writes in one figure run fio with sync=dsync."
                        .to_owned(),
                );
                Durability::None
            }
            None if options.durable_by_itself() => Durability::Dsync,
            None => Durability::None,
        }
    }

    /// Jobs of one name (`numjobs`) are repetitions.
    fn repetition(&self, title: &str) -> u32 {
        let same = self.phases.iter().filter(|phase| phase.name == title).count();
        u32::try_from(same).unwrap_or(u32::MAX).saturating_add(1)
    }

    fn run(mut self, root: &Value, version: &str) -> Run {
        tell_apart(&mut self.phases);
        let stamp = root.get("timestamp_ms").and_then(Value::as_i64);
        let started = stamp.and_then(|stamp| jiff::Timestamp::from_millisecond(stamp).ok());
        let places: Vec<String> = self.places.into_iter().collect();
        let lag = self.phases.iter().filter_map(|p| p.lag).fold(Lag::default(), Lag::plus);
        let wrote = self.phases.iter().filter(|phase| phase.operation.writes_blocks());
        let written = wrote.fold(Bytes::ZERO, |sum, phase| sum.plus(phase.bytes));
        let trust = unknown_trust(self.phases.len());
        let flashlag = Program {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: Reading::unavailable("read from another tool's results"),
        };
        let scenario = ScenarioRecord {
            name: "fio".to_owned(),
            hash: hash_of_text(&self.doing),
            text: self.doing,
            settings: BTreeMap::new(),
            seed: self.seed.unwrap_or(0),
            assumptions: [
                vec!["The options are those that fio wrote with its results.".to_owned()],
                self.left_out,
            ]
            .concat(),
        };
        let target = Target {
            kind: TargetKind::Imported,
            name: if places.is_empty() { "fio".to_owned() } else { places.join(", ") },
            directory: None,
            profile: None,
        };
        let mut run = Run {
            command: [vec!["fio".to_owned()], self.command].concat(),
            started: started.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
            status: RunStatus::Complete,
            options: flashlag_schema::Options { engine: version.to_owned(), ..Default::default() },
            phases: self.phases,
            skipped: self.skipped,
            trust,
            lag,
            wear: Wear {
                written_bytes: written,
                block_bytes: Reading::unavailable(NOT_IN_FIO),
                life_percent: Reading::unavailable(NOT_IN_FIO),
            },
            ..Run::begun(flashlag, scenario, target, environment_of(root))
        };
        run.seal();
        run
    }
}

const NOT_IN_FIO: &str = "not in fio's results";

/// fio's latencies, the one that is ours first.
const LATENCIES: &[(&str, &str)] = &[
    ("lat_ns", "Latency is fio's total latency (lat)."),
    ("clat_ns", "Latency is fio's completion latency (clat), from submission on."),
];

/// Operations of a job, reads and writes.
fn done_by(job: &Value) -> u64 {
    let of = |direction| job.get(direction)?.get("total_ios")?.as_u64();
    ["read", "write"].into_iter().filter_map(of).fold(0, u64::saturating_add)
}

/// The run time of the direction; the job's if that is below fio's millisecond.
fn elapsed_of(job: &Value, side: &Value) -> Nanos {
    match millis(side.get("runtime")) {
        Nanos::ZERO => millis(job.get("job_runtime")),
        elapsed => elapsed,
    }
}

fn note_what_differs(
    notes: &mut Vec<String>,
    options: &Options,
    side: &Value,
    latency: &Histogram,
) {
    if options.is_scheduled() {
        notes.push(
            "fio ran at a set rate, but counts latency from when an operation began, not from when \
             the schedule wanted it: it is read as a closed loop."
                .to_owned(),
        );
    }
    let done = side.get("total_ios").and_then(Value::as_u64).unwrap_or(0);
    if done != latency.count() {
        let counted = latency.count();
        notes.push(format!("fio did {done} operations and kept the latency of {counted}."));
    }
    if options.span().is_none() {
        notes
            .push("The span is not known, since fio's `size` is not a number of bytes.".to_owned());
    }
}

/// Gives phases of one name in one state different names.
fn tell_apart(phases: &mut [Phase]) {
    let mut seen = BTreeMap::new();
    for phase in phases {
        let count: &mut u32 = seen.entry((phase.name.clone(), phase.state, phase.run)).or_default();
        *count += 1;
        let (again, run) = (*count, phase.run);
        if again > 1 {
            phase.name = format!("{} ({again})", phase.name);
        } else if run > 1 && phase.state == State::New {
            phase.name = format!("{} ({run})", phase.name);
        }
    }
}

/// An empty phase.
fn blank(name: String, job: &Value) -> Phase {
    let share = |field: &str| job.get(field).and_then(Value::as_f64).unwrap_or(0.0);
    Phase {
        name,
        state: State::New,
        run: 1,
        operation: Operation::RandomRead,
        block_bytes: Bytes::ZERO,
        span_bytes: Bytes::ZERO,
        queue_depth: 1,
        threads: 1,
        mixed: None,
        replay: None,
        durable: Durability::None,
        direct: false,
        engine: EngineKind::Fio,
        closed_loop: true,
        think: None,
        background: None,
        began_ns: Nanos::ZERO,
        clocks: None,
        ops: 0,
        bytes: Bytes::ZERO,
        elapsed_ns: Nanos::ZERO,
        ops_per_sec: 0.0,
        bytes_per_sec: 0.0,
        latency_ns: LatencySummary::default(),
        histogram: StoredHistogram::default(),
        flush_latency_ns: None,
        flush_histogram: None,
        response_ns: None,
        response_histogram: None,
        missed_slots: None,
        time: Reading::unavailable(format!(
            "fio gives CPU time (user {}, system {}), not how long it waited for a CPU",
            flashlag_units::percent(share("usr_cpu") / 100.0),
            flashlag_units::percent(share("sys_cpu") / 100.0)
        )),
        waits: Vec::new(),
        ledger: Ledger::default(),
        floor: None,
        final_flush_ns: None,
        stopped_ns: None,
        intervals: Vec::new(),
        stalls: Vec::new(),
        stalls_seen: 0,
        stall_over_ns: Lag::FRAME_60HZ,
        watched: None,
        changes: Vec::new(),
        growth: None,
        lag: None,
        cut_short: false,
        notes: Vec::new(),
    }
}

/// Sets all fields that follow from the histograms.
fn with_figures(
    phase: Phase,
    latency: &Histogram,
    flush: Option<Histogram>,
    response: Option<Histogram>,
) -> Phase {
    let (flush, response) = (
        flush.filter(|flush| (1..=latency.count()).contains(&flush.count())),
        response.filter(|response| (1..=latency.count()).contains(&response.count())),
    );
    let is_save = phase.operation == Operation::Save;
    let felt = response.as_ref().unwrap_or(latency);
    let possible = possible_stalls(latency, phase.stall_over_ns);
    Phase {
        ops: latency.count(),
        ops_per_sec: per_second(latency.count(), phase.elapsed_ns).unwrap_or_default(),
        bytes_per_sec: per_second(phase.bytes.0, phase.elapsed_ns).unwrap_or_default(),
        latency_ns: LatencySummary::from(latency),
        histogram: StoredHistogram::from(latency),
        flush_latency_ns: flush.as_ref().map(LatencySummary::from),
        flush_histogram: flush.as_ref().map(StoredHistogram::from),
        closed_loop: response.is_none(),
        response_ns: response.as_ref().map(LatencySummary::from),
        response_histogram: response.as_ref().map(StoredHistogram::from),
        missed_slots: phase.missed_slots.filter(|_| response.is_some()),
        lag: is_save.then(|| Lag::of(felt)),
        stalls_seen: if possible.contains(&phase.stalls_seen) {
            phase.stalls_seen
        } else {
            latency.count_over(phase.stall_over_ns)
        },
        ..phase
    }
}

/// Maximum number of stalls by the buckets.
fn possible_stalls(latency: &Histogram, limit: Nanos) -> std::ops::RangeInclusive<u64> {
    let count = |over: fn((Nanos, Nanos)) -> Nanos| {
        let over = move |bucket: &(u32, u64)| over(Histogram::bounds_of(bucket.0 as usize)) > limit;
        latency.occupied().filter(over).map(|(_, count)| count).sum::<u64>()
    };
    count(|(start, _)| start)..=count(|(_, end)| end)
}

fn environment_of(root: &Value) -> Environment {
    let mut environment = Environment::default();
    let disks = root.get("disk_util").and_then(Value::as_array);
    if let Some([disk]) = disks.map(Vec::as_slice)
        && let Some(name) = disk.get("name").and_then(Value::as_str)
    {
        environment.device.name = Reading::Value(name.to_owned());
    }
    environment
}
