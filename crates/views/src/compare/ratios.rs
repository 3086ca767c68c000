//! Ratios of one subject's figures to another's, with intervals.

use flashlag_explain::{response_histogram, restored};
use flashlag_schema::{Phase, Run};
use flashlag_stats::bootstrap::{self, Figure, RatioInterval, Sample};
use flashlag_stats::{Interval, Percentile};

use super::model::{CompareSide, Ratio, RatioKind, Subject};
use crate::format;

const KINDS: [(RatioKind, Figure); 3] = [
    (RatioKind::P50, Figure::Percentile(Percentile::P50)),
    (RatioKind::P99, Figure::Percentile(Percentile::P99)),
    (RatioKind::Throughput, Figure::Throughput),
];

/// The ratios of one row: those against the first side, and those of every other pair.
#[derive(Default)]
pub struct Ratios {
    pub against_first: Vec<Ratio>,
    pub others: Vec<Ratio>,
}

/// Only for sides that no failed check covers and that kept their schedule. Each side is resampled
/// once, whatever it is compared with.
pub fn ratios(
    repeats: &[Vec<(&Run, &Phase)>],
    sides: &[Option<CompareSide>],
    subjects: &[Subject],
    seed: u64,
) -> Ratios {
    let usable = (0..repeats.len()).filter(|index| is_usable(sides, *index));
    let prepared: Vec<SideData> =
        usable.filter_map(|of| SideData::of(of, &repeats[of], seed)).collect();
    let paced = repeats.iter().flatten().any(|(_, phase)| phase.is_paced());
    let saves = repeats.iter().flatten().any(|(_, phase)| !phase.operation.moves_bytes());
    let mut ratios = Ratios::default();
    for (place, against) in prepared.iter().enumerate() {
        for of in &prepared[place + 1..] {
            for (figure, (kind, _)) in KINDS.iter().enumerate() {
                // A schedule sets the throughput of an open loop, and think times reduce that of a
                // closed one.
                if *kind == RatioKind::Throughput && paced {
                    continue;
                }
                let pair = Pair { kind: *kind, of: of.subject, against: against.subject, saves };
                let made = against.ratio(of, figure, pair, subjects);
                let list = if place == 0 { &mut ratios.against_first } else { &mut ratios.others };
                list.extend(made);
            }
        }
    }
    ratios
}

/// One side, resampled for each figure.
struct SideData {
    subject: usize,
    samples: Vec<Sample>,
    figures: [Option<bootstrap::Side>; KINDS.len()],
}

impl SideData {
    fn of(subject: usize, repeats: &[(&Run, &Phase)], seed: u64) -> Option<SideData> {
        let samples = samples(repeats)?;
        let figures = KINDS.map(|(_, figure)| bootstrap::Side::of(&samples, figure, seed));
        Some(SideData { subject, samples, figures })
    }

    /// The ratio of the other side's figure to this side's.
    fn ratio(&self, of: &SideData, figure: usize, pair: Pair, names: &[Subject]) -> Option<Ratio> {
        let sides = self.figures.get(figure)?.as_ref().zip(of.figures.get(figure)?.as_ref());
        match sides.and_then(|(first, second)| first.against(second)).filter(is_finite) {
            Some(found) => Some(ratio(pair, found, names)),
            None if pair.kind == RatioKind::Throughput => {
                without_interval(pair, (&self.samples, &of.samples), names)
            }
            None => None,
        }
    }
}

/// Whether ratios may be made of that side.
pub fn is_usable(sides: &[Option<CompareSide>], index: usize) -> bool {
    let side = sides.get(index).and_then(Option::as_ref);
    side.is_some_and(|side| {
        side.judgement.failures().is_empty() && side.figures.n > 0 && side.overload.is_none()
    })
}

/// The two sides of a ratio.
#[derive(Clone, Copy)]
struct Pair {
    kind: RatioKind,
    of: usize,
    against: usize,
    saves: bool,
}

/// Maximum ratio of an interval's ends; a wider one is not printed.
const WIDEST: f64 = 1000.0;

fn is_finite(found: &RatioInterval) -> bool {
    let all = [found.ratio, found.low, found.high];
    all.iter().all(|value| value.is_finite() && *value > 0.0) && found.high / found.low <= WIDEST
}

