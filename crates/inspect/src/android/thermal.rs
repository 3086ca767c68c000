use flashlag_schema::Throttling;

use super::service::program;
use crate::reason::Reason;
use crate::root::Root;

const COMMAND: &str = "dumpsys thermalservice";
/// Kinds of sensor: `TemperatureType` of Android's thermal HAL.
const CPU: &str = "0";
const SKIN: &str = "3";
/// The heading before the present values in the service's text; values above it are cached from
/// earlier events.
const PRESENT: &str = "Current temperatures from HAL";
/// Plausible temperatures, in thousandths of a degree.
const PLAUSIBLE: std::ops::RangeInclusive<i64> = -50_000..=200_000;

/// Temperatures and throttling, as Android's thermal service prints them (Android 10 and later).
///
/// Source of the format: `ThermalManagerService.dump` and `Temperature.toString` of the Android
/// Open Source Project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heat(String);

impl Heat {
    /// Asks the service.
    pub fn read(root: &Root) -> Result<Heat, Reason> {
        program(root, "dumpsys", &["thermalservice"]).map(Heat)
    }

    /// The level of throttling.
    pub fn throttling(&self) -> Result<Throttling, Reason> {
        let mut lines =
            self.0.lines().filter_map(|line| line.trim().strip_prefix("Thermal Status:"));
        let number = lines.next().and_then(|number| number.trim().parse().ok());
        number
            .and_then(Throttling::of_number)
            .ok_or_else(|| Reason::content(COMMAND, "has no status"))
    }

    /// Temperature of the hottest CPU sensor, in thousandths of a degree.
    pub fn cpu(&self) -> Result<i64, Reason> {
        self.hottest(CPU, "processor")
    }

    /// Temperature of the hottest skin sensor, in thousandths of a degree.
    pub fn skin(&self) -> Result<i64, Reason> {
        self.hottest(SKIN, "skin")
    }

    fn hottest(&self, kind: &str, name: &str) -> Result<i64, Reason> {
        let present = self.0.split_once(PRESENT).map_or("", |(_, present)| present);
        let values = present.lines().filter_map(|line| {
            let fields = line.trim().strip_prefix("Temperature{")?.strip_suffix('}')?;
            let field = |key: &str| {
                let mut fields = fields.split(", ").filter_map(|field| field.split_once('='));
                fields.find(|(name, _)| *name == key).map(|(_, value)| value)
            };
            let of_kind = field("mType")? == kind;
            let degrees: f64 = field("mValue")?.parse().ok().filter(|_| of_kind)?;
            Some((degrees * 1000.0).round() as i64)
        });
        let hottest = values.filter(|value| *value != 0 && PLAUSIBLE.contains(value)).max();
        hottest.ok_or_else(|| Reason::content(COMMAND, format!("has no {name} temperature")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARM: &str = "IsStatusOverride: false\nThermal Status: 2\nCached temperatures:\n\
        \tTemperature{mValue=99.0, mType=0, mName=CPU0, mStatus=0}\nHAL Ready: true\n\
        Current temperatures from HAL:\n\tTemperature{mValue=41.2, mType=3, mName=skin, mStatus=2}\n\
        \tTemperature{mValue=61.5, mType=0, mName=CPU0, mStatus=0}\n\
        \tTemperature{mValue=63.25, mType=0, mName=CPU1, mStatus=0}\n\
        Current cooling devices from HAL:\n\tCoolingDevice{mValue=0, mType=2, mName=cpufreq}\n";

    #[test]
    fn the_hottest_of_the_present_counts_and_not_what_was_kept() {
        let heat = Heat(WARM.to_owned());
        assert_eq!(heat.throttling(), Ok(Throttling::Moderate));
        assert_eq!((heat.cpu(), heat.skin()), (Ok(63_250), Ok(41_200)));
    }

    #[test]
    fn odd_texts_are_absent_and_not_wrong() {
        for odd in [
            "",
            "Can't find service: thermalservice",
            "Thermal Status: 7\nCurrent temperatures from HAL:\nTemperature{mValue=NaN, mType=0}",
            "Thermal Status: sehr\nCurrent temperatures from HAL:\nTemperature{mValue=1e9, mType=3}",
            "Current temperatures from HAL:\nTemperature{mType=3}\nTemperature{mValue=0.0, mType=0}",
        ] {
            let heat = Heat(odd.to_owned());
            assert!(
                heat.throttling().is_err() && heat.cpu().is_err() && heat.skin().is_err(),
                "{odd}"
            );
        }
    }
}
