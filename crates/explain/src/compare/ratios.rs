//! How many times one subject's figure is another's, with the interval.

use flashlag_schema::{Phase, Run};
use flashlag_stats::bootstrap::{self, Compared, Figure, Sample};
use flashlag_stats::{Interval, Percentile};

use super::{CompareSide, Ratio, RatioKind, Subject};
use crate::figures::{felt, restored};
use crate::format;

/// Of more subjects than this, each is compared with the first alone.
const ALL_PAIRS_UP_TO: usize = 4;

const KINDS: [(RatioKind, Figure); 3] = [
    (RatioKind::P50, Figure::Percentile(Percentile::P50)),
    (RatioKind::P99, Figure::Percentile(Percentile::P99)),
    (RatioKind::Throughput, Figure::Throughput),
];

/// The ratios of one row; of sides that no failed check covers.
pub fn ratios(
    repeats: &[Vec<(&Run, &Phase)>],
    sides: &[Option<CompareSide>],
    subjects: &[Subject],
    seed: u64,
) -> Vec<Ratio> {
    let usable: Vec<usize> = (0..repeats.len())
        .filter(|index| {
            let side = sides.get(*index).and_then(Option::as_ref);
            side.is_some_and(|side| side.judgement.failures().is_empty() && side.figures.n > 0)
        })
        .collect();
    let samples: Vec<Option<Vec<Sample>>> = repeats.iter().map(|side| samples(side)).collect();
    let open = repeats.iter().flatten().any(|(_, phase)| !phase.closed_loop);
    let mut ratios = Vec::new();
    for (position, &against) in usable.iter().enumerate() {
        if position > 0 && usable.len() > ALL_PAIRS_UP_TO {
            break;
        }
        for &of in usable.iter().skip(position + 1) {
            let (Some(first), Some(second)) = (&samples[against], &samples[of]) else { continue };
            for (kind, figure) in KINDS {
                // A schedule decides the throughput of an open loop.
                if kind == RatioKind::Throughput && open {
                    continue;
                }
                let found = bootstrap::compare(first, second, figure, seed).filter(is_finite);
                ratios.extend(found.map(|found| ratio(kind, of, against, found, subjects)));
            }
        }
    }
    ratios
}

/// An interval a thousand times as high as low says nothing, and is not printed.
const WIDEST: f64 = 1000.0;

fn is_finite(found: &Compared) -> bool {
    let all = [found.ratio, found.low, found.high];
    all.iter().all(|value| value.is_finite() && *value > 0.0) && found.high / found.low <= WIDEST
}

/// What the bootstrap draws from; `None` where a histogram can't be read.
fn samples(repeats: &[(&Run, &Phase)]) -> Option<Vec<Sample>> {
    let sample = |(_, phase): &(&Run, &Phase)| {
        Some(Sample {
            histogram: felt(phase)?,
            intervals: intervals(phase),
            bytes: phase.bytes,
            elapsed: phase.elapsed_ns,
        })
    };
    repeats.iter().map(sample).collect()
}

/// Intervals hold latencies: where responses are compared they would be of something else.
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
            })
        })
        .collect();
    intervals.unwrap_or_default()
}

fn ratio(
    kind: RatioKind,
    of: usize,
    against: usize,
    found: Compared,
    subjects: &[Subject],
) -> Ratio {
    let name = |index: usize| subjects.get(index).map_or("", |subject| subject.name.as_str());
    let words = if found.shown {
        // The one with more of it is named, so that the number is above 1.
        let (value, low, high, more) = match found.ratio >= 1.0 {
            true => (found.ratio, found.low, found.high, name(of)),
            false => (1.0 / found.ratio, 1.0 / found.high, 1.0 / found.low, name(against)),
        };
        let how = if kind == RatioKind::Throughput { "more" } else { "longer" };
        let range = format!("({} to {})", format::ratio_bare(low), format::ratio_bare(high));
        format!("{} {how} on {more} {range}", format::times(value))
    } else {
        format!(
            "no difference shown, {} ({} to {})",
            format::times(found.ratio),
            format::ratio_bare(found.low),
            format::ratio_bare(found.high)
        )
    };
    Ratio {
        kind,
        of,
        against,
        ratio: found.ratio,
        interval: Some((found.low, found.high)),
        differs: found.shown,
        between_runs: found.between_runs,
        words,
    }
}
