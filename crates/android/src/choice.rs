use flashlag_spec::target::PhoneChoice;

use crate::adb::Adb;
use crate::connected::{Connected, Connection};
use crate::error::PhoneError;
use crate::transport::Transport;

/// The one phone that a target means, and the way there.
///
/// # Errors
/// As [`chosen`], and if there are several.
pub fn the_phone(choice: &PhoneChoice) -> Result<(Connected, Box<dyn Transport>), PhoneError> {
    let adb = Adb::find()?;
    let mut phones = chosen(&adb.connected()?, choice)?;
    match (phones.pop(), phones.is_empty()) {
        (Some(phone), true) => {
            let way: Box<dyn Transport> = Box::new(adb.phone(&phone.serial));
            Ok((phone, way))
        }
        (last, _) => Err(PhoneError::Several(phones.into_iter().chain(last).collect())),
    }
}

/// The phones that a target selects, all of them ready.
///
/// # Errors
/// No phone; several without a choice between them; a chosen one that is absent or not usable.
pub fn chosen(connected: &[Connected], choice: &PhoneChoice) -> Result<Vec<Connected>, PhoneError> {
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
            // An unusable phone must not hide a usable one.
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

#[cfg(test)]
mod tests {
    use super::*;

    const SEVERAL: &str =
        "0A1B2C3D device model:Pixel_4\n192.168.1.7:5555 unauthorized\nXYZ\trecovery\n";

    fn refused(list: &str, choice: &PhoneChoice) -> String {
        chosen(&Connected::list(list), choice).unwrap_err().to_string()
    }

    fn serials(list: &str, choice: &PhoneChoice) -> Vec<String> {
        let found = chosen(&Connected::list(list), choice).unwrap();
        found.into_iter().map(|one| one.serial).collect()
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
