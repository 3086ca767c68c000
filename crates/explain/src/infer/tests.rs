//! Tests the rules on planted cases: those they must recognise, and those they must not.

use flashlag_schema::*;
use flashlag_spec::scenario::Durability;
use flashlag_spec::*;
use flashlag_units::{Bytes, Nanos};

use super::*;
use crate::testing::{interval, run, writes};

const MS: fn(u64) -> Nanos = Nanos::from_millis;

/// A second in which 10 MB were written, half of them by the measured operations.
fn calm() -> Surroundings {
    Surroundings {
        window_ns: MS(1000),
        own_bytes: Some(Bytes::from_mb(10)),
        disk_bytes: Some(Bytes::from_mb(10)),
        discards: Some(0),
        discard_ns: Some(Nanos::ZERO),
        flush_ns: Some(Nanos::ZERO),
        commits: Some(0),
        checkpoints: Some(0),
        cleanings: Some(0),
        quiet_before_ns: Some(Nanos::ZERO),
        ..Surroundings::default()
    }
}

/// 200 ms in which hardly a byte moved.
fn still() -> Surroundings {
    let (own_bytes, disk_bytes) = (Some(Bytes(4096)), Some(Bytes(4096)));
    Surroundings { window_ns: MS(220), own_bytes, disk_bytes, ..calm() }
}

/// A run of durable writes on eMMC with stalls of 200 ms in these surroundings.
fn stalled(all: &[Surroundings]) -> Run {
    let mut phase = writes("rand_write_4k", State::New, &[1; 50]);
    phase.durable = Durability::Fdatasync;
    phase.watched = Some(Watched { rules: RULES, readings: 10, calm: calm(), missing: Vec::new() });
    let time = Time { blocked_ns: MS(190), on_cpu_ns: MS(10), ..Time::default() };
    phase.stalls = (0u64..)
        .zip(all)
        .map(|(index, around)| StallRecord {
            t_ns: MS(index * 300),
            ns: MS(200),
            cause: StallCause::Storage,
            time: Some(time),
            around: Some(*around),
            ..StallRecord::default()
        })
        .collect();
    let mut run = run(vec![phase]);
    run.environment.device.kind = Reading::Value("emmc".to_owned());
    run.environment.device.queue.write_cache = Reading::Value("write back".to_owned());
    run
}

fn named(run: &Run) -> Vec<Option<StallCause>> {
    causes(&run.phases[0], run)
}

fn one(around: Surroundings) -> Option<StallCause> {
    named(&stalled(&[around]))[0]
}

#[test]
fn flash_that_moves_next_to_nothing_for_nobody_else_collects_garbage() {
    assert_eq!(one(still()), Some(StallCause::GarbageCollection));
    let on = |change: &dyn Fn(&mut Run)| {
        let mut run = stalled(&[still()]);
        change(&mut run);
        named(&run)[0]
    };
    // A virtual disk may be anything; reads do not cause collection.
    let virtio = |run: &mut Run| run.environment.device.kind = Reading::Value("virtio".to_owned());
    assert_eq!(on(&virtio), None);
    assert_eq!(on(&|run| run.phases[0].operation = Operation::RandomRead), None);
    // Others are active in this phase, or in this window.
    let others = |seen: &mut Surroundings| seen.disk_bytes = Some(Bytes::from_mb(60));
    assert_eq!(on(&|run| others(&mut run.phases[0].watched.as_mut().unwrap().calm)), None);
    assert_eq!(one(Surroundings { disk_bytes: Some(Bytes::from_kib(600)), ..still() }), None);
    let beside = |run: &mut Run| run.phases[0].background = Some("writer".to_owned());
    assert_eq!(on(&beside), None, "a writer of the scenario may be the cause");
    // Of its own it wrote nothing meanwhile.
    assert_eq!(one(Surroundings { own_bytes: Some(Bytes::ZERO), ..still() }), None);
    // What it wrote for these operations alone takes that long.
    let own = Some(Bytes::from_mb(10));
    assert_eq!(one(Surroundings { own_bytes: own, disk_bytes: own, ..still() }), None);
    // It may have slept, or its cache may be used up.
    assert_eq!(one(Surroundings { quiet_before_ns: Some(MS(1500)), ..still() }), None);
    let change = Change {
        kind: ChangeKind::CacheExhausted,
        t_ns: Nanos::ZERO,
        written_bytes: Bytes::ZERO,
        bytes_per_sec: None,
        period_ns: None,
        detail: String::new(),
    };
    assert_eq!(on(&|run| run.phases[0].changes.push(change.clone())), None);
}

