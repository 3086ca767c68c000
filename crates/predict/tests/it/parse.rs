//! What people type.

use flashlag_predict::change::{Change, parse, parse_levels};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,60}", key in "[a-z_.]{1,12}", value in ".{0,12}") {
        let _ = parse(&text);
        let _ = parse(&format!("{key}={value}"));
        let _ = parse_levels(&text);
    }

    #[test]
    fn a_change_that_is_written_reads_the_same(
        level in 0_u32..970,
        spare in 1_u64..1 << 40,
        days in 1_u64..3650,
    ) {
        let level = f64::from(level) / 10.0;
        let text = format!("full={level}%,spare={spare}B,age={days}d");
        let changes = parse(&text).unwrap();
        let written: Vec<String> = changes.iter().map(Change::to_string).collect();
        prop_assert_eq!(parse(&written.join(",")).unwrap(), changes);
    }

    #[test]
    fn levels_ascend_from_the_first_to_the_last(from in 0_u32..96, more in 1_u32..97) {
        let to = (from + more).min(97);
        let levels = parse_levels(&format!("full={from}%..{to}%")).unwrap();
        prop_assert!(levels.is_sorted() && levels.len() >= 2);
        prop_assert!((levels[0] - f64::from(from) / 100.0).abs() < 1e-9);
        prop_assert!((levels[levels.len() - 1] - f64::from(to) / 100.0).abs() < 1e-6);
    }
}
