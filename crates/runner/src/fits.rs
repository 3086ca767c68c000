//! Options with which a run fits that is too large as it stands.

use flashlag_spec::scenario::Scenario;
use flashlag_units::Bytes;

use crate::error::Fits;
use crate::estimate::estimate;

/// The smallest span that is worth a measurement.
const LEAST_SPAN: Bytes = Bytes::from_mb(4);

/// Space that the files of a scenario's tests need.
pub(crate) fn needed(scenario: &Scenario) -> Bytes {
    estimate(scenario, Bytes::ZERO).room()
}

/// Options with which the scenario fits if `free` of `total` is free and `leave` must stay free: a
/// smaller `--leave` alone if a twentieth stays free, otherwise a smaller span as well.
pub(crate) fn fits(scenario: &Scenario, free: Bytes, total: Bytes, leave: Bytes) -> Option<Fits> {
    let least_left = Bytes(total.0 / 20);
    let alone = rounded(free.saturating_minus(needed(scenario)));
    if alone >= least_left && needed(scenario).plus(alone) <= free {
        return Some(Fits { leave: Some(alone), span: None });
    }
    // The leave is the user's choice, so the largest that fits is kept.
    let with_span = |leave: Bytes| {
        let room = free.saturating_minus(leave);
        let spans = (1..).map(|parts| rounded(Bytes(room.0 / parts)));
        let mut spans = spans.take_while(|span| *span >= LEAST_SPAN);
        spans.find(|span| {
            with(scenario, *span).is_some_and(|with| needed(&with).plus(leave) <= free)
        })
    };
    if let Some(span) = with_span(leave) {
        return Some(Fits { leave: None, span: Some(span) });
    }
    let span = with_span(least_left)?;
    Some(Fits { leave: Some(rounded(least_left)), span: Some(span) })
}

/// The scenario with another span; `None` if it has no such setting.
fn with(scenario: &Scenario, span: Bytes) -> Option<Scenario> {
    let mut settings: Vec<(String, String)> =
        scenario.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let found = settings.iter_mut().find(|(key, _)| key == "span")?;
    found.1 = format!("{}B", span.0);
    Scenario::parse(&scenario.text, &settings).ok()
}

/// Rounds down to whole megabytes, and above ten to tens of megabytes, as a person would write it.
fn rounded(bytes: Bytes) -> Bytes {
    let step: u64 = if bytes.0 >= 100_000_000 { 10_000_000 } else { 1_000_000 };
    Bytes(bytes.0 - bytes.0 % step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    fn quick() -> Scenario {
        Scenario::parse(builtin("quick").unwrap().text(), &[]).unwrap()
    }

    #[test]
    fn the_files_beside_a_test_count_too() {
        let databases = (1000 + 12_000) * 100 + 1000 * (4096 + 24) + 5 * 4096;
        assert_eq!(
            needed(&quick()),
            Bytes(200_000_000 + databases),
            "the test's 100 MB and the stream's"
        );
    }

    #[test]
    fn what_is_suggested_fits() {
        for name in ["quick", "lifecycle", "fill", "soak"] {
            let scenario = Scenario::parse(builtin(name).unwrap().text(), &[]).unwrap();
            for megabytes in [20, 50, 100, 150, 200, 250, 300, 473, 1000] {
                let (free, total) = (Bytes::from_mb(megabytes), Bytes::from_mb(megabytes + 17));
                for leave in [Bytes(total.0 / 10), Bytes::from_mb(1000)] {
                    if needed(&scenario).plus(leave) <= free {
                        continue;
                    }
                    let Some(fits) = fits(&scenario, free, total, leave) else {
                        panic!("{name}: nothing fits in {free}");
                    };
                    let leave = fits.leave.unwrap_or(leave);
                    let chosen = fits.span.and_then(|span| with(&scenario, span));
                    let needed = needed(chosen.as_ref().unwrap_or(&scenario));
                    assert!(needed.plus(leave) <= free, "{name}, {free}: {fits:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_suggested_that_does_not_help() {
        let nothing = fits(&quick(), Bytes::from_mb(5), Bytes::from_mb(200), Bytes::from_mb(20));
        assert_eq!(nothing, None);
        let only_leave =
            fits(&quick(), Bytes::from_mb(473), Bytes::from_mb(490), Bytes::from_mb(1000));
        assert_eq!(only_leave, Some(Fits { leave: Some(Bytes::from_mb(260)), span: None }));
    }

    #[test]
    fn a_figure_is_rounded_down_to_whole_megabytes_and_from_100_on_to_tens() {
        for (bytes, down) in [
            (3_999_999, 3_000_000),
            (4_000_000, 4_000_000),
            (99_999_999, 99_000_000),
            (100_000_000, 100_000_000),
            (119_999_999, 110_000_000),
        ] {
            assert_eq!(rounded(Bytes(bytes)), Bytes(down));
        }
    }

    #[test]
    fn a_smaller_leave_alone_is_suggested_as_long_as_a_twentieth_stays_free() {
        // The files take 205.3 MB; 50 MB are a twentieth of a gigabyte.
        let fits = |free| {
            let (free, total) = (Bytes::from_mb(free), Bytes::from_mb(1000));
            fits(&quick(), free, total, Bytes::from_mb(900)).unwrap()
        };
        assert_eq!(fits(256), Fits { leave: Some(Bytes::from_mb(50)), span: None });
        assert_eq!(fits(255).leave, Some(Bytes::from_mb(50)));
        assert!(fits(255).span.is_some(), "less than a twentieth would stay free");
    }

    #[test]
    fn what_is_to_be_left_stays_where_a_smaller_span_is_enough() {
        let (total, leave) = (Bytes::from_mb(10_000), Bytes::from_mb(20));
        let fits = fits(&quick(), Bytes::from_mb(150), total, leave).unwrap();
        assert_eq!(fits.leave, None);
        let span = fits.span.unwrap();
        // The largest span that fits in 130 MB besides the stream's file, in parts of the room.
        let needed = needed(&with(&quick(), span).unwrap());
        assert!(needed.plus(leave) <= Bytes::from_mb(150) && span >= LEAST_SPAN, "{span}");
    }

    #[test]
    fn a_scenario_without_the_setting_has_no_other_span() {
        let text = "name = \"x\"\n[[io]]\nname = \"t\"\noperation = \"read\"\nspan = \"50MB\"\n\
                    pattern = \"random\"\nblock = \"4KiB\"\ntime = \"1s\"\n\
                    [[step]]\nmeasure = [\"t\"]\n";
        let scenario = Scenario::parse(text, &[]).unwrap();
        assert_eq!(with(&scenario, Bytes::from_mb(10)), None);
        assert_eq!(
            fits(&scenario, Bytes::from_mb(40), Bytes::from_mb(100), Bytes::from_mb(10)),
            None
        );
    }
}