#[test]
fn a_disk_without_a_request_did_not_collect_and_a_limit_of_a_group_held_them_above_it() {
    let busy = |ms: u64| Surroundings { disk_busy_ns: Some(MS(ms)), ..still() };
    let limited = |around: Surroundings, kind: LimitKind| {
        let mut run = stalled(&[around]);
        let limit = Limit { kind, file: String::new(), device: None, value: 1, used: None };
        run.environment.limits = Some(Limits { set: vec![limit], unseen: Vec::new() });
        named(&run)[0]
    };
    assert_eq!(one(busy(190)), Some(StallCause::GarbageCollection));
    assert_eq!(one(busy(99)), None);
    assert_eq!(limited(busy(99), LimitKind::WriteOps), Some(StallCause::GroupLimit));
    assert_eq!(limited(busy(99), LimitKind::MemoryMax), None);
    assert_eq!(limited(busy(190), LimitKind::WriteOps), Some(StallCause::GarbageCollection));
    assert_eq!(limited(still(), LimitKind::WriteOps), Some(StallCause::GarbageCollection));
}

#[test]
fn others_are_named_where_their_bytes_alone_take_most_of_it() {
    let busy = Surroundings { disk_bytes: Some(Bytes::from_mb(20)), ..still() };
    assert_eq!(one(busy), Some(StallCause::OtherIo), "the disk was never faster");
    let fast = |around: Surroundings| {
        let mut run = stalled(&[around]);
        let calm = &mut run.phases[0].watched.as_mut().unwrap().calm;
        calm.disk_bytes = Some(Bytes::from_mb(80));
        named(&run)[0]
    };
    let window_ns = MS(300);
    let enough = Surroundings { window_ns, disk_bytes: Some(Bytes::from_mb(20)), ..still() };
    assert_eq!(fast(enough), Some(StallCause::OtherIo));
    // At 80 MB/s: 9.5 MB take 119 of the 190 ms that it was blocked, 8.5 MB 106.
    let moved = |kb: u64| Surroundings { disk_bytes: Some(Bytes(kb * 1000)), ..enough };
    assert_eq!(fast(moved(9_500)), Some(StallCause::OtherIo));
    assert_eq!(fast(moved(8_500)), None);
    assert_eq!(fast(Surroundings { own_bytes: Some(Bytes::from_mb(10)), ..enough }), None);
    let flushing = Surroundings { commits: Some(2), flush_ns: Some(MS(150)), ..enough };
    assert_eq!(fast(flushing), None, "a commit has a claim");
}

#[test]
fn discards_are_named_where_the_disk_worked_on_them_and_moved_little_else() {
    let discarding = Surroundings { discards: Some(3), discard_ns: Some(MS(120)), ..still() };
    assert_eq!(one(discarding), Some(StallCause::Discard));
    assert_eq!(one(Surroundings { discard_ns: Some(MS(90)), ..discarding }), None);
    let behind = Surroundings { disk_bytes: Some(Bytes::from_mb(2)), ..discarding };
    let waited = Some(StallCause::OtherIo);
    assert_eq!(one(behind), waited, "they wait behind others' bytes themselves");
}

#[test]
fn a_filesystems_own_work_is_named_where_it_coincides_with_the_stalls() {
    let cleaning = Surroundings {
        window_ns: MS(260),
        cleanings: Some(1),
        disk_bytes: Some(Bytes::from_mb(5)),
        own_bytes: Some(Bytes::from_mb(1)),
        ..still()
    };
    let speed = |run: &mut Run| {
        run.phases[0].watched.as_mut().unwrap().calm.disk_bytes = Some(Bytes::from_mb(20));
    };
    let mut run = stalled(&[cleaning; 4]);
    speed(&mut run);
    assert_eq!(named(&run), [Some(StallCause::Cleaning); 4]);
    run.phases[0].watched.as_mut().unwrap().calm.cleanings = Some(20);
    assert_eq!(named(&run), [None; 4], "it cleans all the time");
    let mut few = stalled(&[cleaning; 2]);
    speed(&mut few);
    assert_eq!(named(&few), [None; 2]);
}

