use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::*;

const FILE: FileId = FileId(1);
const OTHER: FileId = FileId(2);

fn made(spec: &str) -> F2fs {
    F2fs::new(Bytes::from_mib(256), &StackSpec::parse(spec).unwrap()).unwrap()
}

/// A file of as many pages as fit, but for some.
fn filled(fs: &mut F2fs, but: u64) -> u64 {
    fs.create(Nanos::ZERO, FILE).unwrap();
    let pages = fs.left() - but;
    let pages = pages - pages / IN_NODE - 2;
    for page in (0..pages).step_by(16) {
        let count = (pages - page).min(16);
        fs.write(Nanos::ZERO, FILE, &[(page * BLOCK, count * BLOCK)], Reason::Direct).unwrap();
    }
    fs.sync(Nanos::ZERO, Some(FILE), false);
    pages
}

fn counted(plan: &Plan) -> (u64, u64) {
    let requests = plan.clone().into_groups().flatten();
    requests.fold((0, 0), |(reads, writes), request| match request {
        BlockRequest::Read(run) => (reads + run.length / BLOCK, writes),
        other => (reads, writes + other.written().map_or(0, |run| run.length / BLOCK)),
    })
}

/// Random overwrites of a nearly full device, its files' maps checked all along. Blocks read by
/// cleaning, and blocks written for each that was asked for.
fn overwritten(spec: &str, seed: u64) -> (u64, f64) {
    let mut fs = made(spec);
    let pages = filled(&mut fs, 500);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut read, mut written) = (0, 0);
    let overwrites = 60_000;
    for write in 0..overwrites {
        let page = random.next_u64() % pages;
        let now = Nanos::from_millis(write);
        let plan = fs.write(now, FILE, &[(page * BLOCK, BLOCK)], Reason::Writeback).unwrap();
        let (reads, writes) = counted(&plan);
        (read, written) = (read + reads, written + writes);
        if write % 64 == 0 {
            written += counted(&fs.sync(now, Some(FILE), true)).1;
        }
        if write % 256 == 0 {
            // As if free segments had run out: by itself it threads its logs for as long.
            let mut plan = Plan::new();
            assert!(fs.clean_one(&mut plan), "{spec}, seed {seed}, write {write}");
            plan.then_plan(fs.checkpoint(now));
            let (reads, writes) = counted(&plan);
            (read, written) = (read + reads, written + writes);
        }
        if write % 5000 == 0 {
            // Owners of blocks and maps of files agree: `held` looks.
            let held = fs.held().len() as u64;
            assert_eq!(held, fs.segments.used(), "{spec}, seed {seed}, write {write}");
        }
    }
    assert!((0..pages).all(|page| fs.is_mapped(FILE, page)), "{spec}, seed {seed}");
    (read, written as f64 / overwrites as f64)
}

#[test]
fn cleaning_keeps_the_maps_right_on_a_device_that_is_nearly_full() {
    for seed in 0..3 {
        let (read, cost) = overwritten("f2fs", seed);
        assert!(read > 10_000, "seed {seed}: {read} blocks were moved");
        assert!(cost > 1.0 && cost < 8.0, "seed {seed}: {cost} blocks a write, {read} moved");
    }
}

#[test]
fn where_holes_are_too_few_to_thread_a_segment_is_cleaned() {
    let mut fs = made("f2fs");
    let pages = filled(&mut fs, 0);
    let held = |fs: &F2fs| fs.held().len() as u64;
    let before = held(&fs);
    let mut plan = Plan::new();
    // One page of each segment is elsewhere now: a hole in each.
    for page in (0..pages).step_by(SEGMENT as usize) {
        fs.write(Nanos::ZERO, FILE, &[(page * BLOCK, BLOCK)], Reason::Writeback).unwrap();
    }
    assert!(fs.clean_one(&mut plan));
    let (reads, writes) = counted(&plan);
    assert!(reads > 0 && reads < SEGMENT, "{reads}");
    assert_eq!(reads, writes, "what is valid is moved, and no more");
    assert_eq!(held(&fs), before);
}

