//! No trend is found in noise, and one that is there is found.

use flashlag_schema::history::{Beside, MachineState, Span};
use flashlag_units::{Bytes, Nanos};
use flashlag_watch::trend::{Day, changes};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::made::START_S;

/// How a year's days vary.
#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Each day by itself.
    Independent,
    /// A day resembles the one before it: 0.7 of its distance from the usual stays.
    Correlated,
    /// Weekends are quiet, and a day in twenty is far out.
    Weeks,
}

const ALL: [Noise; 3] = [Noise::Independent, Noise::Correlated, Noise::Weeks];

/// Nearly normal: the sum of twelve even draws.
fn normal(random: &mut Pcg64) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// Days of medians about 5 ms; `course` multiplies each.
fn year(seed: u64, noise: Noise, days: usize, course: impl Fn(usize) -> f64) -> Vec<Day> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut off = 0.0;
    let day = |index: usize| {
        let new = 0.15 * normal(&mut random);
        off = match noise {
            Noise::Independent => new,
            Noise::Correlated => 0.7 * off + 0.714 * new,
            Noise::Weeks if random.random_range(0..20) == 0 => new * 10.0,
            Noise::Weeks if index % 7 > 4 => new - 0.3,
            Noise::Weeks => new,
        };
        let median = 5_000_000.0 * course(index) * f64::exp(off);
        Day {
            start_s: START_S + index as u64 * 86_400,
            median: Nanos(median as u64),
            span: Span::default(),
        }
    };
    (0..days).map(day).collect()
}

#[test]
fn under_one_percent_of_years_of_noise_have_a_trend_or_a_shift() {
    const YEARS: u64 = 700;
    for noise in ALL {
        let is_false = |seed: &u64| {
            let (trend, shifts) = changes(&year(*seed, noise, 365, |_| 1.0));
            trend.is_some() || !shifts.is_empty()
        };
        let false_ones: Vec<u64> = (1..=YEARS).filter(is_false).collect();
        assert!(false_ones.len() as u64 * 100 < YEARS, "{noise:?}: seeds {false_ones:?}");
    }
}

#[test]
fn a_year_that_grows_by_half_is_found_within_fifteen_percent() {
    const YEARS: u64 = 100;
    for noise in ALL {
        let (mut none, mut far, mut beside) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 1..=YEARS {
            let days = year(seed, noise, 365, |day| 1.0 + 0.5 * day as f64 / 364.0);
            let Some(trend) = changes(&days).0 else {
                none.push(seed);
                continue;
            };
            assert!(trend.low <= trend.ratio && trend.ratio <= trend.high, "{trend:?}");
            if (trend.ratio / 1.5 - 1.0).abs() > 0.15 {
                far.push((seed, trend.ratio));
            }
            if trend.low > 1.5 || trend.high < 1.5 {
                beside.push((seed, trend.low, trend.high));
            }
        }
        // Days that resemble each other leave fewer independent values.
        let most = if matches!(noise, Noise::Correlated) { 5 } else { 0 };
        assert!(none.len() <= most, "{noise:?}: not found with seeds {none:?}");
        assert!(far.len() <= most, "{noise:?}: seeds and ratios {far:?}");
        assert!(beside.len() <= 12, "{noise:?}: seeds and intervals {beside:?}");
    }
}

#[test]
fn a_step_is_found_at_its_day_and_named_by_what_changed_beside_it() {
    for seed in 1..=30 {
        let mut days = year(seed, Noise::Independent, 200, |day| if day < 120 { 1.0 } else { 2.0 });
        for (index, day) in days.iter_mut().enumerate() {
            let kernel = if index < 120 { "6.1.0" } else { "6.12.0" };
            let free = if index < 121 { 300 } else { 50 };
            day.span.state = MachineState {
                kernel: Some(kernel.to_owned()),
                free_bytes: Some(Bytes(free)),
                total_bytes: Some(Bytes(1000)),
                ..MachineState::default()
            };
        }
        let shifts = changes(&days).1;
        let [shift] = shifts.as_slice() else { panic!("seed {seed}: {shifts:?}") };
        let day = (shift.at_s - START_S) / 86_400;
        assert!(day.abs_diff(120) <= 1, "seed {seed}: day {day}");
        let ratio = shift.to_ns.0 as f64 / shift.from_ns.0 as f64;
        assert!((ratio / 2.0 - 1.0).abs() < 0.15, "seed {seed}: {ratio}");
        let kernel = Beside::Kernel { from: "6.1.0".to_owned(), to: "6.12.0".to_owned() };
        assert!(shift.beside.contains(&kernel), "seed {seed}: {shift:?}");
        assert!(shift.beside.contains(&Beside::FreeSpace { from: 30, to: 5 }), "{shift:?}");
    }
}

#[test]
fn few_days_claim_nothing() {
    let days = year(1, Noise::Independent, 20, |day| 1.0 + day as f64);
    let (trend, _) = changes(&days);
    assert_eq!(trend, None);
}
