//! Numbers as tools print them.

use flashlag_units::Nanos;

/// Bytes of a sector in every interface of the kernel.
pub(super) const SECTOR: u64 = 512;

/// Bytes at a file's beginning that are read to detect its format.
pub(super) const HEAD: u64 = 1 << 16;

/// Seconds with a fraction: `653406.907265`, `.757`, `12`. Digits beyond nanoseconds are dropped.
pub(super) fn seconds(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = 0;
    for place in 0..9 {
        nanos =
            nanos * 10 + fraction.as_bytes().get(place).map_or(0, |digit| u64::from(digit - b'0'));
    }
    whole.checked_mul(1_000_000_000)?.checked_add(nanos).map(Nanos)
}

/// A number in decimal, or in hexadecimal after `0x`.
pub(super) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_to_the_nanosecond() {
        assert_eq!(seconds("653406.907265"), Some(Nanos(653_406_907_265_000)));
        assert_eq!(seconds(".757241486"), Some(Nanos(757_241_486)));
        assert_eq!(seconds("1200487.4621539998"), Some(Nanos(1_200_487_462_153_999)));
        assert_eq!(seconds("12"), Some(Nanos(12_000_000_000)));
        for not in
            ["", ".", "-1.0", "1.2.3", "1e9", "99999999999999999999.0", "18446744074.0", "1,5"]
        {
            assert_eq!(seconds(not), None, "{not}");
        }
    }
}
