//! Change points: nothing in noise, cliffs where they are, and names by evidence.
use flashlag_stats::change::{ChangePoint, ChangePointKind, Workload, changes};
use flashlag_stats::{Histogram, Interval, Stall};
use flashlag_units::{Bytes, Nanos};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SEEDS: u64 = 200;
const SECOND: u64 = 1_000_000_000;

fn normal(random: &mut Pcg64Mcg) -> f64 {
    // The sum of twelve uniform numbers, less six.
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// One interval a second; `rates` in bytes a second, 4 KiB operations in a closed loop.
fn series(rates: &[f64]) -> Vec<Interval> {
    let interval = |(number, rate): (usize, &f64)| {
        let ops = (rate / 4096.0).max(1.0) as u64;
        let mut histogram = Histogram::new();
        let latency = Nanos(SECOND / ops);
        let index = Histogram::index_of(latency) as u32;
        histogram.record(latency);
        Interval {
            ends: Nanos((number as u64 + 1) * SECOND),
            bytes: Bytes(*rate as u64),
            filled: None,
            temperature_millicelsius: None,
            waited: None,
            exact: (latency, latency, Nanos(latency.0 * ops)),
            buckets: vec![(index, ops)],
        }
    };
    rates.iter().enumerate().map(interval).collect()
}

fn noisy(levels: &[(usize, f64)], spread: f64, random: &mut Pcg64Mcg) -> Vec<f64> {
    let level = |(count, rate): &(usize, f64)| vec![*rate; *count];
    let rates = levels.iter().flat_map(level);
    rates.map(|rate| rate * (spread * normal(random)).exp()).collect()
}

fn findings(mut case: impl FnMut(&mut Pcg64Mcg) -> Vec<ChangePoint>) -> usize {
    let found = |seed: &u64| !case(&mut Pcg64Mcg::seed_from_u64(*seed)).is_empty();
    (0..SEEDS).filter(found).count()
}

fn written(rates: &[f64]) -> Vec<ChangePoint> {
    changes(&series(rates), &[], Workload::Writes)
}

#[test]
fn noise_has_no_changes() {
    for (count, spread) in [(40, 0.1), (120, 0.5), (512, 0.05), (512, 1.0)] {
        let found = findings(|random| written(&noisy(&[(count, 1e8)], spread, random)));
        assert!(found <= 2, "{found} of {SEEDS} seeds: {count} intervals, spread {spread}");
    }
}

#[test]
fn wild_values_are_no_change() {
    // 5 % of intervals at a tenth of the rate, scattered.
    let found = findings(|random| {
        let mut rates = noisy(&[(300, 1e8)], 0.1, random);
        rates.iter_mut().filter(|_| random.random_bool(0.05)).for_each(|rate| *rate /= 10.0);
        written(&rates)
    });
    assert!(found <= 2, "{found} of {SEEDS} seeds");
}

#[test]
fn correlated_noise_seldom_has_changes() {
    let found = findings(|random| {
        let mut drift = 0.0;
        let mut rate = |_| {
            drift = 0.6 * drift + 0.8 * normal(random);
            1e8 * (0.2f64 * drift).exp()
        };
        let rates: Vec<f64> = (0..400).map(&mut rate).collect();
        written(&rates)
    });
    assert!(found <= 4, "{found} of {SEEDS} seeds");
}

#[test]
fn an_exhausted_cache_is_found_where_it_ran_out() {
    for seed in 0..SEEDS {
        let random = &mut Pcg64Mcg::seed_from_u64(seed);
        let before = random.random_range(30..300usize);
        let rates = noisy(&[(before, 4e8), (400 - before, 1.2e8)], 0.15, random);
        let found = written(&rates);
        let [change] = &found[..] else { panic!("seed {seed}: {found:#?}") };
        assert_eq!(change.kind, ChangePointKind::CacheExhausted, "seed {seed}");
        let at = (change.at.0 / SECOND) as usize;
        assert!(at.abs_diff(before) <= 2, "seed {seed}: {at}, not {before}");
        let bytes: u64 = rates[..at].iter().map(|rate| *rate as u64).sum();
        assert_eq!(change.written, Bytes(bytes), "seed {seed}");
    }
}

#[test]
fn the_same_drop_in_reads_is_not_an_exhausted_cache() {
    let random = &mut Pcg64Mcg::seed_from_u64(1);
    let rates = noisy(&[(60, 4e8), (60, 1.2e8)], 0.1, random);
    let found = changes(&series(&rates), &[], Workload::Reads);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, ChangePointKind::Slower);
}

#[test]
fn a_drop_that_comes_back_is_slower_then_faster_and_says_when() {
    for seed in 0..SEEDS {
        let random = &mut Pcg64Mcg::seed_from_u64(seed);
        let rates = noisy(&[(100, 2e8), (60, 0.9e8), (140, 2e8)], 0.1, random);
        let found = written(&rates);
        let kinds: Vec<_> = found.iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [ChangePointKind::Slower, ChangePointKind::Faster], "seed {seed}");
        let back = found[0].recovered_at.unwrap().0 / SECOND;
        assert!(back.abs_diff(160) <= 2, "seed {seed}: {back}");
    }
}

