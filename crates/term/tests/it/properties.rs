//! Whatever is in a run file, a view neither panics nor lets it reach the terminal as anything but
//! text, and no line is wider than asked for.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use flashlag_term::Style;
use flashlag_testing::{changes, disturbed};
use flashlag_views::{CompareOptions, compare};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

/// Takes our own colour sequences out and finds fault with the rest.
fn check_screen(text: &str, style: Style) -> Result<(), TestCaseError> {
    for line in text.lines() {
        let mut plain = String::new();
        for (index, part) in line.split("\u{1b}[").enumerate() {
            if index == 0 {
                plain.push_str(part);
                continue;
            }
            prop_assert!(style.color, "a colour sequence without colour: {line:?}");
            let (sgr, rest) = part.split_once('m').unwrap_or(("?", ""));
            prop_assert!(sgr.chars().all(|c| c.is_ascii_digit() || c == ';'), "{line:?}");
            plain.push_str(rest);
        }
        prop_assert!(plain.chars().all(|c| !c.is_control()), "a control character: {line:?}");
        let reorders = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        prop_assert!(!plain.chars().any(reorders), "reordered: {line:?}");
        prop_assert!(style.unicode || plain.is_ascii(), "not ASCII: {line:?}");
        let width = plain.width();
        let most = style.width.max(Style::NARROWEST);
        prop_assert!(width <= most, "{width} of {most} columns: {line:?}");
    }
    Ok(())
}

fn style() -> impl Strategy<Value = Style> {
    let width = prop_oneof![Just(60), Just(80), Just(120), 1..200usize];
    let style = (width, any::<bool>(), any::<bool>());
    style.prop_map(|(width, color, unicode)| Style { width, color, unicode })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_run_breaks_a_screen(which in 0..4usize, changes in changes(), style in style()) {
        let run = disturbed(which, &changes);
        check_screen(&flashlag_term::summary(&run, style), style)?;
        check_screen(&flashlag_term::trust(&run, style), style)?;
    }

    #[test]
    fn no_comparison_breaks_a_screen(
        which in (0..4usize, 0..4usize),
        changes in (changes(), changes()),
        style in style(),
    ) {
        let runs = [disturbed(which.0, &changes.0), disturbed(which.1, &changes.1)];
        let options = CompareOptions { force: true, ..CompareOptions::default() };
        if let Ok(comparison) = compare(&runs, &options) {
            check_screen(&flashlag_term::comparison(&comparison, style), style)?;
        }
    }
}
