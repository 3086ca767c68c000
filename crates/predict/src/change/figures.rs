use flashlag_schema::{Phase, Run};
use flashlag_stats::{MEDIAN_LEAP, Percentile};
use flashlag_units::{Bytes, Nanos};

use super::plan::{READ_FILE, READ_GROWN};
use super::scenario::{LEAVE, SAVE, SAVE_ROLLBACK, SETTLE, scenario};
use super::situation::Situation;
use super::spread::{AROUND_P99, Range, SeedSpread, latency_range};
use super::steady::{self, DaysOfUse, Settling, Unworn, Use};
use crate::{PredictError, Simulation, SimulationError, Simulator, parallel};

/// The options of a forecast.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictOptions {
    /// Bytes written on a day of use (`age=`).
    pub daily: Bytes,
    /// The seeds that are averaged.
    pub seeds: Vec<u64>,
    /// Whether the effect of years is also simulated cause by cause.
    pub causes: bool,
    /// Whether saves with SQLite's default journal are simulated, too.
    pub rollback: bool,
    /// Whether saves are simulated at all: not where there is no SQLite. What would come after them is then left
    /// out, too, so that every figure is the one beside saves.
    pub saves: bool,
}

impl Default for PredictOptions {
    fn default() -> Self {
        PredictOptions {
            daily: Bytes(5_000_000_000),
            seeds: vec![1],
            causes: true,
            rollback: false,
            saves: true,
        }
    }
}

/// The main test of a forecast: durable writes of 4 KiB.
pub const DURABLE: &str = "rand_write_4k";
/// Sequential reads of the stored data.
pub(super) const READ: &str = "seq_read_256k";
/// All tests of a forecast.
const TESTS: [&str; 8] =
    [READ, "seq_write_256k", "rand_read_4k", DURABLE, SAVE, SAVE_ROLLBACK, READ_FILE, READ_GROWN];

/// If the latencies at neighbouring ranks differ by this factor, p99 is a range.
const LEAP: f64 = 2.0;

/// The figures of a device by test, averaged over seeds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    pub tests: Vec<TestFigures>,
    /// The days of use, of the seed whose figures still changed most; `None` without any.
    pub lived: Option<DaysOfUse>,
    /// The writes over all stored data, of the seed whose figures still changed most; `None` on a
    /// new device.
    pub settling: Option<Settling>,
    /// Durable writes at the end of those writes, without a rest.
    pub sustained: Option<TestFigures>,
    /// The share of the rated cycles used up by then, if the device has a rating.
    pub life_used: Option<f64>,
    /// The tests of the same device without the wear of the days that were not simulated; empty if
    /// there were none, if that wear changes nothing, or without [`PredictOptions::causes`].
    pub unworn: Vec<TestFigures>,
}

/// One test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestFigures {
    /// The test's name.
    pub name: String,
    /// Median.
    pub p50_ns: Option<f64>,
    /// The latencies at ranks 40 % and 60 %, of the lowest and the highest seed: where about half of
    /// the operations take one time and half another, the median may be either.
    pub around_p50_ns: Option<Range>,
    /// 99 %.
    pub p99_ns: Option<f64>,
    /// The latencies at ranks 98 % and 99.5 %, of the lowest and the highest seed: p99 would lie
    /// there if the rare slow operations were twice or half as many.
    pub around_p99_ns: Option<Range>,
    /// How far the seeds' figures differ; `None` for one seed.
    pub seeds: Option<SeedSpread>,
    /// Operations a second.
    pub per_second: f64,
    pub bytes_per_second: f64,
    /// Flushes for each operation.
    pub flushes: Option<f64>,
    /// Requests to the device for each operation.
    pub requests: Option<f64>,
    /// Bytes sent to the device for each operation.
    pub request_bytes: Option<f64>,
    /// Bytes that the flash programmed for each byte sent to the device.
    pub amplification: Option<f64>,
}

impl TestFigures {
    /// The range of p99, if about one operation in a hundred is many times slower: a p99 then lies
    /// among the slow ones or among the others. `None` if p99 is one figure.
    pub fn p99_range(&self) -> Option<Range> {
        self.p99_ns?;
        self.around_p99_ns.filter(|around| around.high >= LEAP * around.low)
    }

    /// The range of the median, if it lies between two times that are apart. `None` if it is one
    /// figure.
    pub fn p50_range(&self) -> Option<Range> {
        self.p50_ns?;
        self.around_p50_ns.filter(|around| around.high >= MEDIAN_LEAP * around.low)
    }

    /// Mean time of an operation, one after another.
    pub fn mean_ns(&self) -> Option<f64> {
        Some(1e9 / self.per_second).filter(|mean| mean.is_finite())
    }
}

impl Figures {
    /// The figures of one test.
    pub fn test(&self, name: &str) -> Option<&TestFigures> {
        self.tests.iter().find(|test| test.name == name)
    }

    /// Durable writes.
    pub fn durable(&self) -> Option<&TestFigures> {
        self.test(DURABLE)
    }

    /// Sequential reads of the stored data.
    pub fn reads(&self) -> Option<&TestFigures> {
        self.test(READ)
    }

