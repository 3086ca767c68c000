//! The profiles of modern phones: small durable writes, and writes beside endless reads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashlag_flash::{Command, Flash, Order, Past};
use flashlag_spec::profile::{Model, Profile};
use flashlag_units::{Bytes, Nanos};

const KIB: u64 = 1 << 10;

/// A profile's model without the controller's own work, which its closed forms do not have.
fn model(name: &str) -> Model {
    let mut model = Profile::find(name).unwrap().model().unwrap();
    model.host.housekeeping.clear();
    model
}

fn write(offset: u64, length: u64) -> Command {
    Command::Write { offset: Bytes(offset), length: Bytes(length), fua: false }
}

/// Time to move bytes at a rate.
fn at_rate(bytes: u64, per_second: u64) -> f64 {
    bytes as f64 / per_second as f64 * 1e9
}

#[test]
fn a_durable_write_of_4_kib_takes_two_pages_of_a_plane_and_two_programs() {
    for name in ["ufs21-phone", "ufs31-phone"] {
        let model = model(name);
        let mut flash = Flash::new(&model, 1).unwrap();
        let (mut at, count) = (Nanos::ZERO, 3000);
        for index in 0..count {
            at = flash.submit(at, write(index * 4 * KIB, 4 * KIB)).unwrap().ended;
            at = flash.submit(at, Command::Flush).unwrap().ended;
        }
        let stats = flash.stats();
        assert_eq!(stats.cached, Some(Bytes(count * 2 * 16 * KIB)), "{name}");
        assert_eq!(stats.programmed(), stats.cached, "{name}");
        let (host, slc) = (&model.host, model.slc.as_ref().unwrap());
        let program = slc.program.0.0 as f64 + at_rate(4 * KIB, model.nand.bus_per_second.0.0);
        let link = at_rate(4 * KIB, host.write_per_second.0.0);
        let command = host.write_command.0.0 + host.flush_command.0.0;
        let each = at.0 as f64 / count as f64;
        let expected = command as f64 + link + 2.0 * program;
        assert!((each / expected - 1.0).abs() < 0.01, "{name}: {each} ns, not {expected}");
        // The journal of the map is the map's.
        assert_eq!(stats.programmed_map, Bytes(count * 16 * KIB), "{name}");
    }
}

#[test]
fn a_durable_write_to_a_full_cache_takes_as_long_and_pads_no_unit_of_the_main_area() {
    for name in ["ufs21-phone", "ufs31-phone"] {
        let mut model = model(name);
        let slc = model.slc.as_mut().unwrap();
        (slc.fixed, slc.dynamic) = (flashlag_units::Text(Bytes::ZERO), 0.0);
        let slc = slc.clone();
        // Half of the reserve: nothing has to leave it.
        let count = slc.reserve.unwrap().0.0 / (2 * 16 * KIB) / 2;
        let run = |model: &Model| {
            let mut flash = Flash::new(model, 1).unwrap();
            let mut at = Nanos::ZERO;
            for index in 0..count {
                at = flash.submit(at, write(index * 4 * KIB, 4 * KIB)).unwrap().ended;
                at = flash.submit(at, Command::Flush).unwrap().ended;
            }
            (at.0 as f64 / count as f64, flash.stats().programmed().unwrap().0 / count)
        };
        let (each, bytes) = run(&model);
        assert_eq!(bytes, 2 * 16 * KIB, "{name}");
        let (host, bus) = (&model.host, at_rate(4 * KIB, model.nand.bus_per_second.0.0));
        let command = (host.write_command.0.0 + host.flush_command.0.0) as f64
            + at_rate(4 * KIB, host.write_per_second.0.0);
        let expected = command + 2.0 * (slc.program.0.0 as f64 + bus);
        assert!((each / expected - 1.0).abs() < 0.01, "{name}: {each} ns, not {expected}");
        // Without the reserve it pads a program unit, and the journal takes its time and no room.
        let mut padding = model.clone();
        padding.slc.as_mut().unwrap().reserve = None;
        let (each, bytes) = run(&padding);
        assert_eq!(bytes, model.map.program_unit.0.0 + 16 * KIB, "{name}");
        let expected = command + (slc.program.0.0 + model.nand.program.0.0) as f64 + 2.0 * bus;
        assert!((each / expected - 1.0).abs() < 0.05, "{name}: {each} ns, not {expected}");
    }
}

/// Bytes that one client writes in a row in a second beside others that read 4 KiB at random, all
/// without a write cache.
fn written_beside(model: &Model, readers: u64) -> f64 {
    let mut flash = Flash::new(model, 1).unwrap();
    let span = 1 << 30;
    flash.prepare(&Past { written: Bytes(span), order: Order::Sequential, cycles: 0 }).unwrap();
    let second = Nanos::from_secs(1);
    // The writer is client 0.
    let mut next: BinaryHeap<_> =
        (0..=readers).map(|client| Reverse((Nanos(client), client))).collect();
    let (mut written, mut place) = (0, 1u64);
    while let Some(Reverse((at, client))) = next.pop() {
        if at > second {
            break;
        }
        let command = if client == 0 {
            written += 96 * KIB;
            write(span + written, 96 * KIB)
        } else {
            place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Command::Read {
                offset: Bytes(((place >> 33) % (span >> 12)) << 12),
                length: Bytes(4096),
            }
        };
        let end = flash.submit(at, command).unwrap().ended;
        next.push(Reverse((end, client)));
    }
    written as f64
}

#[test]
fn writes_go_on_beside_endless_reads() {
    for name in ["ufs21-phone", "ufs31-phone"] {
        let mut model = model(name);
        model.slc = None;
        let alone = written_beside(&model, 0);
        let nand = &model.nand;
        let program = nand.program.0.0 as f64;
        let read = nand.read.0.0 as f64 * 1.32 * 1.1 + at_rate(4 * KIB, nand.bus_per_second.0.0);
        for readers in [1, 4, 16] {
            let beside = written_beside(&model, readers);
            // All readers on one die, each time that its program may be suspended.
            let pause = nand.suspend.unwrap().0.0 as f64 + readers as f64 * read;
            let most = f64::from(nand.suspend_most.unwrap());
            let least = alone * program / (program + most * pause);
            let said = format!("{name}: {beside} beside {readers} readers, {alone} alone");
            assert!(beside > 0.9 * least, "{said}");
        }
        let mut endless = model.clone();
        endless.nand.suspend_most = None;
        endless.nand.suspend_progress = None;
        endless.nand.suspend_least = None;
        endless.nand.suspend_erase = None;
        let starved = written_beside(&endless, 16);
        let limited = written_beside(&model, 16);
        assert!(starved < limited, "{name}: {starved} without limits, {limited} with them");
    }
}
