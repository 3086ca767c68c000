use std::fmt;

use super::error::TargetError;
use super::kind::PHONE_KIND;

/// The default directory to measure on a phone: `adb shell` may write to it without root, and it is
/// on the same filesystem as the data of apps.
pub const PHONE_DIRECTORY: &str = "/data/local/tmp";
/// The word that names every connected phone.
const EVERY: &str = "all";

/// Phones, as a target names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhoneChoice {
    /// The only connected phone.
    TheOne,
    /// The phone with this serial number, or with this address of the network.
    Serial(String),
    /// Every phone that is connected.
    Every,
}

/// A phone on a cable: `adb:[SERIAL|all][:PATH]`.
///  The path begins with a slash, since a serial number may contain a colon:
/// `adb:192.168.1.7:5555:/sdcard`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhoneSpec {
    pub choice: PhoneChoice,
    /// The directory that is measured on them; the default is [`PHONE_DIRECTORY`].
    pub path: Option<String>,
}

impl PhoneSpec {
    /// Parses the text after `adb:`. Fails if the path does not begin with a slash, or the serial
    /// number has invalid characters.
    pub fn parse(rest: &str) -> Result<PhoneSpec, TargetError> {
        let (serial, path) = match rest.strip_prefix('/') {
            Some(_) => ("", Some(rest)),
            None => match rest.find(":/") {
                Some(colon) => (&rest[..colon], Some(&rest[colon + 1..])),
                None => (rest.strip_suffix(':').unwrap_or(rest), None),
            },
        };
        if !serial.chars().all(is_of_a_serial) {
            return Err(TargetError::Serial(serial.to_owned()));
        }
        if path.is_some_and(|path| path.chars().any(char::is_control)) {
            return Err(TargetError::PhonePath);
        }
        let choice = match serial {
            "" => PhoneChoice::TheOne,
            EVERY => PhoneChoice::Every,
            serial => PhoneChoice::Serial(serial.to_owned()),
        };
        Ok(PhoneSpec { choice, path: path.map(str::to_owned) })
    }

    /// The directory that is measured.
    pub fn directory(&self) -> &str {
        self.path.as_deref().unwrap_or(PHONE_DIRECTORY)
    }
}

/// Serial numbers are letters, digits and a few signs; those of the network are addresses
/// (`192.168.1.7:5555`, `[fe80::1%wlan0]:5555`) or service names (`adb-0A1B2C._adb-tls-connect._tcp`).
fn is_of_a_serial(character: char) -> bool {
    character.is_ascii_alphanumeric() || ".:_-[]%()@ ".contains(character)
}

impl fmt::Display for PhoneSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let serial = match &self.choice {
            PhoneChoice::TheOne => "",
            PhoneChoice::Serial(serial) => serial,
            PhoneChoice::Every => EVERY,
        };
        write!(f, "{PHONE_KIND}:{serial}")?;
        match &self.path {
            Some(path) if serial.is_empty() => f.write_str(path),
            Some(path) => write!(f, ":{path}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(rest: &str) -> PhoneSpec {
        PhoneSpec::parse(rest).unwrap()
    }

    #[test]
    fn a_phone_is_named_by_serial_or_address_and_a_path_begins_with_a_slash() {
        let serial = |text: &str| PhoneChoice::Serial(text.to_owned());
        for (text, choice, path) in [
            ("", PhoneChoice::TheOne, None),
            (":", PhoneChoice::TheOne, None),
            (":/sdcard", PhoneChoice::TheOne, Some("/sdcard")),
            ("/sdcard", PhoneChoice::TheOne, Some("/sdcard")),
            ("all", PhoneChoice::Every, None),
            ("all:/sdcard", PhoneChoice::Every, Some("/sdcard")),
            ("0A1B2C", serial("0A1B2C"), None),
            ("192.168.1.7:5555", serial("192.168.1.7:5555"), None),
            ("192.168.1.7:5555:/data/a:/b", serial("192.168.1.7:5555"), Some("/data/a:/b")),
            ("adb-1._adb-tls-connect._tcp", serial("adb-1._adb-tls-connect._tcp"), None),
        ] {
            let spec = parsed(text);
            assert_eq!((&spec.choice, spec.path.as_deref()), (&choice, path), "{text}");
            assert_eq!(parsed(spec.to_string().strip_prefix("adb:").unwrap()), spec, "{text}");
        }
        assert_eq!(parsed("").directory(), "/data/local/tmp");
        assert_eq!(parsed(":/sdcard").directory(), "/sdcard");
    }

    #[test]
    fn what_no_phone_is_named_by_is_refused() {
        for text in ["$(reboot)", "a;b", "a'b", "a\nb", "`id`", "a|b", "\u{1F4F1}"] {
            assert!(matches!(PhoneSpec::parse(text), Err(TargetError::Serial(_))), "{text}");
        }
        assert_eq!(PhoneSpec::parse(":/a\nb"), Err(TargetError::PhonePath));
        // A path may contain any printable character; no shell reads it unquoted.
        assert_eq!(parsed(":/a $(b) 'c'").directory(), "/a $(b) 'c'");
    }
}