    /// Reads of a part of the stored data, as large as a database.
    pub fn reads_of_file(&self) -> Option<&TestFigures> {
        self.test(READ_FILE)
    }

    /// Reads of a file of that size that grew in pieces; `None` for a device without days of use.
    pub fn reads_of_grown(&self) -> Option<&TestFigures> {
        self.test(READ_GROWN)
    }

    /// Saves.
    pub fn saves(&self) -> Option<&TestFigures> {
        self.test(SAVE)
    }

    /// Saves with SQLite's default journal; `None` if they were not requested.
    pub fn rollback_saves(&self) -> Option<&TestFigures> {
        self.test(SAVE_ROLLBACK)
    }
}

/// The operating system's message for ENOSPC, with which the run of a full device ends.
const NO_SPACE: &str = "No space left on device";

/// A situation with its name in errors.
pub(super) type Named = (Situation, String);

/// The index of a situation among those that are simulated; it is added if it is not there yet.
pub(super) fn index_of(
    situations: &mut Vec<Named>,
    wanted: Situation,
    name: impl FnOnce() -> String,
) -> usize {
    situations.iter().position(|(one, _)| *one == wanted).unwrap_or_else(|| {
        situations.push((wanted, name()));
        situations.len() - 1
    })
}

/// The figures of one situation with one seed.
struct Measured {
    /// By test; `None` for a test that is not in the run.
    tests: Vec<Option<TestFigures>>,
    unworn: Vec<Option<TestFigures>>,
    sustained: Option<TestFigures>,
    used: Use,
}

/// Simulates situations with all seeds, in parallel. Returns the figures of each.
pub(super) fn measure(
    situations: &[Named],
    simulator: &dyn Simulator,
    options: &PredictOptions,
) -> Result<Vec<Figures>, PredictError> {
    let seeds = &options.seeds;
    if let (true, Some((_, what))) = (seeds.is_empty(), situations.first()) {
        let reason = SimulationError::NoDurableWrites;
        return Err(PredictError::Simulation { what: what.clone(), reason });
    }
    let jobs: Vec<(&Named, u64)> =
        situations.iter().flat_map(|one| seeds.iter().map(move |&seed| (one, seed))).collect();
    let measured = parallel::try_map(simulator.threads(), &jobs, |((situation, what), seed)| {
        with_seed(situation, *seed, options.causes, simulator)
            .map_err(|reason| PredictError::Simulation { what: what.clone(), reason })
    })?;
    Ok(measured.chunks(seeds.len().max(1)).map(figures).collect())
}

fn with_seed(
    situation: &Situation,
    seed: u64,
    causes: bool,
    simulator: &dyn Simulator,
) -> Result<Measured, SimulationError> {
    let room = simulator.room(&situation.profile, &situation.mount)?;
    let scenario = scenario(situation, room)?;
    let (run, used) = if situation.plan.settles() {
        steady::live(situation, &scenario, seed, causes, simulator)?
    } else {
        let simulation = Simulation {
            profile: &situation.profile,
            mount: &situation.mount,
            scenario: &scenario,
            seed,
            leave: Some(LEAVE),
        };
        (simulator.simulate(&simulation)?, Use::default())
    };
    if let flashlag_schema::RunStatus::Failed { error, .. } = &run.status {
        if situation.plan.full.is_some() && error.contains(NO_SPACE) {
            return Err(SimulationError::Full { filesystem: situation.mount.to_string() });
        }
        return Err(SimulationError::refused(error));
    }
    if last_phase(DURABLE, &run).is_none() {
        return Err(SimulationError::NoDurableWrites);
    }
    let tests = |run: &Run| TESTS.iter().map(|name| last_phase(name, run)).collect();
    let unworn = match &used.unworn {
        None => Vec::new(),
        Some(Unworn::Alike) => tests(&run),
        Some(Unworn::Run(unworn)) => tests(unworn),
    };
    Ok(Measured { tests: tests(&run), unworn, sustained: sustained(&run), used })
}

/// The means over seeds.
fn figures(measured: &[Measured]) -> Figures {
    let lives: Vec<DaysOfUse> = measured.iter().filter_map(|one| one.used.days.clone()).collect();
    let settlings = measured.iter().filter_map(|one| one.used.settling).collect();
    let test = |index: usize| mean(measured, |one| one.tests.get(index)?.as_ref());
    let unworn = |index: usize| mean(measured, |one| one.unworn.get(index)?.as_ref());
    Figures {
        tests: (0..TESTS.len()).filter_map(test).collect(),
        unworn: (0..TESTS.len()).filter_map(unworn).collect(),
        sustained: mean(measured, |one| one.sustained.as_ref()),
        settling: furthest(settlings, |settling| settling.changing),
        life_used: mean_life(&lives),
        lived: furthest(lives, |lived| lived.changing),
    }
}

/// The seed whose figures still changed most; one without a known change counts as changing most.
fn furthest<T>(all: Vec<T>, changing: impl Fn(&T) -> Option<f64>) -> Option<T> {
    let change = |one: &T| changing(one).unwrap_or(f64::INFINITY).abs();
    all.into_iter().max_by(|one, other| change(one).total_cmp(&change(other)))
}

