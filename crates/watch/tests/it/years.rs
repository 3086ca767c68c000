//! Years of a simulated user: none has a trend that was not planted, and what was planted is found.

use flashlag_spec::profile::Profile;
use flashlag_spec::target::{Age, Kind, MountSpec};
use flashlag_units::Nanos;
use flashlag_watch::sim::{Plan, days};
use flashlag_watch::trend::changes;

/// How many years; a test by hand may ask for more.
const YEARS: &str = "FLASHLAG_TEST_YEARS";

fn year(seed: u64, grown: f64) -> Plan {
    let profile = Profile::find("sd-a1").unwrap();
    Plan {
        name: "sim:sd-a1".to_owned(),
        model: profile.model().unwrap(),
        mount: MountSpec::parse(Kind::Sim, "ext4").unwrap().stack(),
        age: Age::New,
        daily: Age::DAILY,
        seed,
        days: 365,
        probe: Nanos::from_secs(600),
        over: Nanos::from_millis(250),
        planted: false,
        grown,
        version: "0".to_owned(),
    }
}

#[test]
fn under_one_percent_of_a_users_years_have_a_trend_that_is_not_there() {
    let asked = std::env::var(YEARS).ok().and_then(|years| years.parse().ok());
    let years: u64 = asked.unwrap_or(6);
    let mut false_ones = Vec::new();
    for seed in 1..=years {
        let (score, days) = days(&year(seed, 1.0)).unwrap();
        assert!(days.len() >= 364, "{}", days.len());
        let shifts = changes(&days).1;
        if score.trend.is_some() || !shifts.is_empty() {
            false_ones.push((seed, score.trend, shifts));
        }
    }
    let count = false_ones.len() as u64;
    println!("{count} of {years} years have a false trend");
    assert!(count * 100 <= years, "{false_ones:?}");
}

#[test]
fn a_planted_ageing_is_found_within_fifteen_percent() {
    for (seed, grown) in [(1, 1.5), (2, 2.0), (3, 0.7)] {
        let (score, days) = days(&year(seed, grown)).unwrap();
        let medians = || days.iter().map(|day| day.median.0 / 1000).collect::<Vec<u64>>();
        let Some(trend) = score.trend else { panic!("seed {seed}: none in {:?}", medians()) };
        assert!((trend.ratio / grown - 1.0).abs() < 0.15, "seed {seed}: {trend:?}");
    }
}
