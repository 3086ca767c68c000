//! The phones that adb lists.

use std::fmt;

/// The state of a phone's connection, in the words of `adb devices`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    Ready,
    /// The user has not yet accepted this computer on the phone's screen.
    Unauthorized,
    /// Known to adb, but it does not answer.
    Offline,
    /// This user has no permission to open the USB device.
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
    /// The serial number, or the network address.
    pub serial: String,
    /// The state.
    pub connection: Connection,
    /// The model as adb prints it, with `_` for most other characters.
    pub model: Option<String>,
}

/// What adb prints if a phone's serial number is empty.
const NO_SERIAL: &str = "(no serial number)";

impl Connected {
    /// Parses the output of `adb devices -l`; skips lines that are not about a phone.
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
        let state = if rest.starts_with("no permissions") {
            rest
        } else {
            rest.split_whitespace().next()?
        };
        let model = rest.split_whitespace().find_map(|word| word.strip_prefix("model:"));
        Some(Connected {
            serial: serial.to_owned(),
            connection: Connection::of(state),
            model: model.map(str::to_owned),
        })
    }

    /// The serial number, with the model if adb knows it.
    pub(crate) fn named(&self) -> String {
        match &self.model {
            Some(model) => format!("{} ({})", self.serial, model.replace('_', " ")),
            None => self.serial.clone(),
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
}
