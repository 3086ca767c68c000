//! How fast the page map simulates: uniform random 4 KiB writes at steady state, all timing on.
//!
//! A device of 16 GiB in pages of 4 KiB, 256 a block, with 7 % more flash than that, greedy: write
//! amplification 7.597 by the formula. `cargo run --release -p flashlag-flash --example bench_flash`
//! (`-- steady`, `-- counting`, `-- year`: that part alone). The counting loop is the same map without
//! dies and times: the peer that a simulation with all of them is compared with.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::error::Error;

use flashlag_device::WaitMeter;
use flashlag_engine::ThreadWaitMeter;
use flashlag_flash::{Command, Flash, Order, Past};
use flashlag_spec::profile::{Model, Profile};
use flashlag_units::{Bytes, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

mod counting;

use counting::Counting;

const PAGE: u64 = 4096;
/// Addresses that are prefetched together.
const AHEAD: usize = 32;
const SPARE: u64 = (16 << 30) / 100 * 7;

/// The device, whose blocks are of one die: 256 pages each.
fn model() -> Result<Model, Box<dyn Error>> {
    let text = include_str!("../tests/it/data/small.toml")
        .replace("\"mlc\"", "\"slc\"")
        .replace("pages_per_block = { value = 64", "pages_per_block = { value = 256")
        .replace("\"64MiB\"", "\"16GiB\"")
        .replace("\"8MiB\"", &format!("\"{SPARE}B\""))
        + "\nhot_cold = { value = false, source = \"test\" }\n";
    Ok(Profile::parse(&text)?.model()?)
}

/// Seconds on the CPU so far.
fn cpu_seconds(meter: &ThreadWaitMeter) -> Result<f64, Box<dyn Error>> {
    let times = meter.read().ok_or("the kernel gives no CPU time of this thread")?;
    Ok(times.on_cpu.0 as f64 / 1e9)
}

/// Random writes, one after the other; ends at the time that the last one does.
fn write(
    flash: &mut Flash,
    random: &mut Pcg64Mcg,
    from: Nanos,
    count: u64,
) -> Result<Nanos, Box<dyn Error>> {
    let pages = (flash.capacity().0 / PAGE) as u32;
    let mut at = from;
    for _ in 0..count / AHEAD as u64 {
        let offsets: [Bytes; AHEAD] =
            std::array::from_fn(|_| Bytes(u64::from(random.random_range(0..pages)) * PAGE));
        flash.expect(&offsets);
        for offset in offsets {
            let command = Command::Write { offset, length: Bytes(PAGE), fua: false };
            at = flash.submit(at, command)?.ended;
        }
    }
    Ok(at)
}

/// The device of 16 GiB: filled and aged the long way, then measured.
fn steady_state(meter: &ThreadWaitMeter) -> Result<(), Box<dyn Error>> {
    let mut flash = Flash::new(&model()?, 1)?;
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let pages = flash.capacity().0 / PAGE;
    let begin = cpu_seconds(meter)?;
    let length = Bytes(1 << 20);
    let mut at = Nanos::ZERO;
    for offset in (0..flash.capacity().0).step_by(1 << 20) {
        let command = Command::Write { offset: Bytes(offset), length, fua: false };
        at = flash.submit(at, command)?.ended;
    }
    at = write(&mut flash, &mut random, at, 3 * pages)?;
    let aged = cpu_seconds(meter)?;
    println!("16 GiB filled and aged in {:.1} s", aged - begin);

    let before = flash.stats();
    let ended = write(&mut flash, &mut random, at, 2 * pages)?;
    let seconds = cpu_seconds(meter)? - aged;
    let after = flash.stats();
    let programmed =
        after.programmed().unwrap_or_default().0 - before.programmed().unwrap_or_default().0;
    let written = after.host_written.0 - before.host_written.0;
    println!("{:.2} million host writes a CPU second", 2.0 * pages as f64 / seconds / 1e6);
    println!("write amplification {:.4} (7.5969)", programmed as f64 / written as f64);
    let memory = flash.map_memory().unwrap_or_default().0 as f64 / pages as f64;
    println!("{memory:.1} bytes of memory a logical page (at most 12)");
    println!("mean time of a write {:.1} us", ended.since(at).0 as f64 / 2e3 / pages as f64);
    Ok(())
}

/// The same map and the same writes as a bare counting loop.
fn counting_loop(meter: &ThreadWaitMeter) -> Result<(), Box<dyn Error>> {
    let pages = (16 << 30) / PAGE as usize;
    let mut map = Counting::new(pages, pages / 256 + (SPARE / PAGE) as usize / 256);
    let mut random = Pcg64Mcg::seed_from_u64(1);
    (0..pages as u32).for_each(|page| map.write(page));
    let mut write = |map: &mut Counting, count: u64| {
        for _ in 0..count / AHEAD as u64 {
            let ahead: [u32; AHEAD] = std::array::from_fn(|_| random.random_range(0..pages as u32));
            map.expect(&ahead);
            ahead.into_iter().for_each(|page| map.write(page));
        }
    };
    write(&mut map, 3 * pages as u64);
    let (aged, before) = (cpu_seconds(meter)?, map.programmed);
    let count = 2 * map.pages();
    write(&mut map, count);
    let seconds = cpu_seconds(meter)? - aged;
    let amplification = (map.programmed - before) as f64 / count as f64;
    println!(
        "{:.2} million writes a CPU second by a bare counting loop of the same map, \
         write amplification {amplification:.3}",
        count as f64 / seconds / 1e6
    );
    Ok(())
}

/// A phone of 128 GB that is nine tenths full: random writes over all of that, 20 GB a day, a
/// second for each MB of them as far as it keeps up.
fn year(meter: &ThreadWaitMeter) -> Result<(), Box<dyn Error>> {
    let text = include_str!("../../../profiles/ufs31-phone.toml");
    let model = Profile::parse(text)?.model()?;
    let begin = cpu_seconds(meter)?;
    let mut flash = Flash::new(&model, 1)?;
    let made = cpu_seconds(meter)?;
    let written = Bytes(flash.capacity().0 / 10 * 9);
    flash.prepare(&Past { written, order: Order::Random, cycles: 0 })?;
    let prepared = cpu_seconds(meter)?;
    let gigabytes = flash.capacity().0 as f64 / 1e9;
    println!("{gigabytes:.0} GB made in {:.2} s, aged in {:.2} s", made - begin, prepared - made);

    let mut random = Pcg64Mcg::seed_from_u64(2);
    let pages = (written.0 / PAGE) as u32;
    let (mut at, mut done) = (Nanos::ZERO, 0);
    let days = 5;
    while done < days * 20_000_000_000 {
        // Four saves of 4 KiB, each made durable, to one file of 256 KiB.
        let mut commands = Vec::new();
        for _ in 0..4 {
            let offset = Bytes(u64::from(random.random_range(0..pages)) * PAGE);
            commands.push(Command::Write { offset, length: Bytes(PAGE), fua: false });
            commands.push(Command::Flush);
        }
        let offset = Bytes(u64::from(random.random_range(0..pages - 64)) * PAGE);
        commands.push(Command::Write { offset, length: Bytes(64 * PAGE), fua: false });
        for command in commands {
            at = flash.submit(at, command)?.ended;
        }
        done += 68 * PAGE;
        at = at.max(Nanos(done * 1000));
    }
    let seconds = (cpu_seconds(meter)? - prepared) / days as f64 * 365.0;
    let amplification = flash.stats().write_amplification().unwrap_or_default();
    println!("a year of 20 GB a day in {seconds:.0} s, write amplification {amplification:.2}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let meter = ThreadWaitMeter::open()?;
    let only = std::env::args().nth(1);
    let is_wanted = |part| only.as_deref().is_none_or(|only| only == part);
    if is_wanted("steady") {
        steady_state(&meter)?;
    }
    if is_wanted("counting") {
        counting_loop(&meter)?;
    }
    if is_wanted("year") {
        year(&meter)?;
    }
    Ok(())
}