fn mean_life(lives: &[DaysOfUse]) -> Option<f64> {
    let used: Option<Vec<f64>> = lives.iter().map(|lived| lived.life_used).collect();
    used.filter(|used| !used.is_empty()).map(|used| used.iter().sum::<f64>() / used.len() as f64)
}

fn last_phase(name: &str, run: &Run) -> Option<TestFigures> {
    let phase = run.phases.iter().rev().find(|phase| phase.name == name && phase.ops > 0)?;
    Some(of_phase(phase))
}

/// The last window of the writes over all stored data.
fn sustained(run: &Run) -> Option<TestFigures> {
    let rounds = run.phases.iter().rev().filter(|phase| phase.name == SETTLE && phase.ops > 0);
    let rounds: Vec<&Phase> = rounds.take(steady::ROUNDS).collect();
    let seconds: f64 = rounds.iter().map(|phase| phase.elapsed_ns.as_secs_f64()).sum();
    let sum = |figure: &dyn Fn(&Phase) -> Option<f64>| -> Option<f64> {
        rounds.iter().map(|phase| figure(phase)).sum()
    };
    let ops = sum(&|phase| Some(phase.ops as f64)).filter(|ops| *ops > 0.0)?;
    let block = sum(&|phase| phase.ledger.block_bytes.value().map(|bytes| bytes.0 as f64));
    let device = sum(&|phase| phase.ledger.device_bytes.value().map(|bytes| bytes.0 as f64));
    Some(TestFigures {
        name: SETTLE.to_owned(),
        per_second: ops / seconds,
        bytes_per_second: sum(&|phase| Some(phase.bytes.0 as f64))? / seconds,
        amplification: block
            .zip(device)
            .filter(|(block, _)| *block > 0.0)
            .map(|(block, device)| device / block),
        ..TestFigures::default()
    })
}

/// The mean of a test over seeds; only of figures that all of them have.
fn mean(
    measured: &[Measured],
    of: impl Fn(&Measured) -> Option<&TestFigures>,
) -> Option<TestFigures> {
    let all: Vec<&TestFigures> = measured.iter().map(of).collect::<Option<Vec<_>>>()?;
    let name = all.first()?.name.clone();
    let count = all.len() as f64;
    let average = |figure: &dyn Fn(&TestFigures) -> Option<f64>| -> Option<f64> {
        let values: Option<Vec<f64>> = all.iter().map(|test| figure(test)).collect();
        values.filter(|values| !values.is_empty()).map(|values| values.iter().sum::<f64>() / count)
    };
    Some(TestFigures {
        name,
        around_p50_ns: Range::of_ranges(all.iter().map(|test| test.around_p50_ns)),
        around_p99_ns: Range::of_ranges(all.iter().map(|test| test.around_p99_ns)),
        seeds: seed_spread(&all),
        p50_ns: average(&|test| test.p50_ns),
        p99_ns: average(&|test| test.p99_ns),
        per_second: average(&|test| Some(test.per_second))?,
        bytes_per_second: average(&|test| Some(test.bytes_per_second))?,
        flushes: average(&|test| test.flushes),
        requests: average(&|test| test.requests),
        request_bytes: average(&|test| test.request_bytes),
        amplification: average(&|test| test.amplification),
    })
}

/// The spread of one test's figures over the seeds; `None` for fewer than two.
fn seed_spread(all: &[&TestFigures]) -> Option<SeedSpread> {
    if all.len() < 2 {
        return None;
    }
    Some(SeedSpread {
        seeds: all.len(),
        per_second: Range::of(all.iter().map(|test| test.per_second))?,
        bytes_per_second: Range::of(all.iter().map(|test| test.bytes_per_second))?,
    })
}

fn of_phase(phase: &Phase) -> TestFigures {
    let ops = phase.ops as f64;
    let nanos = |value: Option<Nanos>| value.map(|value| value.0 as f64);
    let ledger = &phase.ledger;
    let block = ledger.block_bytes.value().map(|bytes| bytes.0 as f64);
    let device = ledger.device_bytes.value().map(|bytes| bytes.0 as f64);
    TestFigures {
        name: phase.name.clone(),
        p50_ns: nanos(phase.latency_ns.p50),
        p99_ns: nanos(phase.latency_ns.p99),
        around_p50_ns: latency_range(&phase.histogram, Percentile::AROUND_P50),
        around_p99_ns: latency_range(&phase.histogram, AROUND_P99),
        seeds: None,
        per_second: phase.ops_per_sec,
        bytes_per_second: phase.bytes_per_sec,
        flushes: ledger.flushes.value().map(|flushes| *flushes as f64 / ops),
        requests: ledger.block_writes.value().map(|writes| *writes as f64 / ops),
        request_bytes: block.map(|bytes| bytes / ops),
        amplification: block
            .zip(device)
            .filter(|(block, _)| *block > 0.0)
            .map(|(block, device)| device / block),
    }
}
