//! No trend is found in noise, and one that is there is found.

use flashlag_schema::history::{Beside, MachineState, Span};
use flashlag_units::{Bytes, Nanos};
use flashlag_watch::trend::{Day, changes, trends_of_runs};
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
fn a_year_that_grows_by_half_and_one_that_falls_by_a_third_are_found_within_fifteen_percent() {
    for noise in ALL {
        found(noise, 1.5);
        found(noise, 1.0 / 1.5);
    }
}

fn found(noise: Noise, ends: f64) {
    const YEARS: u64 = 100;
    let (mut none, mut far, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 1..=YEARS {
        let days = year(seed, noise, 365, |day| 1.0 + (ends - 1.0) * day as f64 / 364.0);
        let Some(trend) = changes(&days).0 else {
            none.push(seed);
            continue;
        };
        assert!(trend.low <= trend.ratio && trend.ratio <= trend.high, "{trend:?}");
        if (trend.ratio / ends - 1.0).abs() > 0.15 {
            far.push((seed, trend.ratio));
        }
        if trend.low > ends || trend.high < ends {
            beside.push((seed, trend.low, trend.high));
        }
    }
    // Days that resemble each other leave fewer independent values.
    let most = match noise {
        Noise::Correlated if ends > 1.0 => 5,
        Noise::Correlated => 8,
        Noise::Independent | Noise::Weeks => 0,
    };
    assert!(none.len() <= most, "{noise:?}: not found with seeds {none:?}");
    assert!(far.len() <= most, "{noise:?}: seeds and ratios {far:?}");
    assert!(beside.len() <= 12, "{noise:?}: seeds and intervals {beside:?}");
}

/// A new card is three times as fast until its first blocks are full.
#[test]
fn two_quick_weeks_at_the_beginning_hide_no_slow_change() {
    for ends in [1.6, 1.0 / 1.6] {
        let course = |day: usize| {
            let slow = f64::powf(ends, day as f64 / 364.0);
            if day < 12 { slow / 3.0 } else { slow }
        };
        let none: Vec<u64> = (1..=50)
            .filter(|seed| changes(&year(*seed, Noise::Independent, 365, course)).0.is_none())
            .collect();
        assert!(none.is_empty(), "{ends}: not found with seeds {none:?}");
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

/// When runs were made, in days from the first.
#[derive(Clone, Copy, Debug)]
enum Made {
    EachWeek,
    EachNight,
    /// Some on one day, then none for days.
    NowAndThen,
}

/// Two years of runs, each of a day as noisy as `noise` says; a few on one day resemble each other.
fn runs(seed: u64, noise: Noise, made: Made, course: impl Fn(usize) -> f64) -> Vec<Day> {
    let mut random = Pcg64::seed_from_u64(seed ^ 0xA5A5);
    let days = year(seed, noise, 730, course);
    let of = |(index, day): (usize, &Day)| {
        let count = match made {
            Made::EachWeek => usize::from(index % 7 == 3),
            Made::EachNight => 1,
            Made::NowAndThen if random.random_range(0..9) == 0 => random.random_range(1..6),
            Made::NowAndThen => 0,
        };
        let near =
            |random: &mut Pcg64| (day.median.0 as f64 * (0.03 * normal(random)).exp()) as u64;
        let run = |nth: usize| {
            let start_s = day.start_s + 600 * nth as u64;
            Day { start_s, median: Nanos(near(&mut random)), ..day.clone() }
        };
        (0..count).map(run).collect::<Vec<Day>>()
    };
    days.iter().enumerate().flat_map(of).collect()
}

#[test]
fn under_one_percent_of_runs_made_now_and_then_have_a_trend_that_is_noise() {
    const SEEDS: u64 = 700;
    for (made, noise) in [Made::EachWeek, Made::EachNight, Made::NowAndThen]
        .into_iter()
        .flat_map(|made| ALL.map(|noise| (made, noise)))
    {
        let is_false = |seed: &u64| {
            let all = runs(*seed, noise, made, |_| 1.0);
            // Someone asks after a few months, too.
            let some = &all[..all.len() / 4];
            [&all[..], some].into_iter().any(|runs| {
                trends_of_runs(runs)
                    .is_some_and(|found| found.trend.is_some() || !found.shifts.is_empty())
            })
        };
        let false_ones: Vec<u64> = (1..=SEEDS).filter(is_false).collect();
        assert!(false_ones.len() as u64 * 100 < SEEDS, "{made:?} {noise:?}: seeds {false_ones:?}");
    }
}

#[test]
fn a_device_that_doubles_over_two_years_of_runs_is_found_and_one_that_halves() {
    for made in [Made::EachWeek, Made::EachNight, Made::NowAndThen] {
        for ends in [2.0, 0.5] {
            let mut none = 0;
            for seed in 1..=50 {
                let course = |day: usize| f64::powf(ends, day as f64 / 729.0);
                let runs = runs(seed, Noise::Independent, made, course);
                let Some(trend) = trends_of_runs(&runs).unwrap().trend else {
                    none += 1;
                    continue;
                };
                assert!((trend.ratio / ends - 1.0).abs() < 0.25, "{made:?} {seed}: {trend:?}");
            }
            assert!(none == 0, "{made:?} {ends}: {none} not found");
        }
    }
}

#[test]
fn few_days_claim_nothing() {
    let days = year(1, Noise::Independent, 20, |day| 1.0 + day as f64);
    let (trend, _) = changes(&days);
    assert_eq!(trend, None);
}
