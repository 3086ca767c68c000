//! The CPU's governor, which sets the speed of work on the CPU.
//!
//! schedutil sets the frequency to 1.25 times the utilisation. The utilisation is a running mean
//! with a half-life of 32 ms (PELT); a core that runs at half its speed counts half. Take a loop
//! with CPU work W at full speed and a wait D in each period P. It settles where P = D + W / s and
//! s = 1.25 W / P, so P = 5 D for every W, as long as s stays between the lowest and the highest
//! speed.

use flashlag_spec::profile::{GovernorKind, StackModel};
use flashlag_units::Nanos;

/// Full speed, or a utilisation of one, as a fixed-point number.
const ONE: u64 = 1 << 32;
/// Factor by which a utilisation decays in a millisecond: `2^(-1/32)`.
const PER_MILLI: u64 = 0xfa83_b2db;
/// Utilisation gained in a millisecond at the initial rate: `ln 2 / 32`.
const RATE: u64 = 93_032_640;
/// Nanoseconds in a millisecond.
const MILLI: u64 = 1_000_000;
/// Milliseconds in which a utilisation halves.
const HALF_LIFE: u64 = 32;

/// The speeds that a CPU can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Governor {
    /// Lowest speed.
    least: u64,
    /// Highest speed: less than full while heat limits the frequency.
    most: u64,
}

/// The utilisation of a core, by a thread or by the interrupt handler.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    used: u64,
    /// When the utilisation was last brought up to date.
    at: Nanos,
}

/// A share as a fixed-point number.
fn fixed(share: f64) -> u64 {
    (share.clamp(0.0, 1.0) * ONE as f64).round() as u64
}

/// A product of two fixed-point numbers.
const fn times(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 32) as u64
}

/// Factor by which a utilisation decays over a time. Within a millisecond it uses the first three
/// terms of the exponential series, so that many short times decay as much as one long time.
fn left_after(time: Nanos) -> u64 {
    let (millis, rest) = (time.0 / MILLI, time.0 % MILLI);
    let halvings = millis / HALF_LIFE;
    if halvings >= 32 {
        return 0;
    }
    let whole = (0..millis % HALF_LIFE).fold(ONE, |left, _| times(left, PER_MILLI));
    let gone = RATE * rest / MILLI;
    times(whole, ONE - gone + times(gone, gone) / 2) >> halvings
}

impl Load {
    /// Advances the utilisation to `now`, for a core that runs at this speed; idle is speed zero.
    fn follow(&mut self, now: Nanos, speed: u64) {
        let left = left_after(now.saturating_since(self.at));
        self.used = times(self.used, left) + times(speed, ONE - left);
        self.at = self.at.max(now);
    }
}

impl Governor {
    pub(crate) fn new(model: &StackModel) -> Governor {
        let (least, most) = (model.speed_min.unwrap_or(1.0), model.speed_max.unwrap_or(1.0));
        let (least, most) = match model.governor {
            GovernorKind::Performance => (most, most),
            GovernorKind::Powersave => (least.min(most), least.min(most)),
            GovernorKind::Schedutil => (least.max(model.boost).min(most), most),
        };
        // At a speed of zero nothing would ever end.
        let [least, most] = [least, most].map(|speed| fixed(speed).max(ONE >> 10));
        Governor { least, most }
    }

