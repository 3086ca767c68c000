//! Map entries that the host holds (HPB).

use flashlag_units::Nanos;

use super::timing::{Bare, Timed, model};
use crate::address::Unit;
use crate::front::{Store, UnitWrite};
use crate::hybrid::cached::CachedMap;

/// Units of 16 KiB of a page of the map, and pages: 1 GiB, of which the device caches eight.
const ENTRIES: u32 = 2048;
const PAGES: u32 = 32;
const READ: u64 = 75_000;

fn map(hpb: &str) -> CachedMap<Bare> {
    let model = model(&[
        ("map.capacity", "\"1GiB\""),
        ("map.spare", "\"64MiB\""),
        ("map.kind", "\"cached_page\""),
        ("map.hpb", hpb),
    ]);
    CachedMap::new(&model, Bare(Timed::new(&model)))
}

/// A map whose host has read each page as often as it takes to load it.
fn loaded() -> (CachedMap<Bare>, Nanos) {
    let (mut map, mut at) = (map("\"1GiB\""), Nanos::ZERO);
    for page in 0..PAGES {
        for _ in 0..8 {
            at = map.read(at, Unit(page * ENTRIES), 1);
        }
    }
    assert_eq!(
        map.traffic.reads,
        u64::from(PAGES),
        "each page is read once, and not again to be loaded into the host"
    );
    (map, at)
}

/// Changes entries of eight pages, so that the device's cache holds these and no other.
fn evict(map: &mut CachedMap<Bare>, at: Nanos) -> Nanos {
    (20..28).fold(at, |at, page| {
        let unit = Unit(page * ENTRIES);
        map.write(at, &[UnitWrite { unit, whole: true }]).unwrap()
    })
}

#[test]
fn reads_of_entries_that_the_host_holds_never_miss() {
    // A share of the reads, at least and at most: what neither host nor device holds, and what the
    // host does not.
    for (hpb, least, most) in [("\"1GiB\"", 0.0, 0.0), ("\"512MiB\"", 0.25, 0.5)] {
        let (mut map, mut at, mut state) = (map(hpb), Nanos::ZERO, 1u64);
        let (mut from, mut before, count) = (at, 0, 100_000);
        for index in 0..2 * count {
            if index == count {
                (from, before) = (at, map.traffic.reads);
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            at = map.read(at, Unit(((state >> 33) % u64::from(PAGES * ENTRIES)) as u32), 1);
        }
        let missed = (map.traffic.reads - before) as f64 / f64::from(count);
        assert!(missed >= least && missed <= most + 0.01, "{hpb}: {missed}");
        let each = at.since(from).0 as f64 / f64::from(count);
        let expected = READ as f64 + missed * (READ as f64 + 8192.0 * 25.0);
        assert!((each / expected - 1.0).abs() < 0.001, "{hpb}: {each} ns, not {expected}");
    }
}

#[test]
fn an_entry_that_a_write_has_changed_misses_until_the_host_has_loaded_it_again() {
    let (mut map, mut at) = loaded();
    let (stale, fresh) = (Unit(3 * ENTRIES + 5), Unit(3 * ENTRIES + 6));
    at = map.write(at, &[UnitWrite { unit: stale, whole: true }]).unwrap();
    let mut misses = |map: &mut CachedMap<Bare>, unit, count| {
        at = evict(map, at);
        let before = map.traffic.reads;
        let end = map.read(at, unit, count);
        let read = map.traffic.reads - before;
        assert_eq!(end.since(at).0 == READ, read == 0);
        at = end;
        read
    };
    assert_eq!(misses(&mut map, fresh, 1), 0);
    for turn in 0..8 {
        assert_eq!(misses(&mut map, stale, 1), 1, "read {turn}");
        assert_eq!(misses(&mut map, fresh, 1), 0, "read {turn}");
    }
    assert_eq!(misses(&mut map, stale, 1), 0);
    // Longer than a command that takes an entry: 48 of 32 KiB.
    assert_eq!(misses(&mut map, stale, 2), 0);
    assert_eq!(misses(&mut map, stale, 3), 1);
    // What was discarded is stale, too.
    map.discard(Nanos::ZERO, fresh, 1);
    assert_eq!(misses(&mut map, fresh, 1), 1);
}

#[test]
fn a_cut_of_the_power_takes_the_hosts_entries_along() {
    let (mut map, at) = loaded();
    map.power_cut(at);
    let before = map.traffic.reads;
    (0..PAGES).fold(at, |at, page| map.read(at, Unit(page * ENTRIES), 1));
    assert_eq!(map.traffic.reads - before, u64::from(PAGES));
}
