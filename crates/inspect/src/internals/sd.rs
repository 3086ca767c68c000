//! An SD card's status register (SSR), 512 bits: SD Physical Layer Simplified Specification, 4.10.2.

use flashlag_schema::internals::DeviceInternals;
use flashlag_spec::Reading;
use flashlag_units::Bytes;

use crate::reason::Reason;

/// Parses the register from sysfs: 128 hexadecimal digits, most significant bit first.
pub(super) fn of_register(text: &str) -> Result<DeviceInternals, Reason> {
    let digits: String = text.split_whitespace().collect();
    let plain = digits.len() == 128 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !plain {
        let words = format!("the card's status register has {} digits, not 128", digits.len());
        return Err(Reason::none(words));
    }
    let byte =
        |index: usize| u8::from_str_radix(&digits[index * 2..index * 2 + 2], 16).unwrap_or(0);
    // Byte 0 holds bits 511 to 504.
    let speed = match byte(8) {
        0 => 0,
        1 => 2,
        2 => 4,
        3 => 6,
        4 => 10,
        other => {
            return Err(Reason::none(format!("the card has a speed class of the code {other}")));
        }
    };
    Ok(DeviceInternals::Sd {
        speed_class: Reading::Value(speed),
        uhs_grade: Reading::Value(byte(14) >> 4),
        video_class: Reading::Value(byte(15)),
        app_class: Reading::Value(byte(21) & 0x0F),
        allocation_unit_bytes: allocation_unit(byte(10) >> 4).into(),
    })
}

/// The code AU_SIZE: 16 KiB, doubled at each step up to 4 MiB, then the sizes of SDXC.
fn allocation_unit(code: u8) -> Result<Bytes, Reason> {
    const MIB: [u64; 6] = [8, 12, 16, 24, 32, 64];
    match code {
        0 => Err("the card leaves its allocation unit undefined".into()),
        1..=9 => Ok(Bytes::from_kib(16 << (code - 1))),
        _ => Ok(Bytes::from_mib(MIB[usize::from(code - 10)])),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    /// The register of a card of class 10, U3, V30, A2, with allocation units of 4 MiB.
    fn register() -> String {
        let mut bytes = [0u8; 64];
        (bytes[8], bytes[10], bytes[14], bytes[15], bytes[21]) = (4, 0x90, 0x30, 30, 2);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn classes_are_read_from_their_bits() {
        let read = of_register(&register()).unwrap();
        let expected = DeviceInternals::Sd {
            speed_class: Reading::Value(10),
            uhs_grade: Reading::Value(3),
            video_class: Reading::Value(30),
            app_class: Reading::Value(2),
            allocation_unit_bytes: Reading::Value(Bytes::from_mib(4)),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn allocation_units_are_those_of_the_specification() {
        let sizes: Vec<u64> = (1..16).map(|code| allocation_unit(code).unwrap().0 >> 10).collect();
        let kib = [
            16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 12_288, 16_384, 24_576, 32_768,
            65_536,
        ];
        assert_eq!(sizes, kib);
        assert!(allocation_unit(0).is_err());
    }

    #[test]
    fn a_register_of_another_length_or_with_other_signs_is_refused() {
        for text in ["", "00", &"zz".repeat(64), &"0".repeat(127), &"é".repeat(64)] {
            assert!(of_register(text).is_err(), "{text:.20}");
        }
    }
}