    /// How long work takes that begins now and would take `work` at full speed.
    pub(crate) fn run(&self, load: &mut Load, now: Nanos, work: Nanos) -> Nanos {
        if self.least == ONE || work == Nanos::ZERO {
            return work;
        }
        load.follow(now, 0);
        let speed = (load.used + load.used / 4).clamp(self.least, self.most);
        let time = u128::from(work.0) * u128::from(ONE) / u128::from(speed);
        let time = Nanos(u64::try_from(time).unwrap_or(u64::MAX));
        load.follow(now.plus(time), speed);
        time
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_1_SQRT_2;

    use super::*;

    fn governor(kind: GovernorKind, speed_min: f64, boost: f64) -> Governor {
        let speed_min = Some(speed_min);
        Governor::new(&StackModel { governor: kind, speed_min, boost, ..StackModel::default() })
    }

    /// The period in nanoseconds to which a loop of work and a wait settles, both in microseconds.
    fn period(governor: Governor, work: u64, wait: u64) -> f64 {
        let mut load = Load::default();
        let mut now = Nanos::ZERO;
        let mut turn = |now: &mut Nanos| {
            let time = governor.run(&mut load, *now, Nanos::from_micros(work));
            *now = now.plus(time).plus(Nanos::from_micros(wait));
        };
        while now < Nanos::from_secs(2) {
            turn(&mut now);
        }
        let from = now;
        (0..1000).for_each(|_| turn(&mut now));
        now.since(from).0 as f64 / 1000.0
    }

    #[test]
    fn schedutil_makes_a_loop_take_five_times_its_wait_whatever_it_works() {
        let schedutil = governor(GovernorKind::Schedutil, 0.05, 0.0);
        for (work, wait) in [(45, 82), (30, 82), (80, 40), (20, 60)] {
            let period = period(schedutil, work, wait);
            let expected = 5000.0 * wait as f64;
            // The mean may include one period's work more or less at the moment the speed is
            // chosen.
            assert!((period / expected - 1.0).abs() < 0.01, "{work} {wait}: {period}");
        }
    }

    #[test]
    fn the_lowest_speed_the_boost_and_full_speed_are_kept_to() {
        let settled = |kind, least, boost| period(governor(kind, least, boost), 26, 88);
        let at = |speed: f64| 88_000.0 + 26_000.0 / speed;
        let near = |period: f64, expected: f64| (period / expected - 1.0).abs() < 1e-3;
        // 5 D would be 440 us, at a speed of 0.074.
        assert!(near(settled(GovernorKind::Schedutil, 0.13, 0.0), at(0.13)));
        assert!(near(settled(GovernorKind::Schedutil, 0.13, 0.665), at(0.665)));
        assert!(near(settled(GovernorKind::Powersave, 0.5, 0.0), at(0.5)));
        assert!(near(settled(GovernorKind::Performance, 0.13, 0.0), at(1.0)));
        // Work of 400 us and a wait of 50 us keep the core at full speed: 1.25 * 400 / 450 > 1.
        let full = period(governor(GovernorKind::Schedutil, 0.1, 0.0), 400, 50);
        assert!(near(full, 450_000.0), "{full}");
    }

    #[test]
    fn a_hot_core_is_never_faster_than_its_limit_whoever_governs_it() {
        let hot = |kind, most| {
            let model = StackModel {
                governor: kind,
                speed_min: Some(0.3),
                speed_max: Some(most),
                ..StackModel::default()
            };
            period(Governor::new(&model), 400, 50)
        };
        let at = |speed: f64| 50_000.0 + 400_000.0 / speed;
        let near = |period: f64, expected: f64| (period / expected - 1.0).abs() < 1e-3;
        for most in [1.0, 0.6, 0.25] {
            assert!(near(hot(GovernorKind::Performance, most), at(most)), "{most}");
            // The loop would keep even a core at full speed busy enough for its highest speed.
            assert!(near(hot(GovernorKind::Schedutil, most), at(most)), "{most}");
            // The limit is the stronger one.
            assert!(near(hot(GovernorKind::Powersave, most), at(most.min(0.3))), "{most}");
        }
    }

    #[test]
    fn a_utilisation_halves_in_32_ms_and_a_core_at_half_speed_counts_half() {
        for (millis, share) in
            [(0, 1.0), (8, 0.840_896), (16, FRAC_1_SQRT_2), (32, 0.5), (96, 0.125)]
        {
            let left = left_after(Nanos::from_millis(millis)) as f64 / ONE as f64;
            assert!((left - share).abs() < 1e-4, "{millis} ms: {left}");
        }
        let part = left_after(Nanos(500_000)) as f64 / ONE as f64;
        assert!((part - 2_f64.powf(-0.5 / 32.0)).abs() < 1e-4, "{part}");
        assert_eq!(left_after(Nanos::from_secs(10)), 0);
        let short = (0..3200).fold(ONE, |left, _| times(left, left_after(Nanos(10_000))));
        assert!((short as f64 / ONE as f64 - 0.5).abs() < 1e-4, "{short}");
        let mut load = Load::default();
        load.follow(Nanos::from_secs(5), ONE / 2);
        assert_eq!(load.used, ONE / 2);
    }

    #[test]
    fn after_a_rest_the_first_work_is_done_at_the_lowest_speed_and_later_work_ramps_up() {
        let schedutil = governor(GovernorKind::Schedutil, 0.2, 0.0);
        let mut load = Load::default();
        let mut now = Nanos::from_secs(1);
        let work = Nanos::from_micros(100);
        let from = now;
        let mut times = vec![schedutil.run(&mut load, now, work)];
        now = now.plus(times[0]);
        while times.last() != Some(&work) {
            times.push(schedutil.run(&mut load, now, work));
            now = now.plus(times[times.len() - 1]);
            assert!(times.len() < 10_000, "it never runs at full speed");
        }
        assert_eq!(times[0], Nanos::from_micros(500));
        assert!(times.windows(2).all(|pair| pair[1] <= pair[0]));
        // Without a pause: u' = (0.2 - u) / T up to 0.16, and u' = 0.25 u / T from there to 0.8.
        let constant = 32.0 / 2_f64.ln();
        let expected = constant * 5_f64.ln() * (1.0 + 1.0 / 0.25);
        let took = now.since(from).0 as f64 / 1e6;
        assert!((took / expected - 1.0).abs() < 0.01, "{took} of {expected} ms");
        let rested = schedutil.run(&mut load, now.plus(Nanos::from_secs(2)), work);
        assert_eq!(rested, times[0]);
    }
}
