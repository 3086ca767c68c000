//! What is said of a fill: from all of its levels, and from no more than its writes support.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use flashlag_schema::{IntervalRecord, Phase, Run};
use flashlag_spec::Operation;
use flashlag_spec::scenario::Durability;
use flashlag_stats::{Histogram, Interval};
use flashlag_units::{Bytes, Nanos};
use flashlag_views as explain;

/// A stretch of a fill: up to which share of the storage, how many writes, how long each hundredth
/// of them took, how long it took altogether.
type Stretch<'a> = (f64, u64, &'a dyn Fn(u64) -> Nanos, Nanos);

const TOTAL: u64 = 500_000_000;

fn fast(_: u64) -> Nanos {
    Nanos::from_micros(400)
}

/// Two of a hundred miss a frame.
fn late(index: u64) -> Nanos {
    if index % 100 < 2 { Nanos::from_millis(19) } else { fast(index) }
}

fn fill(durable: Durability, stretches: &[Stretch<'_>], flush: Option<Nanos>) -> Run {
    let mut run = flashlag_testing::sample::lifecycle();
    run.environment.filesystem.total_bytes = flashlag_spec::Reading::Value(Bytes(TOTAL));
    let mut phase = run.phases.iter().find(|phase| phase.name == "fill_rand_4k").unwrap().clone();
    let block = Bytes(if durable == Durability::None { 1 << 20 } else { 4096 });
    let (mut ends, mut whole) = (Nanos::ZERO, Histogram::new());
    phase.intervals.clear();
    for (full, writes, took, length) in stretches {
        let mut histogram = Histogram::new();
        (0..*writes).for_each(|index| histogram.record(took(index)));
        ends = ends.plus(*length);
        let exact = (histogram.min().unwrap(), histogram.max().unwrap(), histogram.sum());
        phase.intervals.push(IntervalRecord::from(&Interval {
            ends,
            bytes: Bytes(writes * block.0),
            filled: Some(Bytes((TOTAL as f64 * full) as u64)),
            temperature_millicelsius: None,
            waited: None,
            exact,
            buckets: histogram.occupied().collect(),
        }));
        whole.merge(&histogram);
    }
    phase.operation = if durable == Durability::None {
        Operation::SequentialWrite
    } else {
        Operation::RandomWrite
    };
    (phase.durable, phase.block_bytes) = (durable, block);
    phase.ops = whole.count();
    phase.bytes = Bytes(phase.ops * block.0);
    phase.final_flush_ns = flush;
    phase.elapsed_ns = ends.plus(flush.unwrap_or_default());
    run.phases = vec![phase];
    run
}

fn curve(run: &Run) -> explain::FillCurve {
    explain::fill_curves(run).remove(0)
}

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

#[test]
fn the_flush_at_the_end_of_a_fill_slows_no_level_and_is_reported_beside_it() {
    let stretches: Vec<Stretch<'_>> =
        vec![(0.3, 150, &fast, ms(120)), (0.6, 150, &fast, ms(120)), (0.87, 120, &fast, ms(96))];
    let run = fill(Durability::None, &stretches, Some(ms(274)));
    let curve = curve(&run);
    assert!(
        curve.heading.starts_with("Filling keeps its speed up to 87% full"),
        "{}",
        curve.heading
    );
    let slowest = curve.levels.iter().map(|level| level.bytes_per_sec).fold(f64::MAX, f64::min);
    assert!(slowest > 1.2e9, "{slowest}");
    assert_eq!(
        curve.flush_note().unwrap(),
        "One flush at its end took 274 ms, which no level includes."
    );
}

#[test]
fn a_heading_says_nothing_from_few_writes() {
    // One of the last few took 274 ms, as if a cache had been written back.
    let one_slow = |index| if index == 0 { ms(274) } else { fast(index) };
    for few in [1, 20, 99, 150] {
        let stretches: Vec<Stretch<'_>> = vec![
            (0.3, 150, &fast, ms(60)),
            (0.6, 150, &fast, ms(60)),
            (0.87, few, &one_slow, Nanos(ms(274).0 + (few - 1) * 400_000)),
        ];
        let heading = curve(&fill(Durability::None, &stretches, None)).heading;
        assert!(!heading.contains("slows"), "{few} writes: {heading}");
    }
    // All of them did.
    let stretches: Vec<Stretch<'_>> =
        vec![(0.3, 150, &fast, ms(120)), (0.87, 150, &fast, ms(1_200))];
    let heading = curve(&fill(Durability::None, &stretches, None)).heading;
    assert!(heading.starts_with("Filling slows from"), "{heading}");
}