#[test]
fn like_stalls_after_rests_are_a_device_that_wakes_up() {
    let rested = Surroundings { quiet_before_ns: Some(MS(2000)), ..still() };
    assert_eq!(named(&stalled(&[rested; 3])), [Some(StallCause::WakeUp); 3]);
    assert_eq!(named(&stalled(&[rested; 2])), [None; 2]);
    let mut unlike = stalled(&[rested; 3]);
    unlike.phases[0].stalls[0].ns = MS(400);
    assert!(!named(&unlike).contains(&Some(StallCause::WakeUp)));
    assert!(!named(&stalled(&[rested, rested, still()])).contains(&Some(StallCause::WakeUp)));
}

#[test]
fn the_schedulers_account_and_a_models_word_stand_and_too_wide_a_window_says_nothing() {
    let mut run = stalled(&[still(); 3]);
    let stalls = &mut run.phases[0].stalls;
    let time = Time { runnable_ns: MS(150), blocked_ns: MS(50), ..Time::default() };
    (stalls[0].time, stalls[0].cause) = (Some(time), StallCause::Cpu);
    stalls[1].cause_basis = CauseBasis::Modelled;
    stalls[2].around = Some(Surroundings { window_ns: MS(700), ..still() });
    let mut phase = run.phases[0].clone();
    name_causes(&mut phase, &run);
    assert_eq!(phase.stalls, run.phases[0].stalls);
}

#[test]
fn a_stored_cause_that_its_evidence_does_not_give_is_found() {
    let mut run = stalled(&[still(); 2]);
    let mut phase = run.phases[0].clone();
    name_causes(&mut phase, &run);
    run.phases[0] = phase;
    assert_eq!(verify(&run), []);
    run.phases[0].stalls[1].cause = StallCause::WakeUp;
    let found = verify(&run);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "phases[0].stalls[1].cause");
    // Causes inferred by other rules can't be checked.
    run.phases[0].watched.as_mut().unwrap().rules = RULES + 1;
    assert_eq!(verify(&run), []);
}

#[test]
fn layers_add_up_to_the_latencies_of_each_interval_and_hold_the_stalls() {
    let mut phase = writes("rand_write_4k", State::New, &[1; 50]);
    let mut histogram = crate::testing::of_ms(&[1; 49]);
    histogram.record(MS(200));
    phase.stall_over_ns = MS(100);
    phase.intervals = vec![interval(MS(300), &histogram)];
    assert_eq!(layers(&phase), [Vec::new()], "nothing was sampled");
    let time = Time { blocked_ns: MS(3), runnable_ns: MS(1), ..Time::default() };
    let from_ns = Nanos(1 << 19);
    // A long wait is a stall, and no class of waits shares out its time.
    let long = Time { on_cpu_ns: MS(10), ..Time::default() };
    phase.waits = vec![
        WaitRecord { from_ns, below_ns: Nanos(1 << 20), ops: 4, time },
        WaitRecord { from_ns: Nanos(1 << 27), below_ns: Nanos(1 << 28), ops: 1, time: long },
    ];
    let cause = StallCause::OtherIo;
    phase.stalls = vec![StallRecord { t_ns: MS(60), ns: MS(200), cause, ..StallRecord::default() }];
    let parts = layers(&phase).remove(0);
    let of = |cause| parts.iter().find(|part| part.cause == cause).map_or(0, |part| part.ns.0);
    assert_eq!(parts.iter().map(|part| part.ns.0).sum::<u64>(), histogram.sum().0);
    assert_eq!(of(StallCause::OtherIo), MS(200).0);
    let (storage, cpu) = (of(StallCause::Storage), of(StallCause::Cpu));
    assert!(storage.abs_diff(cpu * 3) < 10, "{storage} {cpu}");
    assert_eq!(of(StallCause::Executing), 0);
}