#[test]
fn a_checkpoint_frees_segments_that_are_empty_and_not_before() {
    let mut fs = made("f2fs,nodiscard");
    fs.create(Nanos::ZERO, FILE).unwrap();
    fs.write(Nanos::ZERO, FILE, &[(0, 32 << 20)], Reason::Direct).unwrap();
    fs.sync(Nanos::ZERO, None, false);
    let free = fs.segments.free_segments();
    fs.delete(Nanos::ZERO, FILE);
    assert_eq!(fs.segments.free_segments(), free);
    assert!(fs.segments.prefree_segments() >= 15);
    fs.sync(Nanos::ZERO, None, false);
    assert!(fs.segments.free_segments() >= free + 15);
    assert_eq!(fs.segments.prefree_segments(), 0);
}

#[test]
fn an_fsync_of_few_pages_writes_in_place_and_one_of_many_appends() {
    let mut fs = made("f2fs");
    fs.create(Nanos::ZERO, FILE).unwrap();
    fs.write(Nanos::ZERO, FILE, &[(0, 64 * BLOCK)], Reason::Direct).unwrap();
    let place = |fs: &F2fs| fs.locate(FILE, 0, BLOCK);
    let first = place(&fs);
    fs.write(Nanos::ZERO, FILE, &[(0, 8 * BLOCK)], Reason::Sync { pages: 8 }).unwrap();
    assert_eq!(place(&fs), first);
    fs.write(Nanos::ZERO, FILE, &[(0, 9 * BLOCK)], Reason::Sync { pages: 9 }).unwrap();
    assert_ne!(place(&fs), first);
}

#[test]
fn older_kernels_never_write_in_place() {
    let mut fs = made("f2fs,noipu");
    fs.create(Nanos::ZERO, FILE).unwrap();
    for reason in [Reason::Direct, Reason::Sync { pages: 1 }, Reason::Writeback] {
        fs.write(Nanos::ZERO, FILE, &[(0, BLOCK)], Reason::Direct).unwrap();
        let before = fs.locate(FILE, 0, BLOCK);
        fs.write(Nanos::ZERO, FILE, &[(0, BLOCK)], reason).unwrap();
        assert_ne!(fs.locate(FILE, 0, BLOCK), before, "{reason:?}");
    }
}

#[test]
fn pages_beyond_the_inode_have_nodes_of_their_own_and_a_cut_frees_them() {
    let mut fs = made("f2fs");
    fs.create(Nanos::ZERO, FILE).unwrap();
    let pages = IN_INODE + 2 * IN_NODE + 1;
    fs.write(Nanos::ZERO, FILE, &[(0, pages * BLOCK)], Reason::Direct).unwrap();
    let nodes = counted(&fs.sync(Nanos::ZERO, Some(FILE), true)).1;
    assert_eq!(nodes, 4, "an inode and three direct nodes");
    let left = fs.left();
    fs.resize(Nanos::ZERO, FILE, (IN_INODE + 1) * BLOCK);
    assert_eq!(fs.left(), left + 2 * IN_NODE + 2, "pages and nodes");
    // The second node's addresses must be found again: it is written once more.
    assert_eq!(counted(&fs.sync(Nanos::ZERO, Some(FILE), true)).1, 2);
}

#[test]
fn names_are_made_durable_by_a_checkpoint_and_only_once() {
    let mut fs = made("f2fs");
    fs.create(Nanos::ZERO, FILE).unwrap();
    fs.create(Nanos::ZERO, OTHER).unwrap();
    let plan = fs.sync(Nanos::ZERO, None, false);
    assert!(plan.commits && counted(&plan).1 >= 6);
    assert!(fs.sync(Nanos::ZERO, None, false).is_empty());
}
