//! Checks what the operations of a simulation waited for: the parts add up, and name the planted
//! cause.

use std::cell::Cell;

use flashlag_device::{Clock, Device, Durability, Op, Request, SyncCall};
use flashlag_flash::{Flash, FlashDevice};
use flashlag_iostack::{BackgroundJob, FileId, FileRow, Stack, StackFile, StackSpec};
use flashlag_spec::profile::{Profile, names};
use flashlag_stats::{Wait, Waited};
use flashlag_units::{Bytes, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::target::SimTarget;

const BLOCK: Bytes = Bytes(4096);

fn stack(target: &str) -> Stack<FlashDevice> {
    let target = SimTarget::parse(target).unwrap();
    let model = target.profile.model().unwrap();
    let device = FlashDevice::new(Flash::new(&model, 1).unwrap()).with_waits();
    let spec = StackSpec::of(&target.mount).unwrap();
    let stack = Stack::mount(device, spec, &model.stack).unwrap().seeded(1);
    stack.keep_waits();
    stack
}

/// The smallest target of a profile and a mount.
fn small(profile: &str, mount: &str) -> String {
    // Fewer zones than F2FS reserves are no device for it.
    let least = if Profile::find(profile).unwrap().is_zoned() { 4096 } else { 0 };
    let sizes = [256, 512, 1024, 2048, 4096, 16_384];
    let sizes = sizes.into_iter().filter(|mib| *mib > least);
    let mut all = sizes.map(|mib| format!("sim:{profile}+{mount},size={mib}MiB"));
    all.find(|text| SimTarget::parse(text).is_ok()).unwrap()
}

fn laid_out(stack: &Stack<FlashDevice>, name: &str, size: Bytes) -> FileId {
    let file = stack.create(name).unwrap();
    let step = Bytes::from_mib(1);
    for at in (0..size.0).step_by(step.0 as usize) {
        let length = step.min(Bytes(size.0 - at));
        stack.write_nothing(file, Bytes(at), length, true).unwrap();
    }
    stack.sync(file, false).unwrap();
    file
}

/// What operations at depth 1 that took longer than `over` waited for; checks that the parts of
/// each add up.
fn driven(
    device: &mut StackFile<FlashDevice>,
    (count, over): (u64, Nanos),
    seed: u64,
    mut request: impl FnMut(&mut Pcg64Mcg) -> (Op, Durability),
) -> (Waited, u64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let geometry = device.geometry();
    let blocks = geometry.size.0 / BLOCK.0;
    let (mut done, mut all, mut long) = (Vec::new(), Waited::default(), 0);
    let mut free: Vec<u32> = (0..geometry.slots).collect();
    let mut submitted = 0;
    while submitted < count || free.len() < geometry.slots as usize {
        while submitted < count
            && let Some(slot) = free.pop()
        {
            let (op, durability) = request(&mut random);
            let offset = Bytes(random.random_range(0..blocks) * BLOCK.0);
            device.submit(Request { slot, op, offset, length: BLOCK, durability }).unwrap();
            submitted += 1;
        }
        device.reap(1, &mut done).unwrap();
        for one in done.drain(..) {
            one.result.unwrap();
            let (took, waited) = (one.ended.since(one.started), device.waited(one.slot).unwrap());
            assert_eq!(waited.total(), took, "slot {} at {}", one.slot, one.started);
            if took > over {
                all = all.plus(&waited);
                long += 1;
            }
            free.push(one.slot);
        }
    }
    (all, long)
}

fn largest(waited: &Waited) -> Option<Wait> {
    waited.parts().max_by_key(|(_, part)| *part).map(|(cause, _)| cause)
}

fn opened(
    stack: &Stack<FlashDevice>,
    file: FileId,
    span: Bytes,
    depth: u32,
) -> StackFile<FlashDevice> {
    StackFile::new(stack, file, span, BLOCK, depth, true, SyncCall::Data)
}

fn writer(file: FileId, size: Bytes, block: Bytes, durable: bool) -> BackgroundJob {
    BackgroundJob {
        writes: true,
        random: true,
        files: FileRow::from(file),
        span: size,
        block,
        depth: 2,
        durable: durable.then_some(SyncCall::All),
        think: Nanos::ZERO,
        seed: 9,
    }
}

#[test]
fn the_parts_of_every_operation_add_up_on_every_profile_and_filesystem() {
    let mounts = ["raw", "ext4", "ext4,encrypt,fuse", "ext4,discard", "f2fs", "btrfs,discard"];
    for profile in names() {
        let zoned = Profile::find(profile).unwrap().is_zoned();
        let mounts = if zoned { &["f2fs", "f2fs,encrypt,fuse"][..] } else { &mounts[..] };
        for (index, mount) in mounts.iter().enumerate() {
            let stack = stack(&small(profile, mount));
            let size = Bytes::from_mib(8);
            let files = ["one", "two"].map(|name| laid_out(&stack, name, size));
            for (depth, threads) in [(1, 1), (8, 4)] {
                if depth > 1 {
                    stack.start_background(writer(files[1], size, BLOCK, true)).unwrap();
                }
                for direct in [true, false] {
                    let sync = if direct { SyncCall::Data } else { SyncCall::All };
                    let mut device =
                        StackFile::new(&stack, files[0], size, BLOCK, depth, direct, sync)
                            .with_threads(threads);
                    driven(&mut device, (150, Nanos::ZERO), index as u64, |random| {
                        match random.random_range(0..5) {
                            0 => (Op::Read, Durability::None),
                            1 => (Op::Write, Durability::None),
                            2 => (Op::Write, Durability::Write),
                            _ => (Op::Write, Durability::Flush),
                        }
                    });
                }
            }
            stack.end_background();
        }
    }
}

#[test]
fn the_sum_around_a_call_is_the_time_of_the_call() {
    for mount in ["ext4", "f2fs", "btrfs"] {
        let stack = stack(&small("pixel4-2019", mount));
        let mut random = Pcg64Mcg::seed_from_u64(2);
        let file = laid_out(&stack, "a", Bytes::from_mib(4));
        let sum = Cell::new(Nanos::ZERO);
        let timed = |call: &dyn Fn()| {
            let (from, before) = (stack.clock().now(), stack.waited().unwrap());
            call();
            let (took, waited) = (stack.clock().now().since(from), stack.waited().unwrap());
            assert_eq!(waited.since(&before).total(), took, "{mount}");
            sum.set(sum.get().plus(took));
        };
        for number in 0..400 {
            let offset = Bytes(random.random_range(0..1000) * BLOCK.0 + 17);
            timed(&|| stack.write(file, offset, &[1; 600]).unwrap());
            timed(&|| stack.sync(file, number % 2 == 0).unwrap());
            timed(&|| _ = stack.read(file, offset, &mut [0; 9000]).unwrap());
            timed(&|| stack.compute(Nanos::from_micros(50)));
            if number % 20 == 0 {
                timed(&|| _ = stack.create(&format!("n{number}")).unwrap());
                timed(&|| stack.sync_directory().unwrap());
                timed(&|| stack.delete(&format!("n{number}")).unwrap());
                stack.pass_until(stack.clock().now().plus(Nanos::from_secs(1)));
            }
        }
        assert!(sum.get() > Nanos::ZERO);
    }
}

#[test]
fn the_long_writes_of_a_full_phone_wait_for_garbage_collection() {
    let stack = stack(&small("nexus7-2012", "ext4"));
    let file = laid_out(&stack, "file", Bytes::from_mib(24));
    laid_out(&stack, "fill", stack.free().saturating_minus(Bytes::from_mib(8)));
    let mut device = opened(&stack, file, Bytes::from_mib(24), 1);
    let durable = |_: &mut Pcg64Mcg| (Op::Write, Durability::Flush);
    let (waited, long) = driven(&mut device, (6000, Nanos::from_millis(100)), 1, durable);
    assert!(long > 10, "{long}");
    assert_eq!(largest(&waited), Some(Wait::GarbageCollection), "{waited:?}");
}

#[test]
fn a_read_after_a_rest_waits_for_the_device_to_wake() {
    let stack = stack("sim:pixel4-2019+f2fs,size=4GiB");
    let file = laid_out(&stack, "file", Bytes::from_mib(4));
    let mut device = opened(&stack, file, Bytes::from_mib(4), 1);
    let mut all = Waited::default();
    for seed in 0..20 {
        stack.pass_until(stack.clock().now().plus(Nanos::from_secs(2)));
        let read = |_: &mut Pcg64Mcg| (Op::Read, Durability::None);
        all = all.plus(&driven(&mut device, (1, Nanos::ZERO), seed, read).0);
    }
    assert_eq!(largest(&all), Some(Wait::WakeUp), "{all:?}");
}

#[test]
fn a_durable_write_beside_a_writer_waits_for_that_or_for_a_commit() {
    let stack = stack(&small("nexus7-2012", "ext4"));
    let files = ["one", "two"].map(|name| laid_out(&stack, name, Bytes::from_mib(32)));
    let durable = |_: &mut Pcg64Mcg| (Op::Write, Durability::Flush);
    let alone = {
        let mut device = opened(&stack, files[0], Bytes::from_mib(32), 1);
        driven(&mut device, (500, Nanos::ZERO), 1, durable).0
    };
    assert_eq!(alone.of(Wait::OtherIo), Nanos::ZERO, "nobody else: {alone:?}");
    let beside = writer(files[1], Bytes::from_mib(32), Bytes(1 << 18), true);
    stack.start_background(beside).unwrap();
    let mut device = opened(&stack, files[0], Bytes::from_mib(32), 1);
    let (waited, _) = driven(&mut device, (500, Nanos::ZERO), 1, durable);
    let others = waited.of(Wait::OtherIo).plus(waited.of(Wait::FilesystemCommit));
    assert!(others.0 * 2 > waited.total().0, "{waited:?}");
    assert!(waited.of(Wait::OtherIo) > Nanos::ZERO, "{waited:?}");
}

/// What reads waited for while a writer that has used up the write cache ran in parallel.
fn reads_beside(profile: &str, writes: bool) -> Waited {
    let stack = stack(&small(profile, "ext4"));
    let size = Bytes::from_mib(96);
    let files = ["one", "two"].map(|name| laid_out(&stack, name, size));
    let stream = BackgroundJob { random: false, ..writer(files[1], size, Bytes(1 << 20), false) };
    if writes {
        stack.start_background(stream).unwrap();
        stack.pass_until(stack.clock().now().plus(Nanos::from_secs(20)));
    }
    let read = |_: &mut Pcg64Mcg| (Op::Read, Durability::None);
    let mut device = opened(&stack, files[0], size, 1);
    driven(&mut device, (100, Nanos::ZERO), 3, read).0
}

#[test]
fn behind_a_writer_that_meets_a_full_cache_it_is_the_writer_that_is_waited_for() {
    let (alone, beside) = (reads_beside("sd-a1", false), reads_beside("sd-a1", true));
    assert_eq!(alone.of(Wait::OtherIo), Nanos::ZERO, "{alone:?}");
    assert!(beside.total().0 > 10 * alone.total().0, "{beside:?}, alone {alone:?}");
    assert!(beside.of(Wait::OtherIo).0 * 10 > beside.total().0 * 9, "{beside:?}");
}

#[test]
fn behind_ones_own_requests_it_is_what_these_meet() {
    // Sixteen in flight and no other load: on a full device garbage collection runs.
    let stack = stack(&small("nexus7-2012", "raw"));
    let file = laid_out(&stack, "file", Bytes::from_mib(24));
    laid_out(&stack, "fill", stack.free().saturating_minus(Bytes::from_mib(4)));
    let mut device = opened(&stack, file, Bytes::from_mib(24), 16);
    let plain = |_: &mut Pcg64Mcg| (Op::Write, Durability::None);
    let (waited, long) = driven(&mut device, (6000, Nanos::from_millis(100)), 1, plain);
    assert!(long > 10, "{long}");
    assert_eq!(waited.of(Wait::OtherIo), Nanos::ZERO, "{waited:?}");
    assert_eq!(largest(&waited), Some(Wait::GarbageCollection), "{waited:?}");
}

#[test]
fn a_new_name_on_f2fs_waits_for_a_checkpoint() {
    let stack = stack(&small("nexus7-2012", "f2fs"));
    laid_out(&stack, "file", Bytes::from_mib(8));
    let before = stack.waited().unwrap();
    stack.sync_directory().unwrap();
    let waited = stack.waited().unwrap().since(&before);
    assert_eq!(largest(&waited), Some(Wait::Checkpoint), "{waited:?}");
}

#[test]
fn ext4_with_discards_waits_for_them_in_its_commits() {
    let stack = stack(&small("nexus7-2012", "ext4,discard"));
    let mut all = Waited::default();
    for number in 0..10 {
        let name = format!("f{number}");
        laid_out(&stack, &name, Bytes::from_mib(16));
        stack.delete(&name).unwrap();
        let before = stack.waited().unwrap();
        stack.sync_directory().unwrap();
        all = all.plus(&stack.waited().unwrap().since(&before));
    }
    assert!(all.of(Wait::Discard) > Nanos::ZERO, "{all:?}");
    assert!(all.of(Wait::FilesystemCommit) > Nanos::ZERO, "{all:?}");
}
