//! Limits: how much may be written without asking the user, and within which charge and temperature
//! a device with a battery is measured.

use flashlag_schema::ConditionLimits;
use flashlag_units::Bytes;

/// Writes above this need the user's consent.
pub const ASK_ABOVE: Bytes = Bytes(4_000_000_000);

/// The least charge of a phone that is not being charged.
const LEAST_CHARGE: u8 = 15;
/// The highest temperature of a phone's battery, in thousandths of a degree: the one at which
/// lithium-ion batteries are no longer charged (JEITA's guideline, 2007).
const HOTTEST: i64 = 45_000;

/// The limits that were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The run ends when the battery falls below this and is not charged, in percent.
    pub min_battery: Option<u8>,
    /// The run ends when the battery is hotter than this, in thousandths of a degree Celsius.
    pub max_temperature: Option<i64>,
    /// Each test waits until the battery is not hotter than this, in thousandths of a degree Celsius.
    pub cool_to: Option<i64>,
}

impl Limits {
    /// The limits on a phone, or elsewhere.
    pub fn conditions(&self, phone: bool) -> ConditionLimits {
        ConditionLimits {
            battery_percent: self.min_battery.or(phone.then_some(LEAST_CHARGE)),
            hottest_millicelsius: self.max_temperature.or(phone.then_some(HOTTEST)),
            cool_to_millicelsius: self.cool_to,
        }
    }

    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--min-battery", self.min_battery.is_some()),
            ("--max-temperature", self.max_temperature.is_some()),
            ("--cool-to", self.cool_to.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

/// `20` or `20%`.
pub fn percent(text: &str) -> Result<u8, String> {
    let number = text.trim().trim_end_matches('%').parse().ok().filter(|number| *number <= 100);
    number.ok_or_else(|| "write a share of the whole charge, e.g. 20%".to_owned())
}

/// `38`, `38.5C` or `38 °C`, in thousandths of a degree.
pub fn celsius(text: &str) -> Result<i64, String> {
    let number = text.trim().trim_end_matches(['C', 'c', '°', ' ']).parse::<f64>().ok();
    let number = number.filter(|degrees| (-20.0..=100.0).contains(degrees));
    let degrees = number.ok_or("write degrees Celsius from -20 to 100, e.g. 38C")?;
    Ok((degrees * 1000.0).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_or_without_their_units_and_checked() {
        assert_eq!((percent("20"), percent("20%")), (Ok(20), Ok(20)));
        assert!(percent("120%").is_err() && percent("-1").is_err() && percent("").is_err());
        let read = ["38", "38C", "38.0 °C", "38c"].map(celsius);
        assert_eq!(read, [Ok(38_000), Ok(38_000), Ok(38_000), Ok(38_000)]);
        assert_eq!(celsius("-5.25C"), Ok(-5_250));
        for odd in ["", "C", "hot", "NaN", "inf", "300", "100F"] {
            assert!(celsius(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_phone_has_limits_where_none_is_given() {
        let (none, given) = (Limits::default(), Limits { cool_to: Some(1), ..Limits::default() });
        assert!(none.conditions(false).is_none() && none.given().is_none());
        assert_eq!(none.conditions(true).battery_percent, Some(15));
        assert_eq!(none.conditions(true).hottest_millicelsius, Some(45_000));
        assert_eq!(given.given(), Some("--cool-to"));
        let own = Limits { min_battery: Some(30), ..Limits::default() };
        assert_eq!(own.conditions(true).battery_percent, Some(30));
    }
}
