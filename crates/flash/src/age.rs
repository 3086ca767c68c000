//! A device's state before its first command: new, full or aged.

use flashlag_spec::profile::Model;
use flashlag_spec::target::Age;
use flashlag_units::{Bytes, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::command::{Command, FlashError};
use crate::flash::Flash;
use crate::past::{Order, Past};

/// Share of an aged device that holds data.
const USED_PERCENT: u64 = 90;
const DAY: u64 = 86_400;
const PIECE: u64 = 512 << 10;

/// A flash of an age, and its time; a day of use writes [`Age::DAILY`].
pub fn aged(model: &Model, seed: u64, age: Age) -> Result<(Flash, Nanos), FlashError> {
    aged_by(model, seed, age, Age::DAILY)
}

/// A flash of an age, and its time. `daily` is what a day of use writes.
///
/// # Errors
/// The parameters of the model contradict one another, the past of its map is not modelled, or this
/// much use wears the device out.
pub fn aged_by(
    model: &Model,
    seed: u64,
    age: Age,
    daily: Bytes,
) -> Result<(Flash, Nanos), FlashError> {
    let mut flash = Flash::new(model, seed)?;
    let capacity = flash.capacity();
    match age {
        Age::New => Ok((flash, Nanos::ZERO)),
        _ if flash.zones().is_some() => Err(FlashError::ZonedPast),
        Age::Full => {
            let past = Past { written: capacity, order: Order::Sequential, cycles: 0 };
            match flash.prepare(&past) {
                Ok(()) => Ok((flash, Nanos::ZERO)),
                // A map of log blocks: random overwrites are simulated before the clock starts.
                Err(FlashError::NoPast) => {
                    let end = fill(&mut flash)?;
                    Ok((flash, end))
                }
                Err(error) => Err(error),
            }
        }
        Age::Aged(age) => {
            let written = Bytes(capacity.0 / 100 * USED_PERCENT);
            let cycles = cycles(model, seed, (written, daily), age)?;
            flash.prepare(&Past { written, order: Order::Random, cycles })?;
            Ok((flash, Nanos::ZERO))
        }
    }
}

/// Writes every page once.
fn fill(flash: &mut Flash) -> Result<Nanos, FlashError> {
    let capacity = flash.capacity().0;
    let mut now = Nanos::ZERO;
    for offset in (0..capacity).step_by(PIECE as usize) {
        let length = Bytes(PIECE.min(capacity - offset));
        now =
            flash.submit(now, Command::Write { offset: Bytes(offset), length, fua: false })?.ended;
    }
    Ok(flash.submit(now, Command::Flush)?.ended)
}

/// Program/erase cycles after this much use: the bytes written on all days, times the bytes that
/// the device programs for each of them in that state, over its capacity.
fn cycles(
    model: &Model,
    seed: u64,
    (used, daily): (Bytes, Bytes),
    age: Nanos,
) -> Result<u32, FlashError> {
    let mut flash = Flash::new(model, seed)?;
    flash.prepare(&Past { written: used, order: Order::Random, cycles: 0 })?;
    let unit = flash.mapping_unit();
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut now = Nanos::ZERO;
    for _ in 0..(used.0 / unit.0 / 50).max(1000) {
        let offset = Bytes(random.random_range(0..(used.0 / unit.0).max(1)) * unit.0);
        now = flash.submit(now, Command::Write { offset, length: unit, fua: false })?.ended;
    }
    let amplification = flash.stats().write_amplification().unwrap_or(1.0).max(1.0);
    let days = age.as_secs_f64() / DAY as f64;
    let whole = (model.map.capacity.0.0 + model.map.spare.0.0) as f64;
    let each_day = daily.0 as f64 * amplification / whole;
    let cycles = (days * each_day).min(f64::from(u32::MAX)) as u32;
    match model.wear.endurance {
        Some(rated) if cycles >= rated => Err(FlashError::TooOld {
            days: days as u64,
            daily,
            cycles: u64::from(cycles),
            rated: u64::from(rated),
            last_days: ((f64::from(rated) / each_day).ceil() - 1.0).max(0.0) as u64,
        }),
        _ => Ok(cycles),
    }
}
