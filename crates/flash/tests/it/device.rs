//! The facade: what every device of the seam must do, and closed forms of simple loads.

use flashlag_device::{Clock, Device, Durability, Op, Request};
use flashlag_flash::{Command, Flash, FlashDevice, FlashError};
use flashlag_spec::profile::Profile;
use flashlag_units::{Bytes, Nanos};

fn profile() -> Profile {
    Profile::parse(include_str!("data/small.toml")).unwrap()
}

fn flash(profile: &Profile, seed: u64) -> Flash {
    Flash::new(&profile.model().unwrap(), seed).unwrap()
}

fn write(offset: u64) -> Command {
    Command::Write { offset: Bytes(offset), length: Bytes(4096), fua: false }
}

/// Times of random durable writes over the whole device, one after the other.
fn times(seed: u64, writes: u64) -> Vec<Nanos> {
    let mut flash = flash(&profile(), seed);
    let mut at = Nanos::ZERO;
    let mut state = 1_u64;
    let mut ends = Vec::new();
    for _ in 0..writes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let page = (state >> 33) % (flash.capacity().0 / 4096);
        at = flash.submit(at, write(page * 4096)).unwrap().ended;
        at = flash.submit(at, Command::Flush).unwrap().ended;
        ends.push(at);
    }
    ends
}

#[test]
fn one_write_takes_its_command_its_transfers_and_its_program() {
    let mut flash = flash(&profile(), 1);
    let timing = flash.submit(Nanos::ZERO, write(0)).unwrap();
    // 100 us command, 4096 B at 90 MB/s and at 100 MB/s, 600 us program.
    let expected = 100_000 + 4096 * 1_000 / 90 + 4096 * 1_000 / 100 + 600_000;
    assert!(timing.ended.0.abs_diff(expected) <= 2, "{} against {expected}", timing.ended);
}

#[test]
fn the_same_seed_gives_the_same_times_and_time_only_goes_on() {
    let first = times(3, 40_000);
    assert_eq!(first, times(3, 40_000));
    assert!(first.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn a_full_device_writes_slower_than_a_new_one() {
    let ends = times(1, 60_000);
    let new = ends[4_000].since(ends[0]).0 / 4_000;
    let full = ends[59_999].since(ends[49_999]).0 / 10_000;
    assert!(full > 2 * new, "{full} ns against {new} ns a write");
}

#[test]
fn a_device_is_refused_what_is_not_within_it() {
    let mut flash = flash(&profile(), 1);
    let capacity = flash.capacity().0;
    for (offset, length) in [(capacity, 512), (0, 0), (1, 512), (0, 100), (u64::MAX - 511, 512)] {
        let command = Command::Read { offset: Bytes(offset), length: Bytes(length) };
        let refused = flash.submit(Nanos::ZERO, command);
        assert!(matches!(refused, Err(FlashError::Range { .. })), "{offset} {length}: {refused:?}");
    }
}

#[test]
fn a_worn_out_device_only_reads() {
    let text = profile().to_toml() + "\n[wear]\nendurance = { value = 100, source = \"test\" }\n";
    let profile = Profile::parse(&text).unwrap();
    let mut flash = flash(&profile, 1);
    let worn = (0..3_000_000_u64).find_map(|count| {
        let at = count.wrapping_mul(7919) % 16_000 * 4096;
        flash.submit(Nanos::ZERO, write(at)).err()
    });
    // It ends when too few blocks are left; those are nearly worn out, too.
    assert!(matches!(worn, Some(FlashError::WornOut { cycles: 80..100 })), "{worn:?}");
    let read = Command::Read { offset: Bytes(0), length: Bytes(4096) };
    assert!(flash.submit(Nanos::ZERO, read).is_ok());
    let stats = flash.stats();
    assert!(stats.life_used.is_some_and(|used| (0.8..1.0).contains(&used)), "{stats:?}");
    assert!(stats.bad_blocks.is_some_and(|bad| bad >= 32), "{stats:?}");
}

#[test]
fn every_profile_makes_a_device_that_writes_and_reads() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
    let mut seen = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let profile = Profile::parse(&text).unwrap();
        let mut flash = Flash::new(&profile.model().unwrap(), 1)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let written = flash.submit(Nanos::ZERO, write(0)).unwrap().ended;
        let read = Command::Read { offset: Bytes(0), length: Bytes(4096) };
        assert!(flash.submit(written, read).unwrap().ended > written, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 13, "{seen} profiles");
}

#[test]
fn the_device_completes_in_the_order_of_time_and_keeps_the_flush_apart() {
    let mut device = FlashDevice::new(flash(&profile(), 1));
    let request = |slot, offset, durability| Request {
        slot,
        op: Op::Write,
        offset: Bytes(offset),
        length: Bytes(4096),
        durability,
    };
    device.submit(request(0, 0, Durability::Flush)).unwrap();
    device.submit(request(1, 8192, Durability::None)).unwrap();
    assert!(device.submit(request(1, 0, Durability::None)).is_err(), "the slot is taken");
    let mut done = Vec::new();
    device.reap(2, &mut done).unwrap();
    assert!(done[0].ended <= done[1].ended);
    assert_eq!(device.clock().now(), done[1].ended);
    let flushed = done.iter().find(|completion| completion.slot == 0).unwrap();
    assert!(flushed.flush_from.is_some_and(|from| from <= flushed.ended));
}
