use flashlag_schema::Power;

use super::service::program;
use crate::reason::Reason;
use crate::root::Root;

/// The line of a battery service whose values were set manually (`dumpsys battery set`).
const FROZEN: &str = "UPDATES STOPPED";
const COMMAND: &str = "dumpsys battery";

/// The battery, as Android's battery service prints it.
///
/// Source of the format: `BatteryService.dumpInternal` of the Android Open Source Project, the same
/// words in every language from Android 5 to 15.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Battery(String);

impl Battery {
    /// Asks the service.
    pub fn read(root: &Root) -> Result<Battery, Reason> {
        let text = program(root, "dumpsys", &["battery"])?;
        if text.contains(FROZEN) {
            Err("the battery's values were set by hand (`dumpsys battery reset` ends that)".into())
        } else {
            Ok(Battery(text))
        }
    }

    /// The charge.
    pub fn percent(&self) -> Result<u8, Reason> {
        let (level, scale) = (self.number("level")?, self.number("scale").unwrap_or(100));
        let percent = (scale > 0).then(|| level.saturating_mul(100) / scale);
        let percent = percent.and_then(|percent| u8::try_from(percent).ok());
        percent
            .filter(|percent| *percent <= 100)
            .ok_or_else(|| asked(format!("level {level} of {scale} is impossible")))
    }

    /// The temperature, in thousandths of a degree: the service prints tenths.
    pub fn millicelsius(&self) -> Result<i64, Reason> {
        let tenths = self.number("temperature")?;
        match tenths {
            -500..=2000 if tenths != 0 => Ok(tenths * 100),
            _ => Err(asked(format!("temperature {tenths} is impossible"))),
        }
    }

    /// What powers the phone.
    pub fn power(&self) -> Result<Power, Reason> {
        let kinds = [
            ("AC powered", Power::Charger),
            ("USB powered", Power::Usb),
            ("Wireless powered", Power::Wireless),
            ("Dock powered", Power::Dock),
        ];
        let said = kinds.map(|(key, power)| (self.value(key), power));
        if let Some((_, power)) = said.iter().find(|(value, _)| *value == Some("true")) {
            return Ok(*power);
        }
        if said.iter().any(|(value, _)| *value == Some("false")) {
            Ok(Power::Battery)
        } else {
            Err(Reason::content(COMMAND, "does not say what powers the phone"))
        }
    }

    fn number(&self, key: &str) -> Result<i64, Reason> {
        let value =
            self.value(key).ok_or_else(|| Reason::content(COMMAND, format!("has no {key}")))?;
        value.parse().map_err(|_| asked(format!("{key} is not a number")))
    }

    fn value(&self, key: &str) -> Option<&str> {
        let mut lines = self.0.lines().filter_map(|line| line.trim().split_once(':'));
        lines.find(|(name, _)| *name == key).map(|(_, value)| value.trim())
    }
}

fn asked(cause: String) -> Reason {
    Reason::Program { command: COMMAND.to_owned(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON_USB: &str = "Current Battery Service state:\n  AC powered: false\n  USB powered: true\n  \
        Wireless powered: false\n  Max charging current: 500000\n  status: 2\n  health: 2\n  present: true\n  \
        level: 97\n  scale: 100\n  voltage: 4312\n  temperature: 287\n  technology: Li-ion\n";

    fn battery(text: &str) -> Battery {
        Battery(text.to_owned())
    }

    #[test]
    fn charge_power_and_temperature_are_read_by_the_services_own_words() {
        let read = battery(ON_USB);
        assert_eq!(read.percent(), Ok(97));
        assert_eq!(read.millicelsius(), Ok(28_700));
        assert_eq!(read.power(), Ok(Power::Usb));
        let on = |from: &str, to: &str| battery(&ON_USB.replace(from, to));
        assert_eq!(on("USB powered: true", "USB powered: false").power(), Ok(Power::Battery));
        assert_eq!(on("scale: 100", "scale: 200").percent(), Ok(48));
        assert_eq!(on("temperature: 287", "temperature: -52").millicelsius(), Ok(-5_200));
    }

    #[test]
    fn odd_words_and_numbers_are_absent_and_not_wrong() {
        for odd in [
            "",
            "level: viele\n",
            "level: 300\nscale: 100\n",
            "level: 5\nscale: 0\n",
            "level: -3\n",
        ] {
            let read = battery(odd);
            assert!(read.percent().is_err(), "{odd}");
            assert!(read.millicelsius().is_err() && read.power().is_err(), "{odd}");
        }
        // A sensor that does not exist.
        assert!(battery("temperature: 0").millicelsius().is_err());
        assert!(battery("temperature: 99999999999").millicelsius().is_err());
        // Another language: a vendor has translated the words.
        assert!(battery("Akkustand: 97\nTemperatur: 287").percent().is_err());
    }
}
