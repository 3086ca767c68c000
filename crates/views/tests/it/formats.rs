//! Numbers as text.
use flashlag_stats::Percentile;
use flashlag_units::Nanos;
use flashlag_views::format;

#[test]
fn milliseconds_keep_two_digits_below_ten_and_group_thousands() {
    for (nanos, text) in [
        (0, "0"),
        (4_000, "0.004"),
        (610_000, "0.61"),
        (994_999, "0.99"),
        (995_000, "1.0"),
        (2_620_000, "2.6"),
        (9_949_999, "9.9"),
        (9_950_000, "10"),
        (423_400_000, "423"),
        (1_102_300_000, "1,102"),
    ] {
        assert_eq!(format::ms(Nanos(nanos)), text, "{nanos}");
    }
    assert_eq!(format::ms_of(None, 12), "n too small");
    assert_eq!(format::ms_of(None, 0), "-");
}

#[test]
fn a_share_is_0_or_100_percent_only_where_it_is() {
    for (share, text) in [
        (0.0, "0%"),
        (0.000_001, "<0.01%"),
        (0.0008, "0.08%"),
        (0.007, "0.7%"),
        (0.0989, "9.9%"),
        (0.0999, "10%"),
        (0.868, "87%"),
        (0.9949, "99%"),
        (0.9996, "99.9%"),
        (1.0, "100%"),
        (f64::NAN, "-"),
    ] {
        assert_eq!(format::share(share), text, "{share}");
    }
    assert_eq!(format::share_of(0, 0), "-");
}

#[test]
fn rates_keep_two_or_three_digits() {
    // Nexus 7, deleted and filled: 0.07 and 0.09 would hide a tenth of either.
    for (value, text) in [(0.0664, "0.066"), (0.0934, "0.093"), (0.004, "0.0040"), (0.0996, "0.10")]
    {
        assert_eq!(format::rate(value), text);
    }
    let cases =
        [(0.11, "0.11"), (4.314, "4.31"), (41.66, "41.7"), (238.4, "238"), (1640.2, "1,640")];
    for (value, text) in cases {
        assert_eq!(format::rate(value), text);
    }
    assert_eq!(format::mb_per_s(0.45e6), "0.45");
    assert_eq!(format::per_second(7.25), "7.2");
    assert_eq!(format::per_second(f64::INFINITY), "-");
}

#[test]
fn ratios_lists_and_percentiles_read_as_in_text() {
    assert_eq!(format::times(1.034), "1.03×");
    assert_eq!(format::times(2.34), "2.3×");
    assert_eq!(format::times(1013.0), "1,013×");
    assert_eq!(format::percentile(Percentile::P999), "p99.9");
    assert_eq!(format::percentile(Percentile::P50), "p50");
    let items = |count: usize| vec!["A".to_owned(); count];
    assert_eq!(format::list(&items(1)), "A");
    assert_eq!(format::list(&items(2)), "A and A");
    assert_eq!(format::list(&items(3)), "A, A and A");
    assert_eq!(format::count(12_000), "12,000");
    assert_eq!(format::count(999), "999");
}
