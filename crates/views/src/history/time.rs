//! Times of a history, in UTC.

use flashlag_units::Nanos;
use jiff::Timestamp;

/// `2026-11-27 20:20`.
pub fn minute(ms: u64) -> String {
    let stamp = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let text = stamp.map(|stamp| stamp.to_string()).unwrap_or_default();
    text.get(..16).map_or_else(|| "an unknown time".to_owned(), |text| text.replace('T', " "))
}

/// `2026-11-27`.
pub fn day(s: u64) -> String {
    minute(s.saturating_mul(1000)).split(' ').next().unwrap_or_default().to_owned()
}

/// Seconds since 1970 of a time as in RFC 3339; `None` if it is none, or before.
pub fn seconds_of(text: &str) -> Option<u64> {
    u64::try_from(text.parse::<Timestamp>().ok()?.as_second()).ok()
}

/// `31 days`, `5 hours`: the larger unit that fits.
pub fn length(time: Nanos) -> String {
    let seconds = time.0 / 1_000_000_000;
    let of = |count: u64, unit: &str| {
        let ending = if count == 1 { "" } else { "s" };
        format!("{} {unit}{ending}", flashlag_units::count(count))
    };
    match seconds {
        172_800.. => of((seconds + 43_200) / 86_400, "day"),
        7_200.. => of((seconds + 1_800) / 3_600, "hour"),
        120.. => of((seconds + 30) / 60, "minute"),
        _ => of(seconds, "second"),
    }
}

/// `once`, `14 times`.
pub fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{} times", flashlag_units::count(count)),
    }
}
