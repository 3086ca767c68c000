//! The CPU's governor, its idle states and random variation, against closed forms.

use super::*;
use crate::stack_file::StackFile;
use flashlag_device::{Completion, Device, Durability, Op, Request, SyncCall};
use flashlag_spec::profile::{GovernorKind, PreemptionModel};

/// Latencies of 4 KiB reads in a closed loop, by slot; each thread has a depth of 1.
fn reads(model: &StackModel, seed: u64, threads: u32, count: usize) -> Vec<Nanos> {
    let stack = stack_of("raw", 16, model).seeded(seed);
    let file = stack.create("test").unwrap();
    let span = Bytes::from_mib(1);
    stack.write_nothing(file, Bytes::ZERO, span, true).unwrap();
    let device = StackFile::new(&stack, file, span, span, threads, true, SyncCall::Data);
    let mut device = device.with_threads(threads);
    let read = |device: &mut StackFile<_>, slot| {
        let (offset, length) = (Bytes(u64::from(slot) * 4096), Bytes(4096));
        let request = Request { slot, op: Op::Read, offset, length, durability: Durability::None };
        device.submit(request).unwrap();
    };
    (0..threads).for_each(|slot| read(&mut device, slot));
    let mut all = Vec::new();
    let mut done: Vec<Completion> = Vec::new();
    while all.len() < count {
        device.reap(1, &mut done).unwrap();
        for completion in done.drain(..) {
            all.push(completion.ended.since(completion.started));
            read(&mut device, completion.slot);
        }
    }
    all
}

fn mean(times: &[Nanos]) -> f64 {
    times.iter().map(|time| time.0 as f64).sum::<f64>() / times.len() as f64
}

#[test]
fn under_schedutil_a_loop_of_reads_takes_five_times_the_devices_part() {
    let governor = GovernorKind::Schedutil;
    let call = micros(45);
    let model = |governor, boost| StackModel {
        call,
        governor,
        boost,
        speed_min: Some(0.05),
        cores: Some(8),
        ..StackModel::default()
    };
    for threads in [1, 4] {
        // Skip the first two seconds of each thread.
        let count = 8000 * threads as usize;
        let settled =
            |model: &StackModel| mean(&reads(model, 1, threads, count)[count / 2..]) / 1000.0;
        let near = |time: f64, expected: f64| (time / expected - 1.0).abs() < 0.01;
        assert!(near(settled(&model(governor, 0.0)), 500.0), "{threads}");
        assert!(near(settled(&model(GovernorKind::Performance, 0.0)), 145.0), "{threads}");
        assert!(near(settled(&model(governor, 0.5)), 190.0), "{threads}: iowait boost");
    }
}

#[test]
fn a_wait_that_is_long_enough_for_a_deep_idle_state_is_longer_by_the_exit() {
    let time = |after, exit| {
        let idle_after = Some(micros(after));
        let model = StackModel {
            call: micros(20),
            idle_after,
            idle_exit: micros(exit),
            ..StackModel::default()
        };
        let alone = reads(&model, 1, 1, 50);
        assert!(alone.iter().all(|time| *time == alone[0]));
        // A synced write waits twice: for the write and for the flush.
        let stack = stack_of("raw", 1, &model);
        let file = stack.create("test").unwrap();
        let saved = timed(&stack, || {
            stack.write_nothing(file, Bytes::ZERO, Bytes(4096), true).unwrap();
            stack.sync(file, true).unwrap();
        });
        [alone[0].0 / 1000, saved.0 / 1000]
    };
    let plain = [120, 20 + 300 + 1000];
    assert_eq!(time(1000, 130), plain);
    assert_eq!(time(999, 130), [120, plain[1] + 130]);
    assert_eq!(time(150, 130), [120, plain[1] + 260]);
    assert_eq!(time(99, 130), [250, plain[1] + 260]);
}

#[test]
fn jitter_spreads_the_cpus_time_and_leaves_the_mean_and_the_device_alone() {
    let model = |jitter| StackModel { call: micros(100), jitter, ..StackModel::default() };
    let mut times = reads(&model(0.4), 7, 1, 20_000);
    assert_eq!(times, reads(&model(0.4), 7, 1, 20_000), "one seed, one run");
    assert_ne!(times, reads(&model(0.4), 8, 1, 20_000));
    assert!((mean(&times) / 200_000.0 - 1.0).abs() < 0.01, "{}", mean(&times));
    times.sort_unstable();
    let own = |percent: usize| (times[200 * percent].0 - READ.0) as f64;
    for (percent, normal) in [(90, 1.281_55), (99, 2.326_35)] {
        let (ratio, expected) = (own(percent) / own(50), (0.4_f64 * normal).exp());
        assert!((ratio / expected - 1.0).abs() < 0.05, "p{percent}: {ratio} of {expected}");
    }
    let still = reads(&model(0.0), 7, 1, 100);
    assert!(still.iter().all(|time| *time == Nanos::from_micros(200)));
}

#[test]
fn preempted_calls_wait_an_exponential_time_besides() {
    let preempted = PreemptionModel { share: 0.03, mean: micros(130) };
    let model = StackModel { call: micros(20), preempted, ..StackModel::default() };
    let (seed, count) = (11, 40_000);
    let times = reads(&model, seed, 1, count);
    for more in [0, 65, 130, 260] {
        let over = times.iter().filter(|time| **time > Nanos::from_micros(120 + more)).count();
        let share = 0.03 * (-(more as f64) / 130.0).exp();
        // Four standard deviations of a binomial count.
        let (expected, spread) = (share * count as f64, 4.0 * (share * count as f64).sqrt());
        assert!((over as f64 - expected).abs() < spread, "seed {seed}, {more}: {over}");
    }
}
