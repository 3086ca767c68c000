//! Charge, power and heat of a device with a battery, over a run.

use std::fmt::Display;

use flashlag_schema::{Conditions, OtherIo, Power, Run, Throttling};
use flashlag_spec::Reading;
use flashlag_units::Bytes;

/// What was read before each test and at the end, as names and texts; empty for a device without a
/// battery. A value that was never read is left out.
pub fn conditions(run: &Run) -> Vec<(&'static str, String)> {
    let all = &run.conditions;
    let charge = span(all, |read| &read.battery_percent, |percent| format!("{percent}%"));
    let power = steps(all, |read| &read.power, |power| power_name(*power));
    let warmth = |of: fn(&Conditions) -> &Reading<i64>| {
        span(all, of, |millicelsius| format!("{:.1} °C", *millicelsius as f64 / 1000.0))
    };
    let battery = [charge, power, warmth(|read| &read.battery_millicelsius)];
    let battery: Vec<String> = battery.into_iter().flatten().collect();
    let throttling = steps(all, |read| &read.throttling, |level| throttling_name(*level));
    let screen = steps(all, |read| &read.screen_on, |on| if *on { "on" } else { "off" });
    let known = [
        ("Battery", Some(battery.join(", ")).filter(|text| !text.is_empty())),
        ("Skin at", warmth(|read| &read.skin_millicelsius)),
        ("CPU between tests", warmth(|read| &read.cpu_millicelsius)),
        ("Throttling", throttling),
        ("Screen", screen),
        ("Other apps", others(all)),
    ];
    known.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

/// The I/O of other apps over the tests after which it was read.
fn others(all: &[Conditions]) -> Option<String> {
    let known: Vec<OtherIo> =
        all.iter().filter_map(|read| read.other_io.value().copied()).collect();
    let most = known.iter().map(|io| io.write_bytes).max()?;
    let sum = known.iter().fold(OtherIo::default(), |sum, io| sum.plus(*io));
    let of_one = if known.len() > 1 && most > Bytes::ZERO && most < sum.write_bytes {
        format!(", {most} of it in one test")
    } else {
        String::new()
    };
    Some(format!("{} written{of_one}, {} read", sum.write_bytes, sum.read_bytes))
}

/// The first and the last value, and the highest where that is neither: `27.4 °C to 30.1 °C, 33.0 °C
/// at most`.
fn span<T: Copy + Ord>(
    all: &[Conditions],
    of: impl Fn(&Conditions) -> &Reading<T>,
    text: impl Fn(&T) -> String,
) -> Option<String> {
    let known: Vec<T> = all.iter().filter_map(|read| of(read).value().copied()).collect();
    let (first, last, most) = (known.first()?, known.last()?, known.iter().max()?);
    let mut said = text(first);
    if text(last) != said {
        said = format!("{said} to {}", text(last));
    }
    if most > first.max(last) && text(most) != text(first) && text(most) != text(last) {
        said = format!("{said}, {} at most", text(most));
    }
    Some(said)
}

/// Each value where it changes: `on, then off`.
fn steps<T, N: Display + PartialEq>(
    all: &[Conditions],
    of: impl Fn(&Conditions) -> &Reading<T>,
    name: impl Fn(&T) -> N,
) -> Option<String> {
    let mut names: Vec<N> = all.iter().filter_map(|read| of(read).value()).map(name).collect();
    names.dedup();
    let texts: Vec<String> = names.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(", then "))
}

fn power_name(power: Power) -> &'static str {
    match power {
        Power::Battery => "not charging",
        Power::Charger => "on a charger",
        Power::Usb => "on USB",
        Power::Wireless => "charging wirelessly",
        Power::Dock => "on a dock",
    }
}

fn throttling_name(level: Throttling) -> &'static str {
    match level {
        Throttling::None => "none",
        Throttling::Light => "light",
        Throttling::Moderate => "moderate",
        Throttling::Severe => "severe",
        Throttling::Critical => "critical",
        Throttling::Emergency => "emergency",
        Throttling::Shutdown => "shutdown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(percent: u8, millicelsius: i64, on: bool) -> Conditions {
        Conditions {
            battery_percent: Reading::Value(percent),
            battery_millicelsius: Reading::Value(millicelsius),
            power: Reading::Value(if on { Power::Usb } else { Power::Battery }),
            screen_on: Reading::Value(on),
            ..Conditions::default()
        }
    }

    fn said(all: Vec<Conditions>) -> Vec<(&'static str, String)> {
        conditions(&Run { conditions: all, ..flashlag_testing::small_run() })
    }

    #[test]
    fn first_last_and_highest_are_named_and_what_changed() {
        let all = vec![read(80, 27_400, true), read(80, 33_000, true), read(78, 30_100, false)];
        assert_eq!(
            said(all),
            [
                (
                    "Battery",
                    "80% to 78%, on USB, then not charging, 27.4 °C to 30.1 °C, 33.0 °C at most"
                        .to_owned()
                ),
                ("Screen", "on, then off".to_owned()),
            ]
        );
    }

    #[test]
    fn what_other_apps_wrote_is_summed_and_the_most_of_one_test_is_named() {
        let others = |write: u64| Conditions {
            other_io: Reading::Value(OtherIo {
                read_bytes: Bytes(1_000_000),
                write_bytes: Bytes(write),
            }),
            ..Conditions::default()
        };
        let row = |all| said(all).pop();
        let said_of = |text: &str| Some(("Other apps", text.to_owned()));
        let all = vec![Conditions::default(), others(3_000_000), others(9_000_000)];
        assert_eq!(row(all), said_of("12 MB written, 9.0 MB of it in one test, 2.0 MB read"));
        assert_eq!(row(vec![others(0), others(0)]), said_of("0 B written, 2.0 MB read"));
        assert_eq!(row(vec![others(5)]), said_of("5 B written, 1.0 MB read"));
    }

    #[test]
    fn one_look_is_one_value_and_none_is_nothing() {
        assert_eq!(
            said(vec![read(80, 27_400, true)]),
            [("Battery", "80%, on USB, 27.4 °C".to_owned()), ("Screen", "on".to_owned())]
        );
        assert!(said(vec![Conditions::default()]).is_empty() && said(Vec::new()).is_empty());
    }
}
