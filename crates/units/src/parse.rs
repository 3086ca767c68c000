use thiserror::Error;

/// A suffix and the number of base units that it stands for.
pub(crate) type Suffix = (&'static str, u64);

/// Errors of parsing a quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseUnitError {
    #[error("`{text}` is not {expected}")]
    Malformed { text: String, expected: &'static str },
    #[error("`{text}` has no unit: write {expected}")]
    NoUnit { text: String, expected: &'static str },
    #[error("`{text}` is too large")]
    TooLarge { text: String },
}

/// Parses `12.5MB` exactly, without floating point: digits, an optional fraction, a suffix.
pub(crate) fn parse_scaled(
    text: &str,
    suffixes: &[Suffix],
    expected: &'static str,
) -> Result<u64, ParseUnitError> {
    let malformed = || ParseUnitError::Malformed { text: text.to_owned(), expected };
    let too_large = || ParseUnitError::TooLarge { text: text.to_owned() };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, suffix) = (&trimmed[..split], trimmed[split..].trim_start());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
        return Err(malformed());
    }
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    if suffix.is_empty() {
        let zero = whole == 0 && fraction.is_empty();
        let error = ParseUnitError::NoUnit { text: text.to_owned(), expected };
        return if zero { Ok(0) } else { Err(error) };
    }
    let (_, unit) = suffixes.iter().find(|(name, _)| *name == suffix).ok_or_else(malformed)?;
    let mut value = whole.checked_mul(*unit).ok_or_else(too_large)?;
    let mut place = *unit;
    for digit in fraction.bytes() {
        // A fraction finer than the base unit is an error, not rounded.
        if place % 10 != 0 && digit != b'0' {
            // Binary units are not multiples of ten: compute the rest of the fraction at once.
            return fraction_of(whole, fraction, *unit).ok_or_else(malformed);
        }
        place /= 10;
        value = value.checked_add(place * u64::from(digit - b'0')).ok_or_else(too_large)?;
    }
    Ok(value)
}

/// `whole.fraction × unit` rounded down, for units that are not powers of ten.
fn fraction_of(whole: u64, fraction: &str, unit: u64) -> Option<u64> {
    if fraction.len() > 15 || unit.is_multiple_of(10) || unit == 1 {
        return None;
    }
    let scale = 10u128.pow(fraction.len() as u32);
    let numerator = u128::from(whole) * scale + fraction.parse::<u128>().ok()?;
    u64::try_from(numerator * u128::from(unit) / scale).ok()
}
