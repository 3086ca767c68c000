//! Quantities are read strictly and exactly.
use flashlag_units::{Bytes, Nanos, ParseUnitError, Text};
use proptest::prelude::*;

#[test]
fn decimal_and_binary_sizes_are_distinguished() {
    assert_eq!("300MB".parse(), Ok(Bytes(300_000_000)));
    assert_eq!("300MiB".parse(), Ok(Bytes(314_572_800)));
    assert_eq!("1.5 GiB".parse(), Ok(Bytes(1_610_612_736)));
    assert_eq!("0".parse(), Ok(Bytes::ZERO));
}

#[test]
fn a_missing_unit_is_refused_and_says_what_to_write() {
    let error = "300".parse::<Bytes>().unwrap_err();
    assert!(matches!(error, ParseUnitError::NoUnit { .. }));
    assert_eq!(
        error.to_string(),
        "`300` has no unit: write a size such as 300MB (10^6) or 300MiB (2^20)"
    );
}

#[test]
fn nonsense_is_refused() {
    for text in ["", "MB", "-1MB", "1.2.3MB", "1.MB", "5 parsecs", "1e9B", "0.5B", "NaNs"] {
        assert!(text.parse::<Bytes>().is_err(), "{text}");
        assert!(text.parse::<Nanos>().is_err(), "{text}");
    }
    assert!(matches!("99999999999TB".parse::<Bytes>(), Err(ParseUnitError::TooLarge { .. })));
}

#[test]
fn durations_print_as_a_person_would_write_them() {
    for (nanos, text) in [
        (85, "85 ns"),
        (2_600_000, "2.6 ms"),
        (999_600_000, "1.0 s"),
        (192_000_000_000, "3 min 12 s"),
        (7_500_000_000_000, "2 h 05 min"),
    ] {
        assert_eq!(Nanos(nanos).to_string(), text);
    }
}

#[test]
fn a_bare_number_in_a_scenario_is_refused() {
    assert!(serde_json::from_str::<Text<Bytes>>("100").is_err());
    let size: Text<Bytes> = serde_json::from_str("\"100MB\"").unwrap();
    assert_eq!(serde_json::to_string(&size).unwrap(), "100000000");
}

proptest! {
    #[test]
    fn parsing_never_panics(text in "\\PC{0,24}") {
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<Nanos>();
    }

    #[test]
    fn whole_numbers_round_trip(count in 0u64..1 << 40) {
        prop_assert_eq!(format!("{count}B").parse(), Ok(Bytes(count)));
        prop_assert_eq!(format!("{count}ns").parse(), Ok(Nanos(count)));
    }
}

#[test]
fn the_longest_time_prints() {
    assert_eq!(Nanos::MAX.to_string(), "5124095 h 34 min");
}

#[test]
fn a_difference_has_the_order_that_it_says() {
    assert_eq!(Nanos(7).since(Nanos(7)), Nanos(0));
    assert_eq!(Bytes(9).minus(Bytes(2)), Bytes(7));
    assert_eq!(Nanos(3).saturating_since(Nanos(7)), Nanos(0));
    assert_eq!(Bytes(3).saturating_minus(Bytes(7)), Bytes(0));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "an end before its start")]
fn an_operation_that_ends_before_it_starts_is_a_fault_of_the_program() {
    let _ = Nanos(3).since(Nanos(7));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "a part larger than the whole")]
fn a_part_larger_than_its_whole_is_a_fault_of_the_program() {
    let _ = Bytes(3).minus(Bytes(7));
}
