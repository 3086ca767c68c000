use flashlag_stats::Wait;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::inode::{IN_INODE, IN_NODE};
use super::segments::SEGMENT;
use super::*;

const FILE: FileId = FileId(1);
const OTHER: FileId = FileId(2);

fn made(spec: &str) -> F2fs {
    F2fs::new(Bytes::from_mib(256), &StackSpec::parse(spec).unwrap(), None).unwrap()
}

/// A file that fills the device but for `but` pages.
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

/// Overwrites a nearly full device at random and checks the files' maps throughout. Returns the
/// blocks that cleaning read, and the blocks written per block requested.
fn overwritten(spec: &str, seed: u64) -> (u64, f64) {
    let mut fs = made(spec);
    // Two segments more than with three logs: the rest of a log's segment is for that log only.
    let pages = filled(&mut fs, 500 + 2 * SEGMENT);
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
            // Simulates that free segments have run out: logs fill holes from here on.
            let mut plan = Plan::new();
            // There is nothing to clean where logs have filled every hole.
            fs.clean_one(&mut plan);
            plan.then_plan(fs.checkpoint(now));
            let (reads, writes) = counted(&plan);
            (read, written) = (read + reads, written + writes);
        }
        if write % 5000 == 0 {
            // `held` checks that owners of blocks and maps of files agree.
            let held = fs.held().len() as u64;
            assert_eq!(held, fs.segments.used(), "{spec}, seed {seed}, write {write}");
        }
    }
    assert!((0..pages).all(|page| fs.is_mapped(FILE, page)), "{spec}, seed {seed}");
    (read, written as f64 / overwrites as f64)
}

#[test]
fn cleaning_keeps_the_maps_right_on_a_device_that_is_nearly_full() {
    for (spec, seed) in [("f2fs", 0), ("f2fs", 1), ("f2fs,noipu", 0), ("f2fs,noipu", 1)] {
        let (read, cost) = overwritten(spec, seed);
        assert!(read > 10_000, "{spec}, seed {seed}: {read} blocks were moved");
        assert!(
            cost > 1.0 && cost < 8.0,
            "{spec}, seed {seed}: {cost} blocks a write, {read} moved"
        );
    }
}

#[test]
fn where_holes_are_too_few_to_thread_a_segment_is_cleaned() {
    // There is one log of data, and it is in the middle of a segment.
    let mut fs = made("f2fs,noipu");
    let pages = filled(&mut fs, 0);
    let held = |fs: &F2fs| fs.held().len() as u64;
    let before = held(&fs);
    let mut plan = Plan::new();
    // Move one page of each segment elsewhere, which leaves a hole in each.
    for page in (0..pages).step_by(SEGMENT as usize) {
        fs.write(Nanos::ZERO, FILE, &[(page * BLOCK, BLOCK)], Reason::Writeback).unwrap();
    }
    assert!(fs.clean_one(&mut plan));
    let (reads, writes) = counted(&plan);
    assert!(reads > 0 && reads < SEGMENT, "{reads}");
    assert_eq!(reads, writes, "what is valid is moved, and no more");
    assert_eq!(held(&fs), before);
    assert!(plan.into_steps().all(|(step, _)| step == Wait::Cleaning));
}

