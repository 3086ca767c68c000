//! Where the time of commands goes: parts add up, and name the cause where there is one.

use flashlag_flash::{Command, Flash, Zone, ZoneCondition, model_of_size};
use flashlag_spec::profile::{Model, Profile, builtin_profile, names};
use flashlag_stats::{Wait, Waited};
use flashlag_units::{Bytes, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const PAGE: u64 = 4096;

/// A profile's device of 128 MiB, or the next size that it can have.
fn small(name: &str) -> Model {
    let profile = Profile::parse(builtin_profile(name).unwrap()).unwrap();
    let sizes = [128, 256, 512, 1024, 4096, 16_384].map(|mib| Some(Bytes::from_mib(mib)));
    let mut models = sizes.into_iter().filter_map(|size| model_of_size(&profile, size).ok());
    models.next().unwrap()
}

/// A write of each page in turn, without a check of what each waited for.
fn filled(model: &Model, share: f64) -> (Flash, Nanos) {
    let mut flash = Flash::new(model, 1).unwrap();
    let end = (flash.capacity().0 as f64 * share) as u64;
    let (mut offset, mut at) = (0, Nanos::ZERO);
    while offset < end {
        let length = (1 << 20).min(end - offset) / PAGE * PAGE;
        if length == 0 {
            break;
        }
        let command = Command::Write { offset: Bytes(offset), length: Bytes(length), fua: false };
        at = flash.submit(at, command).unwrap().ended;
        offset += length;
    }
    flash.keep_waits();
    (flash, at)
}

fn any_command(random: &mut Pcg64Mcg, capacity: u64) -> Command {
    let pages = capacity / PAGE;
    let length = Bytes(PAGE << random.random_range(0..8));
    let offset = random.random_range(0..pages) * PAGE;
    let offset = Bytes(offset.min(capacity.saturating_sub(length.0)) / PAGE * PAGE);
    match random.random_range(0..10) {
        0..3 => Command::Read { offset, length },
        3..8 => Command::Write { offset, length, fua: random.random_range(0..4) == 0 },
        8 => Command::Flush,
        _ => Command::Discard { offset, length },
    }
}

/// The command, as a zoned device allows it: a write goes to the pointer of a zone, and a full zone is
/// reset, as a discard does.
fn in_order(flash: &Flash, command: Command) -> Command {
    let Some(zones) = flash.zones() else { return command };
    let zone = |offset: Bytes| {
        let index = (offset.0 / PAGE % u64::from(zones.count.min(4))) as u32;
        flash.zone(index).unwrap()
    };
    let reset = |zone: Zone| Command::Discard { offset: zone.start, length: zone.size };
    match command {
        Command::Write { offset, length, fua } => match zone(offset) {
            full if full.condition == ZoneCondition::Full => reset(full),
            Zone { start, size, pointer, .. } => {
                let length = length.min(Bytes(start.0 + size.0 - pointer.0));
                Command::Write { offset: pointer, length, fua }
            }
        },
        Command::Discard { offset, .. } => reset(zone(offset)),
        other => other,
    }
}

#[test]
fn the_parts_of_every_command_of_every_profile_add_up_to_its_time() {
    for name in names() {
        let (mut flash, mut at) = filled(&small(name), 0.9);
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let mut ends = std::collections::VecDeque::new();
        for number in 0..3000 {
            let command = any_command(&mut random, flash.capacity().0);
            let command = in_order(&flash, command);
            let timing = flash.submit(at, command).unwrap();
            let waited = flash.waited().unwrap();
            let took = timing.ended.since(at);
            assert_eq!(waited.total(), took, "{name}: command {number}, {command:?}");
            let held = flash.held_up(at, timing.ended).unwrap();
            assert_eq!(held.total(), took, "{name}: command {number}, {command:?}");
            ends.push_back(timing.ended);
            // Up to eight at once, and a rest now and then.
            if ends.len() == 8 {
                at = at.max(ends.pop_front().unwrap());
            }
            if random.random_range(0..50) == 0 {
                at = at.max(timing.ended).plus(Nanos::from_millis(random.random_range(1..900)));
            }
        }
    }
}

#[test]
fn keeping_account_changes_no_time() {
    for name in ["nexus7-2012", "pixel4-2019", "sd-c10", "ufs31-phone"] {
        let run = |asks: bool| {
            let (mut flash, mut at) = (Flash::new(&small(name), 1).unwrap(), Nanos::ZERO);
            if asks {
                flash.keep_waits();
            }
            let mut random = Pcg64Mcg::seed_from_u64(5);
            let commands: Vec<Command> =
                (0..4000).map(|_| any_command(&mut random, flash.capacity().0)).collect();
            let mut ends = Vec::new();
            for command in commands {
                at = flash.submit(at, command).unwrap().ended;
                ends.push(at);
            }
            ends
        };
        assert!(run(true) == run(false), "{name}");
    }
}

/// The parts of durable 4 KiB writes at random, one after the other, that took longer than `over`.
fn long_writes(flash: &mut Flash, from: Nanos, count: u64, over: Nanos) -> (Waited, u64) {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let pages = flash.capacity().0 / PAGE * 9 / 10;
    let (mut at, mut all, mut long) = (from, Waited::default(), 0);
    for _ in 0..count {
        let offset = Bytes(random.random_range(0..pages) * PAGE);
        let write = Command::Write { offset, length: Bytes(PAGE), fua: false };
        let (began, mut waited) = (at, Waited::default());
        for command in [write, Command::Flush] {
            at = flash.submit(at, command).unwrap().ended;
            waited = waited.plus(&flash.waited().unwrap());
        }
        if at.since(began) > over {
            all = all.plus(&waited);
            long += 1;
        }
    }
    (all, long)
}

/// The largest part.
fn largest(waited: &Waited) -> Wait {
    waited.parts().max_by_key(|(_, part)| *part).unwrap().0
}

#[test]
fn the_long_writes_of_a_full_device_wait_for_collection() {
    let (mut flash, at) = filled(&small("nexus7-2012"), 0.97);
    let (waited, long) = long_writes(&mut flash, at, 12_000, Nanos::from_millis(20));
    assert!(long > 20, "{long}");
    assert_eq!(largest(&waited), Wait::GarbageCollection, "{waited:?}");
}

#[test]
fn the_long_writes_of_log_blocks_wait_for_merges() {
    let (mut flash, at) = filled(&small("sd-c10"), 0.9);
    let (waited, long) = long_writes(&mut flash, at, 3000, Nanos::from_millis(100));
    assert!(long > 3, "{long}");
    assert_eq!(largest(&waited), Wait::GarbageCollection, "{waited:?}");
}

#[test]
fn writes_beyond_the_write_cache_wait_for_its_room() {
    let model = small("sd-a1");
    let mut flash = Flash::new(&model, 1).unwrap();
    flash.keep_waits();
    let cache = flash.stats().cache.unwrap().0;
    let (mut at, mut early, mut late) = (Nanos::ZERO, Waited::default(), Waited::default());
    let length = 1 << 20;
    for number in 0..flash.capacity().0 * 9 / 10 / length {
        let offset = Bytes(number * length);
        let command = Command::Write { offset, length: Bytes(length), fua: false };
        at = flash.submit(at, command).unwrap().ended;
        let waited = flash.waited().unwrap();
        if (number + 1) * length < cache / 2 {
            early = early.plus(&waited);
        } else if number * length > cache * 2 {
            late = late.plus(&waited);
        }
    }
    assert!(early.total() > Nanos::ZERO && late.total() > Nanos::ZERO, "{cache}");
    let share =
        |waited: &Waited| waited.of(Wait::WriteCacheFull).0 as f64 / waited.total().0.max(1) as f64;
    assert!(share(&early) < 0.01, "{early:?}");
    assert!(share(&late) > 0.5, "{late:?}");
}

#[test]
fn a_command_after_a_rest_waits_for_the_device_to_wake() {
    let (mut flash, at) = filled(&small("pixel4-2019"), 0.1);
    let read = |offset| Command::Read { offset: Bytes(offset), length: Bytes(PAGE) };
    let rested = at.plus(Nanos::from_secs(10));
    let ended = flash.submit(rested, read(0)).unwrap().ended;
    let first = flash.waited().unwrap();
    assert_eq!(largest(&first), Wait::WakeUp, "{first:?}");
    flash.submit(ended, read(1 << 20)).unwrap();
    assert_eq!(flash.waited().unwrap().of(Wait::WakeUp), Nanos::ZERO);
}

#[test]
fn a_flush_after_queued_discards_and_a_command_after_an_immediate_one_wait_for_them() {
    let mut seen = Vec::new();
    for name in names() {
        let (mut flash, at) = filled(&small(name), 0.5);
        let half = Bytes(flash.capacity().0 / 2 / (1 << 20) * (1 << 20));
        let zone = flash.zones().map(|zones| (zones.first, zones.size));
        let (offset, length) = zone.unwrap_or((Bytes::ZERO, half));
        flash.submit(at, Command::Discard { offset, length }).unwrap();
        flash.submit(at, Command::Flush).unwrap();
        if flash.waited().unwrap().of(Wait::Discard) > Nanos::ZERO {
            seen.push(name);
        }
    }
    assert!(seen.len() > 3, "{seen:?}");
}

#[test]
fn a_read_after_a_large_discard_through_a_cached_map_waits_for_the_discard() {
    let profile = Profile::parse(builtin_profile("ufs40-phone").unwrap()).unwrap();
    // Its map of 16 GiB is four times what the cache of the map holds.
    let model = model_of_size(&profile, Some(Bytes::from_mib(16_384))).unwrap();
    let (mut flash, at) = filled(&model, 0.5);
    let length = Bytes(flash.capacity().0 * 2 / 5 / (1 << 20) * (1 << 20));
    let discard = Command::Discard { offset: Bytes::ZERO, length };
    let at = flash.submit(at, discard).unwrap().ended;
    let read = Command::Read { offset: length, length: Bytes(PAGE) };
    let took = flash.submit(at, read).unwrap().ended.since(at);
    let waited = flash.waited().unwrap();
    assert!(took > Nanos::from_millis(10), "{took:?}");
    assert_eq!(largest(&waited), Wait::Discard, "{waited:?}");
}

#[test]
fn a_command_that_finds_another_waits_for_it() {
    let (mut flash, at) = filled(&small("nexus7-2012"), 0.2);
    let write =
        |offset| Command::Write { offset: Bytes(offset), length: Bytes(1 << 18), fua: false };
    let first = flash.submit(at, write(0)).unwrap();
    let alone = flash.waited().unwrap();
    assert_eq!(alone.of(Wait::OtherIo), Nanos::ZERO, "{alone:?}");
    let second = flash.submit(at, write(1 << 20)).unwrap();
    let queued = flash.waited().unwrap();
    let others = queued.total().0 - queued.of(Wait::Storage).0;
    assert!(others >= first.ended.since(at).0 * 9 / 10, "{queued:?}, {second:?}");
}