#[test]
fn a_fill_of_few_writes_is_reported_as_a_whole() {
    let stretches: Vec<Stretch<'_>> = vec![(0.4, 40, &fast, ms(40)), (0.8, 40, &fast, ms(400))];
    // The table of tests says the same: all bytes over all of the time, its last flush with it.
    let mut run = fill(Durability::None, &stretches, Some(ms(360)));
    let filled = run.phases.iter_mut().find(|phase| !phase.intervals.is_empty()).unwrap();
    filled.elapsed_ns = ms(800);
    filled.bytes_per_sec = filled.bytes.0 as f64 / 0.8;
    let heading = curve(&run).heading;
    let rate = 80.0 * 1_048_576.0 / 1e6 / 0.8;
    assert_eq!(heading, format!("Filled up to 80% at {rate:.0} MB/s"));
}

#[test]
fn a_level_that_is_late_between_two_that_are_not_is_in_the_heading() {
    let stretches: Vec<Stretch<'_>> = vec![
        (0.5, 3_000, &fast, ms(900)),
        (0.7, 3_000, &late, ms(900)),
        (0.87, 3_000, &fast, ms(900)),
    ];
    let heading = curve(&fill(Durability::Fdatasync, &stretches, None)).heading;
    assert!(
        heading.starts_with("From 70% full on, the slowest 1% misses frames at times"),
        "{heading}"
    );
}

/// Every order of late and timely levels, against a rule that is written another way.
#[test]
fn no_heading_of_a_fill_hides_a_late_level() {
    for pattern in 0..1u32 << 5 {
        let is_late = |level: u32| pattern >> level & 1 == 1;
        let shares = [0.15, 0.35, 0.55, 0.75, 0.95];
        let stretches: Vec<Stretch<'_>> = (0..5)
            .map(|level| -> Stretch<'_> {
                let took: &dyn Fn(u64) -> Nanos = if is_late(level) { &late } else { &fast };
                (shares[level as usize], 2_000, took, ms(800))
            })
            .collect();
        let heading = curve(&fill(Durability::Fdatasync, &stretches, None)).heading;
        let lates: Vec<u32> = (0..5).filter(|level| is_late(*level)).collect();
        let expected = match lates.first() {
            None => "Up to 95% full, 99 in 100 writes fit".to_owned(),
            Some(0) if lates.len() == 5 => "At every level the slowest 1%".to_owned(),
            Some(first) if lates.len() == 5 - *first as usize => {
                format!("Past {:.0}% full", shares[*first as usize - 1] * 100.0)
            }
            Some(first) => format!("From {:.0}% full on", shares[*first as usize] * 100.0),
        };
        assert!(heading.starts_with(&expected), "{pattern:05b}: {heading}");
    }
}

/// The phase of a fill, for what looks at phases.
#[test]
fn a_fill_with_a_flush_verifies_and_one_whose_flush_is_longer_than_its_end_does_not() {
    let stretches: Vec<Stretch<'_>> = vec![(0.5, 150, &fast, ms(120))];
    let run = fill(Durability::None, &stretches, Some(ms(274)));
    let about_flush = |run: &Run| {
        let found = flashlag_schema::verify::verify(run);
        found.into_iter().filter(|found| found.path.contains("final_flush")).count()
    };
    assert_eq!(about_flush(&run), 0);
    let changed = Phase { final_flush_ns: Some(ms(275)), ..run.phases[0].clone() };
    assert_eq!(about_flush(&Run { phases: vec![changed], ..run }), 1);
}

#[test]
fn past_half_full_no_write_cache_is_to_blame() {
    // A cache of single-level cells is a half of the capacity at most.
    for (full, words) in [(0.2, "a write cache is used up"), (0.55, "full"), (0.85, "full")] {
        let stretches: Vec<Stretch<'_>> =
            vec![(full, 150, &fast, ms(120)), (0.97, 150, &fast, ms(1_200))];
        let mut run = fill(Durability::None, &stretches, None);
        run.phases.retain(|phase| phase.intervals.iter().any(|it| it.filled_bytes.is_some()));
        let phase = &mut run.phases[0];
        let at = phase.intervals.iter().find(|interval| {
            interval
                .filled_bytes
                .is_some_and(|filled| filled.0 as f64 / TOTAL as f64 >= full - 1e-9)
        });
        let at = at.unwrap().t_ns;
        phase.changes = vec![flashlag_schema::Change {
            kind: flashlag_schema::ChangeKind::CacheExhausted,
            t_ns: at,
            written_bytes: Bytes(1 << 30),
            bytes_per_sec: Some((1e9, 1e8)),
            period_ns: None,
            detail: String::new(),
        }];
        let said = explain::headline(&run);
        let said = said.sentence + &said.more;
        assert!(said.contains(words), "{full}: {said}");
        assert_eq!(said.contains("write cache"), full < 0.5, "{full}: {said}");
    }
}
