//! A device in closed form: every time is a sum of the profile's parameters, so that what a fit or
//! a forecast must find is known.

pub mod daily;
mod model;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use flashlag_predict::{Simulation, SimulationError, Simulator};
use flashlag_schema::*;
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::{Io, Pattern, Scenario, Step, Test};
use flashlag_spec::target::{FilesystemKind, MountSpec};
use flashlag_spec::*;
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos, per_second};

pub use model::{Situation, Times};

pub const PROFILE: &str = include_str!("small.toml");
pub const LIFECYCLE: &str = include_str!("../../../../../scenarios/lifecycle.toml");
pub const QUICK: &str = include_str!("../../../../../scenarios/quick.toml");

pub fn profile() -> Profile {
    Profile::parse(PROFILE).unwrap()
}

pub fn lifecycle() -> Scenario {
    Scenario::parse(LIFECYCLE, &[("idle".to_owned(), "24h".to_owned())]).unwrap()
}

/// ext4 without options.
pub static EXT4: MountSpec = MountSpec { filesystem: FilesystemKind::Ext4, options: Vec::new() };

/// A simulation on ext4 whose fills leave that much free.
pub fn on_ext4<'a>(
    profile: &'a Profile,
    scenario: &'a Scenario,
    seed: u64,
    leave: Bytes,
) -> Simulation<'a> {
    Simulation { profile, mount: &EXT4, scenario, seed, leave: Some(leave) }
}

/// The closed form, and how often it was asked.
#[derive(Default)]
pub struct ClosedForm {
    pub runs: AtomicUsize,
    pub measured: AtomicUsize,
    /// The number of simulations at once; 0: as many as there are cores.
    pub threads: usize,
    /// Whether seeds scatter, as a real simulation's do.
    pub scatter: f64,
    /// How far each phase is off by chance, another one for each device: collection is chaotic.
    pub jitter: f64,
    /// Number of operations of each test; 0: as few as a p99 needs.
    pub ops: u64,
}

impl ClosedForm {
    /// Number of simulations so far.
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// Number of tests that were measured in all of them.
    pub fn measured(&self) -> usize {
        self.measured.load(Ordering::Relaxed)
    }
}

/// Evenly from -1 to 1, the same for the same text.
fn chance(text: &str) -> f64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

impl Simulator for ClosedForm {
    fn threads(&self) -> usize {
        if self.threads > 0 { self.threads } else { available_parallelism().map_or(1, usize::from) }
    }

    fn simulate(&self, simulation: &Simulation<'_>) -> Result<Run, SimulationError> {
        let Simulation { profile, mount, scenario, seed, leave } = *simulation;
        let filesystem = &mount.to_string();
        self.runs.fetch_add(1, Ordering::Relaxed);
        let model = profile.model().map_err(SimulationError::refused)?;
        if model.map.spare.0 > model.map.capacity.0 {
            return Err(SimulationError::refused("map.spare: more than the capacity"));
        }
        let scatter = 1.0 + self.scatter * ((seed * 7919 % 11) as f64 / 5.0 - 1.0);
        // The device is written out only where chance needs it.
        let device = (self.jitter > 0.0).then(|| profile.to_toml());
        let mut situation = Situation::new(&model, filesystem);
        // The file under test is as large as the largest span.
        let spans = scenario.tests.values().filter_map(|test| match test {
            Test::Io(io) => io.span.map(|span| span.0.0),
            _ => None,
        });
        let stored = spans.max().unwrap_or_default() as f64 / model.map.capacity.0.0 as f64;
        situation.level = stored;
        situation.ops = if self.ops > 0 { self.ops } else { situation.ops };
        let mut phases = Vec::new();
        let mut now = Nanos::ZERO;
        let mut runs: BTreeMap<(State, String), u32> = BTreeMap::new();
        for step in &scenario.steps {
            match step {
                Step::Measure { tests, state, repeat } => {
                    for _ in 0..*repeat {
                        for name in tests {
                            let run = runs.entry((*state, name.clone())).or_default();
                            *run += 1;
                            let test = &scenario.tests[name];
                            let jitter = device.as_ref().map_or(1.0, |device| {
                                let label = state.label(*run, name);
                                1.0 + self.jitter * chance(&format!("{device} {label} {seed}"))
                            });
                            let times = situation.times(test).scaled(scatter * jitter);
                            situation.wrote(test, *run);
                            let measured = phase(test, *state, *run, now, times, &situation);
                            now = now.plus(measured.elapsed_ns);
                            phases.extend(halves(test, measured));
                        }
                    }
                }
                Step::Fill { .. } => {
                    let capacity = model.map.capacity.0.0 as f64;
                    let leave = leave.unwrap_or(Bytes::from_mb(300)).0 as f64;
                    situation.level = 1.0 - leave / capacity;
                    situation.trimmed = false;
                }
                Step::Delete => situation.level = stored,
                Step::Trim => situation.trimmed = true,
                Step::Idle { time } => now = now.plus(time.0),
            }
        }
        self.measured.fetch_add(phases.len(), Ordering::Relaxed);
        Ok(run(profile, filesystem, scenario, seed, leave, phases))
    }
}

