//! Exact decimal numbers in the cells of a table.

/// A number times `unit`: `0.08` times 1,000,000 is 80,000. Drops what is less than one; accepts an
/// exponent (`2.1e-05`). `None` if it is negative, no number, or too large.
pub(super) fn scaled(text: &str, unit: u64) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = whole.chars().chain(fraction.chars());
    if whole.len() + fraction.len() == 0 || !digits.all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // More than 15 digits of a fraction make no difference of a nanosecond.
    let fraction = fraction.get(..fraction.len().min(15))?;
    let number: u128 = format!("{whole}{fraction}").parse().ok()?;
    let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let product = number.checked_mul(u128::from(unit))?;
    let ten = 10_u128.checked_pow(exponent.unsigned_abs());
    // A power of ten that overflows is larger than any number here: the quotient is zero.
    let scaled =
        if exponent >= 0 { product.checked_mul(ten?)? } else { ten.map_or(0, |ten| product / ten) };
    u64::try_from(scaled).ok()
}

/// A whole number times `unit`; `4096.0` is whole.
pub(super) fn whole(text: &str, unit: u64) -> Option<u64> {
    let is_whole = match text.split_once('.') {
        Some((_, fraction)) => fraction.bytes().all(|byte| byte == b'0'),
        None => true,
    };
    is_whole.then(|| scaled(text, unit))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_exact_in_its_unit() {
        assert_eq!(scaled("1455592051.003463000", 1_000_000_000), Some(1_455_592_051_003_463_000));
        assert_eq!(scaled("128166372003061629", 100), Some(12_816_637_200_306_162_900));
        assert_eq!(scaled(".757241486", 1_000_000_000), Some(757_241_486));
        assert_eq!(scaled("0.08", 1_000_000), Some(80_000));
        assert_eq!(scaled("2.1205e-04", 1_000_000_000), Some(212_050));
        assert_eq!(scaled("1e-400", 1), Some(0));
        assert_eq!(whole("4096.0", 1), Some(4096));
        assert_eq!(whole("8", 512), Some(4096));
        for not in ["", ".", "-1", "1e400", "x", "1.2.3", "99999999999999999999", "1e", "NaN", "+1"]
        {
            assert_eq!(scaled(not, 1), None, "{not}");
        }
        assert_eq!(whole("1.5", 512), None);
    }
}
