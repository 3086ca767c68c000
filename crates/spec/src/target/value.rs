//! Values of options: a device's state at the start, and the speed of its clock.

use std::fmt;
use std::str::FromStr;

use flashlag_units::{Bytes, Nanos, ParseUnitError};
use thiserror::Error;

/// Why a word is no valid value of an option.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValueError {
    #[error("no size: write size=4GB or size=4GiB")]
    Size,
    #[error("write new, full or aged:12mo")]
    Age,
    #[error(transparent)]
    Time(#[from] ParseUnitError),
    #[error("write a number such as 10 or 0.5")]
    NoNumber,
    #[error("{0} is not between 0.001 and 1000000")]
    Pace(String),
}

/// A value with the text that it was parsed from, which is what a run file records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal<T> {
    text: String,
    pub value: T,
}

impl<T: FromStr> FromStr for Literal<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Literal<T>, T::Err> {
        Ok(Literal { text: text.to_owned(), value: text.parse()? })
    }
}

impl<T> fmt::Display for Literal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The state of a virtual device before it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Age {
    /// New: no page was ever written.
    #[default]
    New,
    /// Full: every page was written once, in ascending order.
    Full,
    /// Full after this time of use, with [`Age::DAILY`] written a day at random addresses.
    Aged(Nanos),
}

impl Age {
    /// What a day of use writes.
    pub const DAILY: Bytes = Bytes::from_mb(20_000);
}

impl FromStr for Age {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Age, ValueError> {
        match text {
            "new" => Ok(Age::New),
            "full" => Ok(Age::Full),
            _ => {
                let age = text.strip_prefix("aged:").ok_or(ValueError::Age)?;
                Ok(Age::Aged(age.parse()?))
            }
        }
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Age::New => f.write_str("new"),
            Age::Full => f.write_str("full"),
            Age::Aged(age) => write!(f, "aged:{}ns", age.0),
        }
    }
}

/// The pace of a device's time: a multiple of real time, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeScale(u64);

const ONE: u64 = 1_000_000;

impl Default for TimeScale {
    fn default() -> TimeScale {
        TimeScale(ONE)
    }
}

impl TimeScale {
    /// A pace of `times` real time.
    pub fn of(times: f64) -> Result<TimeScale, ValueError> {
        if !(0.001..=1_000_000.0).contains(&times) {
            return Err(ValueError::Pace(times.to_string()));
        }
        Ok(TimeScale((times * ONE as f64).round() as u64))
    }

    /// The device's time in a span of real time.
    pub fn device(self, real: Nanos) -> Nanos {
        scale(real, self.0, ONE)
    }

    /// The real time of a span of the device's time, rounded up.
    pub fn real(self, device: Nanos) -> Nanos {
        scale(device.plus(Nanos(self.0 / ONE)), ONE, self.0)
    }

    /// As a number.
    pub fn factor(self) -> f64 {
        self.0 as f64 / ONE as f64
    }
}

fn scale(time: Nanos, times: u64, over: u64) -> Nanos {
    if times == over {
        return time;
    }
    let scaled = u128::from(time.0) * u128::from(times) / u128::from(over);
    Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

impl FromStr for TimeScale {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<TimeScale, ValueError> {
        TimeScale::of(text.parse().map_err(|_| ValueError::NoNumber)?)
    }
}

impl fmt::Display for TimeScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.factor())
    }
}
