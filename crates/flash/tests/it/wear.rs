//! Wear, levelling, the end of life, and blocks that are bad from the beginning.

use crate::common;
use flashlag_flash::{Command, Flash, FlashError};
use flashlag_spec::target::Age;
use flashlag_units::Nanos;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const PAGE: u64 = 4096;

/// Fills the device, then writes at random to the first pages of it until that is done or refused;
/// how many of those writes were taken.
fn wear(flash: &mut Flash, hot: f64, writes: u64) -> (u64, Option<FlashError>) {
    let pages = flash.capacity().0 / PAGE;
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let fill = (0..pages).map(|page| common::write(page * PAGE, PAGE));
    let mut at = common::in_a_row(flash, Nanos::ZERO, fill);
    let hot = (pages as f64 * hot) as u64;
    for done in 0..writes {
        match flash.submit(at, common::write(random.random_range(0..hot) * PAGE, PAGE)) {
            Ok(timing) => at = timing.ended,
            Err(error) => return (done, Some(error)),
        }
    }
    (writes, None)
}

#[test]
fn levelling_moves_cold_data_from_blocks_that_are_hardly_worn() {
    let spread = |changes: &[(&str, &str)]| {
        let mut flash = common::flash(changes);
        wear(&mut flash, 0.1, 400_000);
        let stats = flash.stats();
        (stats.most_cycles - stats.least_cycles, stats.levelled.unwrap())
    };
    let (without, none) = spread(&[]);
    assert!(without > 40 && none == 0, "{without} {none}");
    for most in [4, 12] {
        let text = most.to_string();
        let (with, levelled) = spread(&[("wear.leveling", text.as_str())]);
        // It looks now and then, and moves one block at a time.
        assert!(with <= 2 * most, "{with} at {most}");
        assert!(levelled > 100, "{levelled}");
    }
}

#[test]
fn a_device_whose_wear_is_levelled_lives_longer() {
    let life = |changes: &[(&str, &str)]| {
        let mut flash = common::flash(&[&[("wear.endurance", "60")], changes].concat());
        let (written, error) = wear(&mut flash, 0.1, u64::MAX);
        assert!(matches!(error, Some(FlashError::WornOut { .. })), "{error:?}");
        let stats = flash.stats();
        assert!(stats.bad_blocks.unwrap() > 0 && stats.most_cycles == 60, "{stats:?}");
        (written, stats.life_used.unwrap())
    };
    let (short, wasted) = life(&[]);
    let (long, used) = life(&[("wear.leveling", "4")]);
    assert!(long > 2 * short, "{long} against {short} writes");
    assert!(wasted < 0.5 && (0.9..=1.0).contains(&used), "{wasted} {used}");
}

#[test]
fn an_age_that_a_device_does_not_reach_is_refused_with_the_last_that_it_does() {
    let text = flashlag_spec::profile::builtin_profile("nexus7-2012").unwrap();
    let model = flashlag_spec::profile::Profile::parse(text).unwrap().model().unwrap().clone();
    let of =
        |days: u64| flashlag_flash::aged(&model, 1, Age::Aged(Nanos::from_secs(days * 86_400)));
    let Err(error @ FlashError::TooOld { last_days, rated, .. }) = of(3650) else {
        panic!("ten years of a small device")
    };
    let said = error.to_string();
    assert!(said.contains(&format!("state=aged:{last_days}d")), "{said}");
    assert_eq!(Some(rated), model.wear.endurance.map(u64::from));
    let old = |flash: Result<(Flash, Nanos), FlashError>| flash.map(|(flash, _)| flash.stats());
    assert!(old(of(last_days)).unwrap().life_used.unwrap() > 0.98);
    assert!(matches!(old(of(last_days + 1)), Err(FlashError::TooOld { .. })));
}

#[test]
fn at_its_end_a_device_reads_and_flushes_but_writes_no_more() {
    let mut flash = common::flash(&[("wear.endurance", "20")]);
    let (_, error) = wear(&mut flash, 1.0, u64::MAX);
    let Some(FlashError::WornOut { cycles }) = error else { panic!("{error:?}") };
    assert!((15..=20).contains(&cycles), "{cycles}");
    let at = Nanos::from_secs(1_000_000);
    for page in 0..100 {
        assert!(flash.submit(at, common::read(page * PAGE, PAGE)).is_ok());
    }
    assert!(flash.submit(at, Command::Flush).is_ok());
    assert!(matches!(flash.submit(at, common::write(0, PAGE)), Err(FlashError::WornOut { .. })));
}

#[test]
fn blocks_that_are_bad_from_the_factory_are_not_of_the_spare_area() {
    let amplification = |changes: &[(&str, &str)]| {
        let mut flash = common::flash(changes);
        wear(&mut flash, 1.0, 200_000);
        let stats = flash.stats();
        (stats.write_amplification().unwrap(), stats.bad_blocks.unwrap(), stats.least_cycles)
    };
    let (good, none, _) = amplification(&[]);
    let (bad, some, least) = amplification(&[("nand.bad_blocks", "0.1")]);
    // 64 + 8 MiB of 256 KiB, and three that are kept free.
    assert_eq!((none, some), (0, (291.0_f64 / 9.0).round() as u32));
    assert!((bad / good - 1.0).abs() < 0.01, "{bad} against {good}");
    assert!(least > 0, "every other block is used");
}
