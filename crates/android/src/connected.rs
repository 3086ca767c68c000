//! The phones that adb lists, and the choice among them.

use std::fmt;

use flashlag_schema::target::PhoneChoice;

use crate::error::PhoneError;

/// A phone's connection, as `adb devices` names the states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// Ready.
    Ready,
    /// Not accepted on the phone's screen yet.
    Unauthorized,
    /// Known to adb, and without an answer.
    Offline,
    /// Without the right to open the USB device.
    NoPermissions,
    /// In another mode: `recovery`, `sideload`, `bootloader`.
    Other(String),
}

impl Connection {
    fn of(text: &str) -> Connection {
        match text {
            "device" => Connection::Ready,
            "unauthorized" | "authorizing" => Connection::Unauthorized,
            "offline" | "connecting" => Connection::Offline,
            text if text.starts_with("no permissions") => Connection::NoPermissions,
            text => Connection::Other(text.to_owned()),
        }
    }

    /// What to do about a phone in this state.
    pub fn advice(&self) -> &'static str {
        match self {
            Connection::Ready => "it can be used",
            Connection::Unauthorized => {
                "unlock it and accept this computer (\"Allow USB debugging?\"); if it does not ask, take \
                 back the authorizations in its developer options and plug it in again"
            }
            Connection::Offline => {
                "unlock it, pull the cable and plug it in again; `adb reconnect` or another cable helps"
            }
            Connection::NoPermissions => {
                "this user may not open it: on Debian install android-sdk-platform-tools-common (its \
                 udev rules), join the group plugdev, and plug the phone in again"
            }
            Connection::Other(_) => "start Android on it",
        }
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Connection::Ready => "ready",
            Connection::Unauthorized => "not authorized",
            Connection::Offline => "offline",
            Connection::NoPermissions => "not accessible",
            Connection::Other(state) => return write!(f, "in the state {state}"),
        })
    }
}

/// A line of `adb devices -l`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connected {
    /// The serial number, or the address of the network.
    pub serial: String,
    /// The state.
    pub connection: Connection,
    /// The model as adb prints the model, with `_` for most signs.
    pub model: Option<String>,
}

/// How adb prints a phone whose serial number is empty.
const NO_SERIAL: &str = "(no serial number)";

impl Connected {
    /// Reads the output of `adb devices -l`. Lines that are no phone's are left out.
    pub fn list(text: &str) -> Vec<Connected> {
        text.lines().filter_map(Connected::of_line).collect()
    }

    fn of_line(line: &str) -> Option<Connected> {
        let line = line.trim();
        if line.is_empty() || line.starts_with("List of devices") || line.starts_with('*') {
            return None;
        }
        let (serial, rest) = match line.strip_prefix(NO_SERIAL) {
            Some(rest) => (NO_SERIAL, rest),
            None => line.split_once(char::is_whitespace)?,
        };
        let rest = rest.trim_start();
        let state = match rest.starts_with("no permissions") {
            true => rest,
            false => rest.split_whitespace().next()?,
        };
        let model = rest.split_whitespace().find_map(|word| word.strip_prefix("model:"));
        Some(Connected {
            serial: serial.to_owned(),
            connection: Connection::of(state),
            model: model.map(str::to_owned),
        })
    }

    /// The serial number with the model, where adb knows the model.
    pub(crate) fn named(&self) -> String {
        match &self.model {
            Some(model) => format!("{} ({})", self.serial, model.replace('_', " ")),
            None => self.serial.clone(),
        }
    }

