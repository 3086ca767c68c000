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

#[test]
fn every_unit_is_the_power_that_its_name_says() {
    for (step, names) in
        [(1_000u64, ["kB", "MB", "GB", "TB"]), (1_024, ["KiB", "MiB", "GiB", "TiB"])]
    {
        for (power, name) in (1..).zip(names) {
            assert_eq!(format!("3{name}").parse(), Ok(Bytes(3 * step.pow(power))), "{name}");
        }
    }
    // Each decimal place is a tenth of the one before.
    assert_eq!("1.234567MB".parse(), Ok(Bytes(1_234_567)));
    assert_eq!("1.234567ms".parse(), Ok(Nanos(1_234_567)));
}

#[test]
fn sizes_and_rates_are_written_with_two_or_three_digits() {
    for (bytes, text) in [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (9_949, "9.9 kB")] {
        assert_eq!(Bytes(bytes).to_string(), text);
    }
    for (bytes, text) in [(9_951, "10 kB"), (999_499, "999 kB"), (999_500, "1.0 MB")] {
        assert_eq!(Bytes(bytes).to_string(), text);
    }
    let none = flashlag_units::rate(f64::NAN);
    for odd in [f64::INFINITY, -0.1, f64::NEG_INFINITY] {
        assert_eq!(flashlag_units::rate(odd), none, "{odd}");
    }
    assert_eq!(flashlag_units::ratio(1, 4), Some(0.25));
    assert_eq!(flashlag_units::ratio(1, 0), None);
}

#[test]
fn a_type_is_said_as_a_person_says_it() {
    for (kind, words) in [
        ("u64", "a whole number, 0 or more"),
        ("i8", "a whole number"),
        ("f64", "a number"),
        ("a boolean", "true or false"),
        ("a string", "text in quotes"),
        ("a sequence", "a list in [ ]"),
        ("a map", "keys with values"),
        ("a unicorn", "a unicorn"),
    ] {
        let said = flashlag_units::types_in_words(&format!("invalid type: x, expected {kind}"));
        assert_eq!(said, format!("invalid type: x, expected {words}"));
    }
    let refused = serde_json::from_str::<Text<Bytes>>("5").unwrap_err().to_string();
    assert!(refused.contains("expected a quantity in quotes with its unit"), "{refused}");
}

#[test]
fn characters_of_a_picture_keep_their_column_in_ascii() {
    assert_eq!(flashlag_units::to_ascii("●━━╌┤░│┼▸ 3 µs × 2 ± 1 …"), "O==-|-:+> 3 us x 2 +- 1 ~");
}