#[test]
fn a_drop_while_hot_is_throttling() {
    let random = &mut Pcg64Mcg::seed_from_u64(2);
    let rates = noisy(&[(100, 2e8), (100, 0.9e8)], 0.1, random);
    let mut warm = series(&rates);
    for (number, interval) in (0i64..).zip(&mut warm) {
        interval.temperature_millicelsius = Some(35_000 + 300 * number.min(120));
    }
    let found = changes(&warm, &[], Workload::Writes);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, ChangePointKind::Throttled);
    let (first, at) = found[0].temperature_millicelsius.unwrap();
    assert!(first == 35_000 && (63_000..67_000).contains(&at));
    // The same at an even temperature is a cache.
    warm.iter_mut().for_each(|interval| interval.temperature_millicelsius = Some(41_000));
    let found = changes(&warm, &[], Workload::Writes);
    assert_eq!(found[0].kind, ChangePointKind::CacheExhausted);
}

#[test]
fn a_change_of_latency_at_an_even_rate_is_found() {
    let random = &mut Pcg64Mcg::seed_from_u64(5);
    let rates = noisy(&[(60, 1e7), (60, 0.25e7)], 0.05, random);
    let mut even = series(&rates);
    even.iter_mut().for_each(|interval| interval.bytes = Bytes(4_000_000));
    let found = changes(&even, &[], Workload::Writes);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].kind, found[0].throughput), (ChangePointKind::Slower, None));
    let (before, after) = found[0].latency.unwrap();
    assert!((3.4..4.6).contains(&(after.0 as f64 / before.0 as f64)));
}

fn stall(at: f64, length: f64) -> Stall {
    let (at, length) = (Nanos((at * 1e9) as u64), Nanos((length * 1e9) as u64));
    Stall { at, length, behind: Nanos::ZERO, split: None, waited: None }
}

fn flat(random: &mut Pcg64Mcg) -> Vec<Interval> {
    series(&noisy(&[(120, 1e8)], 0.05, random))
}

#[test]
fn stalls_at_a_regular_distance_are_found_through_jitter_a_gap_and_short_ones_between() {
    for seed in 0..SEEDS {
        let random = &mut Pcg64Mcg::seed_from_u64(seed);
        let mut stalls: Vec<Stall> = (1..12)
            .filter(|number| *number != 7)
            .map(|number| stall(f64::from(number) * 10.0 + 0.4 * normal(random), 0.6))
            .collect();
        stalls.extend((0..15).map(|_| stall(random.random::<f64>() * 120.0, 0.06)));
        let found = changes(&flat(random), &stalls, Workload::Writes);
        let [change] = &found[..] else { panic!("seed {seed}: {found:#?}") };
        assert_eq!(change.kind, ChangePointKind::PeriodicStalls, "seed {seed}");
        let period = change.period.unwrap().0 as f64 / 1e9;
        assert!((9.5..10.5).contains(&period), "seed {seed}: {period}");
    }
}

#[test]
fn stalls_at_random_are_not_periodic() {
    for count in [5usize, 6, 8, 20, 100] {
        let found = findings(|random| {
            let stalls = (0..count).map(|_| {
                stall(random.random::<f64>() * 120.0, 0.05 + 0.5 * random.random::<f64>())
            });
            let stalls: Vec<Stall> = stalls.collect();
            changes(&flat(random), &stalls, Workload::Writes)
        });
        assert!(found <= 3, "{found} of {SEEDS} seeds with {count} stalls");
    }
}

#[test]
fn a_device_that_always_stalls_has_no_period() {
    let random = &mut Pcg64Mcg::seed_from_u64(1);
    let stalls: Vec<Stall> = (0..500).map(|number| stall(f64::from(number) * 0.2, 0.19)).collect();
    assert_eq!(changes(&flat(random), &stalls, Workload::Writes), []);
}

#[test]
fn regular_spikes_that_are_no_stalls_are_found_in_the_intervals() {
    let random = &mut Pcg64Mcg::seed_from_u64(8);
    let mut spiky = flat(random);
    for interval in spiky.iter_mut().step_by(15).skip(1) {
        interval.exact.1 = Nanos(interval.exact.1.0 * 40);
    }
    let found = changes(&spiky, &[], Workload::Writes);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].period, Some(Nanos::from_secs(15)));
    let random_spikes = findings(|random| {
        let mut spiky = flat(random);
        spiky.iter_mut().filter(|_| random.random_bool(0.07)).for_each(|interval| {
            interval.exact.1 = Nanos(interval.exact.1.0 * 40);
        });
        changes(&spiky, &[], Workload::Writes)
    });
    assert!(random_spikes <= 3, "{random_spikes} of {SEEDS} seeds");
}

#[test]
fn short_and_odd_series_have_no_changes() {
    for rates in [vec![], vec![1.0], vec![1e8; 6], vec![0.0; 200], vec![f64::INFINITY; 3]] {
        assert_eq!(written(&rates), []);
    }
}