    /// The phones that a target means, all of them ready.
    ///
    /// # Errors
    /// No phone, several without a choice, an absent one, or one that can't be used as it is.
    pub fn chosen(
        connected: &[Connected],
        choice: &PhoneChoice,
    ) -> Result<Vec<Connected>, PhoneError> {
        let chosen: Vec<Connected> = match choice {
            PhoneChoice::Serial(serial) => {
                let found = connected.iter().find(|phone| phone.serial == *serial);
                let absent =
                    || PhoneError::Absent { serial: serial.clone(), others: connected.to_vec() };
                vec![found.ok_or_else(absent)?.clone()]
            }
            PhoneChoice::Every => connected.to_vec(),
            PhoneChoice::TheOne => {
                let ready = |phone: &&Connected| phone.connection == Connection::Ready;
                // A phone that can't be used does not hide one that can.
                let usable: Vec<Connected> = connected.iter().filter(ready).cloned().collect();
                match (usable.as_slice(), connected) {
                    ([one], _) => vec![one.clone()],
                    ([], [one]) => vec![one.clone()],
                    ([], []) => Vec::new(),
                    _ => return Err(PhoneError::Several(connected.to_vec())),
                }
            }
        };
        if chosen.is_empty() {
            return Err(PhoneError::NoPhone);
        }
        match chosen.iter().find(|phone| phone.connection != Connection::Ready) {
            Some(Connected { serial, connection, .. }) if *choice != PhoneChoice::Every => {
                let (serial, connection) = (serial.clone(), connection.clone());
                Err(PhoneError::NotReady { serial, connection })
            }
            _ => Ok(chosen),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVERAL: &str = "\
* daemon not running; starting now at tcp:5037
* daemon started successfully
List of devices attached
0A1B2C3D               device usb:1-2 product:flame model:Pixel_4 device:flame transport_id:1
192.168.1.7:5555       unauthorized transport_id:2
(no serial number)     offline usb:3-1 transport_id:4
????????????           no permissions (user in plugdev group; are your udev rules wrong?); see [http://developer.android.com/tools/device.html] usb:1-3
XYZ\trecovery

";

    #[test]
    fn each_line_of_adb_devices_is_a_phone_with_its_state() {
        let found = Connected::list(SEVERAL);
        let states: Vec<_> =
            found.iter().map(|one| (one.serial.as_str(), one.connection.to_string())).collect();
        assert_eq!(
            states,
            [
                ("0A1B2C3D", "ready".to_owned()),
                ("192.168.1.7:5555", "not authorized".to_owned()),
                ("(no serial number)", "offline".to_owned()),
                ("????????????", "not accessible".to_owned()),
                ("XYZ", "in the state recovery".to_owned()),
            ]
        );
        assert_eq!(found[0].named(), "0A1B2C3D (Pixel 4)");
        assert!(
            Connected::list("").is_empty()
                && Connected::list("List of devices attached\n\n").is_empty()
        );
    }

    fn refused(list: &str, choice: &PhoneChoice) -> String {
        Connected::chosen(&Connected::list(list), choice).unwrap_err().to_string()
    }

    fn serials(list: &str, choice: &PhoneChoice) -> Vec<String> {
        let chosen = Connected::chosen(&Connected::list(list), choice).unwrap();
        chosen.into_iter().map(|one| one.serial).collect()
    }

    #[test]
    fn the_only_usable_phone_is_chosen_and_of_several_one_must_be_named() {
        let one = PhoneChoice::TheOne;
        assert_eq!(serials(SEVERAL, &one), ["0A1B2C3D"]);
        assert!(refused("", &one).contains("plug it in"));
        let two = "A device model:Pixel_4\nB device\n";
        assert_eq!(
            refused(two, &one),
            "2 phones are connected: name one (adb:A (Pixel 4), adb:B), or adb:all for all"
        );
        assert_eq!(serials(two, &PhoneChoice::Every), ["A", "B"]);
        assert_eq!(serials(two, &PhoneChoice::Serial("B".to_owned())), ["B"]);
        let absent = refused(two, &PhoneChoice::Serial("C".to_owned()));
        assert!(absent.contains("no phone C") && absent.contains("adb:A (Pixel 4), adb:B"));
    }

    #[test]
    fn a_phone_that_can_not_be_used_says_what_to_do() {
        for (line, advice) in [
            ("A unauthorized", "accept this computer"),
            ("A offline", "plug it in again"),
            ("A no permissions (missing udev rules?)", "udev rules"),
            ("A sideload", "in the state sideload: start Android"),
        ] {
            for choice in [PhoneChoice::TheOne, PhoneChoice::Serial("A".to_owned())] {
                let said = refused(line, &choice);
                assert!(said.contains("the phone A is") && said.contains(advice), "{said}");
            }
        }
    }
}