/// The phases of a test: a mixed one has two.
fn halves(test: &Test, phase: Phase) -> Vec<Phase> {
    let mixed = matches!(test, Test::Io(io) if io.read_percent.is_some());
    if !mixed {
        return vec![phase];
    }
    let half = |of: &str| Phase { name: format!("{}_{of}", phase.name), ..phase.clone() };
    vec![half("read"), half("write")]
}

/// A spread of ten percent, and each fortieth waits for more.
fn waits(times: Times, ops: u64) -> (Histogram, Nanos) {
    let mut histogram = Histogram::new();
    let mut elapsed = Nanos::ZERO;
    for op in 0..ops {
        let spread = 0.95 + 0.1 * ((op * 7919 % 101) as f64 / 100.0);
        let wait = times.typical * spread + if op % 40 == 0 { times.stall } else { 0.0 };
        let wait = Nanos(wait as u64);
        histogram.record(wait);
        elapsed = elapsed.plus(wait);
    }
    (histogram, elapsed)
}

fn ledger(ops: u64, bytes: Bytes, times: Times, situation: &Situation) -> Ledger {
    let written = (bytes.0 as f64 * times.blocks_per_write) as u64;
    Ledger {
        block_bytes: Reading::Value(Bytes(written)),
        flushes: Reading::Value((ops as f64 * times.flushes) as u64),
        device_bytes: Reading::Value(Bytes((written as f64 * situation.copies()) as u64)),
        ..Ledger::default()
    }
}

fn phase(
    test: &Test,
    state: State,
    run: u32,
    began: Nanos,
    times: Times,
    situation: &Situation,
) -> Phase {
    let (operation, block, ops) = match test {
        Test::Io(io) => (operation(io), io.block.0, situation.ops),
        _ => (Operation::Save, Bytes(4096), situation.ops),
    };
    let (histogram, elapsed) = waits(times, ops);
    let bytes = Bytes(block.0 * ops);
    Phase {
        name: test.name().to_owned(),
        state,
        run,
        operation,
        block_bytes: block,
        span_bytes: Bytes::from_mb(100),
        threads: 1,
        mixed: None,
        replay: None,
        queue_depth: 1,
        durable: match test {
            Test::Io(io) => io.durable,
            _ => Default::default(),
        },
        direct: true,
        engine: Default::default(),
        think: None,
        closed_loop: match test {
            Test::Io(io) => io.arrivals.per_second.is_none(),
            Test::Save(save) => save.arrivals.per_second.is_none(),
            Test::FileSave(_) | Test::Replay(_) | Test::Card(_) => false,
        },
        background: None,
        began_ns: began,
        clocks: None,
        ops,
        bytes,
        elapsed_ns: elapsed,
        ops_per_sec: per_second(ops, elapsed).unwrap_or_default(),
        bytes_per_sec: per_second(bytes.0, elapsed).unwrap_or_default(),
        latency_ns: LatencySummary::from(&histogram),
        histogram: StoredHistogram::from(&histogram),
        flush_latency_ns: None,
        flush_histogram: None,
        response_ns: None,
        response_histogram: None,
        missed_slots: None,
        time: Reading::unavailable("virtual time"),
        waits: Vec::new(),
        ledger: ledger(ops, bytes, times, situation),
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

fn operation(io: &Io) -> Operation {
    use flashlag_spec::scenario::IoOperation::{Mixed, Read, Write};
    match (io.operation, io.pattern) {
        (Read, Pattern::Sequential) => Operation::SequentialRead,
        (Read, Pattern::Random) => Operation::RandomRead,
        (Write | Mixed, Pattern::Sequential) => Operation::SequentialWrite,
        (Write | Mixed, Pattern::Random) => Operation::RandomWrite,
    }
}

fn run(
    profile: &Profile,
    filesystem: &str,
    scenario: &Scenario,
    seed: u64,
    leave: Option<Bytes>,
    phases: Vec<Phase>,
) -> Run {
    let mut environment = Environment::default();
    let capacity = profile.model().unwrap().map.capacity.0;
    environment.filesystem.kind = Reading::Value(filesystem.to_owned());
    environment.filesystem.total_bytes = Reading::Value(capacity);
    environment.device.size_bytes = Reading::Value(capacity);
    let flashlag = Program { version: "0".to_owned(), commit: Reading::unavailable("test") };
    let record = ScenarioRecord::of(scenario, seed);
    let target = Target {
        kind: TargetKind::Simulated,
        name: format!("sim:{}+{filesystem}", profile.name),
        directory: None,
        profile: Some(ProfileRecord {
            name: profile.name.clone(),
            about: profile.about.clone(),
            filesystem: filesystem.to_owned(),
            text: profile.to_toml(),
            device_options: Vec::new(),
        }),
    };
    Run {
        status: RunStatus::Complete,
        options: Options {
            leave_bytes: leave.unwrap_or(Bytes::from_mb(300)),
            ..Options::default()
        },
        phases,
        trust: Trust {
            verdict: Verdict::Trusted,
            checks: vec![Check {
                id: CheckId::Accounting,
                status: CheckStatus::Pass,
                claim: "The times add up".to_owned(),
                detail: "In closed form.".to_owned(),
                cause: None,
                advice: None,
                phases: Vec::new(),
            }],
        },
        ..Run::begun(flashlag, record, target, environment)
    }
}