/// What the bootstrap draws from; `None` if a histogram can't be read.
fn samples(repeats: &[(&Run, &Phase)]) -> Option<Vec<Sample>> {
    let sample = |(_, phase): &(&Run, &Phase)| {
        Some(Sample {
            histogram: response_histogram(phase)?,
            intervals: intervals(phase),
            bytes: phase.bytes,
            elapsed: phase.elapsed_ns,
        })
    };
    repeats.iter().map(sample).collect()
}

/// Intervals hold latencies, so they are not used where responses are compared.
fn intervals(phase: &Phase) -> Vec<Interval> {
    if phase.response_histogram.is_some() {
        return Vec::new();
    }
    let intervals: Option<Vec<Interval>> = phase
        .intervals
        .iter()
        .map(|record| {
            let histogram = restored(&record.histogram)?;
            Some(Interval {
                ends: record.t_ns,
                bytes: record.bytes,
                filled: record.filled_bytes,
                temperature_millicelsius: record.temperature_millicelsius,
                exact: (record.histogram.min_ns, record.histogram.max_ns, record.histogram.sum_ns),
                buckets: histogram.occupied().collect(),
                waited: None,
            })
        })
        .collect();
    intervals.unwrap_or_default()
}

/// The ratio of bytes a second, for tests that were too short to show how much those vary.
fn without_interval(
    pair: Pair,
    (first, second): (&[Sample], &[Sample]),
    subjects: &[Subject],
) -> Option<Ratio> {
    let rate = |samples: &[Sample]| {
        let bytes: f64 = samples.iter().map(|sample| sample.bytes.0 as f64).sum();
        bytes / samples.iter().map(|sample| sample.elapsed.as_secs_f64()).sum::<f64>()
    };
    let value = rate(second) / rate(first);
    if !(value.is_finite() && value > 0.0) {
        return None;
    }
    let found =
        RatioInterval { ratio: value, low: value, high: value, shown: false, between_runs: false };
    let (words, _) = in_words(pair, &found, subjects);
    Some(Ratio {
        interval: None,
        words: format!("{words}, no interval"),
        brief: format::ratio_with_interval(value, value, value).0,
        ..ratio(pair, found, subjects)
    })
}

/// `on Tablet T, 6.8× as long as on Phone P`, and the interval of that number. The side with the
/// larger figure is named first, so that the number is above 1.
fn in_words(pair: Pair, found: &RatioInterval, subjects: &[Subject]) -> (String, Option<String>) {
    let name = |index: usize| subjects.get(index).map_or("", |subject| subject.name.as_str());
    let (more, less, value, low, high) = if found.ratio >= 1.0 {
        (name(pair.of), name(pair.against), found.ratio, found.low, found.high)
    } else {
        let inverse = (1.0 / found.ratio, 1.0 / found.high, 1.0 / found.low);
        (name(pair.against), name(pair.of), inverse.0, inverse.1, inverse.2)
    };
    let (times, range) = format::ratio_with_interval(value, low, high);
    let how = match (pair.kind, pair.saves) {
        (RatioKind::Throughput, true) => "as many a second as",
        (RatioKind::Throughput, false) => "as much a second as",
        _ => "as long as",
    };
    (format!("on {more}, {times} {how} on {less}"), range)
}

fn ratio(pair: Pair, found: RatioInterval, subjects: &[Subject]) -> Ratio {
    let (words, range) = in_words(pair, &found, subjects);
    let words = with_interval(words, range);
    let (times, range) = format::ratio_with_interval(found.ratio, found.low, found.high);
    Ratio {
        kind: pair.kind,
        of: pair.of,
        against: pair.against,
        ratio: found.ratio,
        interval: Some((found.low, found.high)),
        differs: found.shown,
        between_runs: found.between_runs,
        words: if found.shown { words } else { format!("no difference shown: {words}") },
        brief: with_interval(times, range),
    }
}

/// `6.8× (6.7 to 6.9)`; without an interval the words alone.
fn with_interval(words: String, range: Option<String>) -> String {
    match range {
        Some(range) => format!("{words} ({range})"),
        None => words,
    }
}