#[test]
fn a_checkpoint_frees_segments_that_are_empty_and_not_before() {
    let mut fs = made("f2fs,nodiscard");
    fs.create(Nanos::ZERO, FILE).unwrap();
    fs.write(Nanos::ZERO, FILE, &[(0, 32 << 20)], Reason::Direct).unwrap();
    fs.sync(Nanos::ZERO, None, false);
    let free = fs.segments.free_sections();
    fs.delete(Nanos::ZERO, FILE);
    assert_eq!(fs.segments.free_sections(), free);
    assert!(fs.segments.prefree_sections() >= 15);
    fs.sync(Nanos::ZERO, None, false);
    assert!(fs.segments.free_sections() >= free + 15);
    assert_eq!(fs.segments.prefree_sections(), 0);
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
    // Recovery must find the second node's addresses: the node is written once more.
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

/// A file that was synced is written once more by the checkpoint after its rename, for the inode has the name; the
/// directory's own blocks and the pack come as without it.
#[test]
fn a_checkpoint_after_a_rename_writes_the_inode_of_the_file_too() {
    let blocks = |renamed: bool| {
        let mut fs = made("f2fs,rootdir");
        let file = FileId(1);
        fs.create(Nanos::ZERO, file).unwrap();
        fs.resize(Nanos::ZERO, file, 2 * BLOCK);
        fs.write(Nanos::ZERO, file, &[(0, 2 * BLOCK)], Reason::Writeback).unwrap();
        fs.sync(Nanos::ZERO, Some(file), false);
        if renamed {
            fs.rename(Nanos::ZERO, file);
        }
        blocks_of(&fs.sync(Nanos::ZERO, None, false)).len()
    };
    assert_eq!(blocks(true), blocks(false) + 1);
}

/// Blocks that a plan writes, in order.
fn blocks_of(plan: &Plan) -> Vec<u64> {
    let writes = plan.clone().into_groups().flatten().filter_map(|request| request.written());
    writes.flat_map(|run| run.offset / BLOCK..run.end() / BLOCK).collect()
}

#[test]
fn random_durable_writes_are_two_streams_to_the_device_one_of_data_and_one_of_nodes() {
    // Before in-place updates, each write appends a page and the node that points to it.
    let mut fs = made("f2fs,noipu");
    let pages = filled(&mut fs, 16_384);
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let (mut data, mut nodes) = (Vec::new(), Vec::new());
    for _ in 0..1_000 {
        let page = random.next_u64() % pages;
        let written = fs.write(Nanos::ZERO, FILE, &[(page * BLOCK, BLOCK)], Reason::Direct);
        data.extend(blocks_of(&written.unwrap()));
        nodes.extend(blocks_of(&fs.sync(Nanos::ZERO, Some(FILE), true)));
    }
    for (stream, of) in [(&data, "data"), (&nodes, "nodes")] {
        assert_eq!(stream.len(), 1_000, "{of}");
        // A sequential stream jumps where it continues in another segment: at most every 512
        // blocks.
        let jumps = stream.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
        assert!(jumps <= 1_000 / SEGMENT as usize + 1, "{of}: {jumps} jumps");
    }
    assert!(data.iter().all(|block| !nodes.contains(block)));
}

#[test]
fn hot_warm_and_cold_data_and_the_nodes_of_files_and_directories_have_segments_of_their_own() {
    let mut fs = made("f2fs,rootdir");
    let names = ["save.db", "long.txt", "film.mp4"];
    let mut segments = BTreeSet::new();
    for (number, name) in (1..).zip(names) {
        let file = FileId(number);
        fs.create(Nanos::ZERO, file).unwrap();
        fs.name(file, name);
        fs.resize(Nanos::ZERO, file, 64 * BLOCK);
        let range = [(0, 64 * BLOCK)];
        fs.write(Nanos::ZERO, file, &range, Reason::Writeback).unwrap();
        fs.sync(Nanos::ZERO, Some(file), false);
        segments.insert(fs.locate(file, 0, BLOCK)[0].offset / BLOCK / SEGMENT);
    }
    fs.sync(Nanos::ZERO, None, false);
    let nodes = [fs.files[&1].nodes[0].1, fs.directory.node.unwrap()];
    segments.extend(nodes.map(|node| fs.place(node).offset / BLOCK / SEGMENT));
    assert_eq!(segments.len(), 5, "{segments:?}");
    // Names lie beside databases.
    let entries = fs.place(fs.directory.entries.unwrap()).offset / BLOCK / SEGMENT;
    assert_eq!(entries, fs.locate(FileId(1), 0, BLOCK)[0].offset / BLOCK / SEGMENT);
}

/// Flushes of a plan on a device without FUA.
fn flushes(plan: Plan) -> usize {
    let requests = plan.without_fua(false).into_groups().flatten();
    requests.filter(|request| *request == BlockRequest::Flush).count()
}

#[test]
fn a_strict_fsync_of_a_new_file_is_a_checkpoint_where_a_name_was_removed() {
    for (spec, removed, expected) in [
        ("f2fs", true, 1),
        ("f2fs,fsync_mode=posix", true, 1),
        ("f2fs,fsync_mode=strict", false, 1),
        ("f2fs,fsync_mode=strict", true, 2),
        ("f2fs,fsync_mode=nobarrier", true, 0),
    ] {
        let mut fs = made(spec);
        fs.create(Nanos::ZERO, OTHER).unwrap();
        fs.sync(Nanos::ZERO, None, false);
        if removed {
            fs.delete(Nanos::ZERO, OTHER);
        }
        fs.create(Nanos::ZERO, FILE).unwrap();
        fs.write(Nanos::ZERO, FILE, &[(0, BLOCK)], Reason::Direct).unwrap();
        let plan = fs.sync(Nanos::ZERO, Some(FILE), true);
        assert_eq!(plan.commits, expected == 2, "{spec}");
        assert_eq!(flushes(plan), expected, "{spec}, {removed}");
        // The checkpoint made the removal durable: the next fsync is an ordinary one again.
        fs.write(Nanos::ZERO, FILE, &[(0, BLOCK)], Reason::Direct).unwrap();
        let plan = fs.sync(Nanos::ZERO, Some(FILE), true);
        assert_eq!(flushes(plan), expected.min(1), "{spec}, {removed}");
    }
}

#[test]
fn an_atomic_write_is_data_then_a_node_that_is_durable_itself_in_every_mode_with_barriers() {
    for (spec, expected) in [
        ("f2fs", 2),
        ("f2fs,fsync_mode=nobarrier", 2),
        ("f2fs,fsync_mode=strict", 2),
        ("f2fs,nobarrier", 0),
    ] {
        let mut fs = made(spec);
        fs.create(Nanos::ZERO, FILE).unwrap();
        fs.write(Nanos::ZERO, FILE, &[(0, 8 * BLOCK)], Reason::Direct).unwrap();
        fs.sync(Nanos::ZERO, Some(FILE), true);
        let before = fs.locate(FILE, 0, BLOCK);
        let AtomicWrite { waited, after } =
            fs.write_atomically(Nanos::ZERO, FILE, &[0, 5]).unwrap();
        let blocks = |plan: &Plan| plan.written().0 / BLOCK;
        assert_eq!(
            (blocks(&waited), blocks(&after)),
            (2, 1),
            "{spec}: the call waits for the data"
        );
        let mut plan = waited;
        plan.then_plan(after);
        // Two pages that were apart are appended next to each other: one request, then the node.
        let writes: Vec<u64> = plan
            .clone()
            .into_groups()
            .flatten()
            .filter_map(|request| request.written())
            .map(|run| run.length / BLOCK)
            .collect();
        assert_eq!(writes, [2, 1], "{spec}");
        assert_eq!(flushes(plan), expected, "{spec}");
        assert_ne!(fs.locate(FILE, 0, BLOCK), before, "{spec}: never in place");
        assert!(fs.sync(Nanos::ZERO, Some(FILE), true).is_empty(), "{spec}: nothing is left");
    }
}

#[test]
fn a_pack_has_a_summary_more_where_logs_stand_late_in_their_segments_and_none_more_for_full_ones() {
    let pack = |pages: u64| {
        let mut fs = made("f2fs");
        fs.create(Nanos::ZERO, FILE).unwrap();
        fs.write(Nanos::ZERO, FILE, &[(0, pages * BLOCK)], Reason::Direct).unwrap();
        let plan = fs.checkpoint(Nanos::ZERO);
        let runs = plan.into_groups().flatten().filter_map(|request| request.written());
        let writes: Vec<u64> = runs.map(|run| run.length / BLOCK).collect();
        // The head with its summaries, then the tail.
        writes[writes.len() - 2]
    };
    assert_eq!([100, 439, 440, 511].map(pack), [2, 2, 3, 3]);
    assert_eq!([SEGMENT, SEGMENT + 439, SEGMENT + 440].map(pack), [2, 2, 3]);
}

#[test]
fn an_fsync_flushes_also_while_another_of_the_file_is_under_way() {
    let mut fs = made("f2fs");
    fs.create(Nanos::ZERO, FILE).unwrap();
    fs.write(Nanos::ZERO, FILE, &[(0, 2 * BLOCK)], Reason::Direct).unwrap();
    fs.sync(Nanos::ZERO, Some(FILE), false);
    // Two threads write in place and sync; each must flush, since it can't know whether the other's
    // flush came after its own write.
    for page in 0..2 {
        fs.write(Nanos::ZERO, FILE, &[(page * BLOCK, BLOCK)], Reason::Direct).unwrap();
    }
    for thread in 0..2 {
        assert_eq!(flushes(fs.sync(Nanos::ZERO, Some(FILE), true)), 1, "thread {thread}");
    }
}
