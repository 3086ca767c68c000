//! F2FS on zones: what its plans write, in the order of the plans.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::*;

const FILE: FileId = FileId(1);
const FIRST: Bytes = Bytes::from_mib(32);
const ZONE: Bytes = Bytes::from_mib(4);

fn made(spec: &str) -> F2fs {
    let zones = ZoneGeometry { first: FIRST, size: ZONE, count: 56, open: 6 };
    F2fs::new(Bytes::from_mib(256), &StackSpec::parse(spec).unwrap(), Some(zones)).unwrap()
}

/// The write pointers of the zones.
struct Pointers {
    written: Vec<u64>,
    resets: u64,
    open: usize,
}

impl Pointers {
    fn new() -> Pointers {
        Pointers { written: vec![0; 56], resets: 0, open: 0 }
    }

    /// Carries out a plan, whose writes must each go to the pointer of their zone.
    fn sent(&mut self, plan: Plan, case: &str) {
        for request in plan.into_groups().flatten() {
            if let Some(run) = request.written().filter(|run| run.offset >= FIRST.0) {
                let mut at = run.offset - FIRST.0;
                let end = run.end() - FIRST.0;
                while at < end {
                    let (zone, within) = ((at / ZONE.0) as usize, at % ZONE.0);
                    assert_eq!(self.written[zone], within, "{case}: {run:?} is off the pointer");
                    let next = end.min((at / ZONE.0 + 1) * ZONE.0);
                    self.written[zone] += next - at;
                    at = next;
                }
            }
            if let BlockRequest::Discard(run) = request {
                assert!(run.offset >= FIRST.0 && run.length % ZONE.0 == 0, "{case}: {run:?}");
                let zones = (run.offset - FIRST.0) / ZONE.0..(run.end() - FIRST.0) / ZONE.0;
                for zone in zones {
                    assert_eq!(
                        self.written[zone as usize], ZONE.0,
                        "{case}: a zone in use is reset"
                    );
                    self.written[zone as usize] = 0;
                    self.resets += 1;
                }
            }
        }
        let partly = self.written.iter().filter(|written| **written % ZONE.0 != 0).count();
        self.open = self.open.max(partly);
    }
}

#[test]
fn every_write_goes_to_the_pointer_of_its_zone_and_full_zones_alone_are_reset() {
    let specs =
        ["f2fs", "f2fs,nobarrier", "f2fs,fsync_mode=strict,rootdir", "f2fs,background_gc=on"];
    for (spec, seed) in specs.into_iter().flat_map(|spec| [(spec, 1), (spec, 2)]) {
        let case = format!("{spec}, seed {seed}");
        let (mut fs, mut pointers) = (made(spec), Pointers::new());
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        fs.create(Nanos::ZERO, FILE).unwrap();
        let pages = fs.left() - fs.left() / 100 - 8;
        let (mut written, mut moved) = (0, 0);
        for step in 0..30_000 {
            let now = Nanos::from_millis(step * 20);
            let page = if step < pages / 16 { step * 16 } else { random.next_u64() % (pages - 16) };
            let count = if step < pages / 16 { 16 } else { 1 + random.next_u64() % 8 };
            let ranges = [(page * BLOCK, count * BLOCK)];
            let reasons = [Reason::Direct, Reason::Sync { pages: count }, Reason::Writeback];
            let reason = reasons[(random.next_u64() % 3) as usize];
            fs.resize(now, FILE, fs.size(FILE).max((page + count) * BLOCK));
            let plan = fs.write(now, FILE, &ranges, reason).unwrap();
            moved += plan.clone().into_groups().flatten().fold(0, |sum, one| match one {
                BlockRequest::Read(run) => sum + run.length / BLOCK,
                _ => sum,
            });
            written += count;
            pointers.sent(plan, &case);
            match random.next_u64() % 40 {
                0 => pointers.sent(fs.sync(now, None, false), &case),
                1..10 => pointers.sent(fs.sync(now, Some(FILE), true), &case),
                10 => {
                    let write = fs.write_atomically(now, FILE, &[page, page + 1]).unwrap();
                    pointers.sent(write.waited, &case);
                    pointers.sent(write.after, &case);
                }
                11 => {
                    let quiet = Quiet { now, used: Nanos::ZERO, rested: Nanos::ZERO };
                    if fs.next_rest(&quiet) <= now {
                        pointers.sent(fs.rest(&quiet), &case);
                    }
                }
                _ => {}
            }
            pointers.sent(fs.tick(now), &case);
        }
        assert!(pointers.resets > 20, "{case}: {} resets", pointers.resets);
        assert!(pointers.open <= 6, "{case}: {} zones were open", pointers.open);
        assert!(moved > 0 && moved < 12 * written, "{case}: {moved} of {written} blocks moved");
        assert_eq!(fs.held().len() as u64, fs.segments.used(), "{case}");
    }
}

/// Blocks of metadata and of the main area that a call writes.
fn written(plan: &Plan, main: u64) -> (u64, u64) {
    let runs = plan.clone().into_groups().flatten().filter_map(|request| request.written());
    runs.fold((0, 0), |(table, logs), run| {
        let blocks = run.length / BLOCK;
        if run.offset < main { (table + blocks, logs) } else { (table, logs + blocks) }
    })
}

/// A file of 64 pages that a checkpoint has made durable.
fn with_file(fs: &mut F2fs) {
    fs.create(Nanos::ZERO, FILE).unwrap();
    fs.write(Nanos::ZERO, FILE, &[(0, 64 * BLOCK)], Reason::Direct).unwrap();
    fs.sync(Nanos::ZERO, Some(FILE), false);
    fs.sync(Nanos::ZERO, None, false);
}

#[test]
fn a_durable_write_of_a_page_appends_page_and_node_where_the_regular_mode_overwrites() {
    let blocks_of = |mut fs: F2fs| {
        with_file(&mut fs);
        let main = fs.layout.main * BLOCK;
        let before = fs.locate(FILE, 0, BLOCK);
        let data = fs.write(Nanos::ZERO, FILE, &[(0, BLOCK)], Reason::Sync { pages: 1 }).unwrap();
        let sync = fs.sync(Nanos::ZERO, Some(FILE), true);
        let flushes = sync.clone().into_groups().flatten();
        let flushes = flushes.filter(|request| *request == BlockRequest::Flush).count();
        assert_eq!(flushes, 1);
        let moved = fs.locate(FILE, 0, BLOCK) != before;
        (moved, written(&data, main), written(&sync, main))
    };
    let regular =
        F2fs::new(Bytes::from_mib(256), &StackSpec::parse("f2fs").unwrap(), None).unwrap();
    assert_eq!(blocks_of(regular), (false, (0, 1), (0, 0)), "in place, and only a flush");
    assert_eq!(blocks_of(made("f2fs")), (true, (0, 1), (0, 1)), "the page moves, and so the node");
}

#[test]
fn checkpoints_write_their_packs_and_tables_before_the_first_zone() {
    let mut fs = made("f2fs");
    with_file(&mut fs);
    let main = fs.layout.main * BLOCK;
    assert_eq!(main, FIRST.0);
    fs.write(Nanos::ZERO, FILE, &[(0, BLOCK)], Reason::Direct).unwrap();
    let plan = fs.sync(Nanos::ZERO, None, false);
    // The head with its summary and the tail; the node of the file.
    assert_eq!(written(&plan, main), (3, 1));
    // The zones, then the disk that has the pack.
    let flushes =
        |plan: Plan| plan.into_groups().flatten().filter(|one| *one == BlockRequest::Flush).count();
    assert_eq!(flushes(plan), 2);
    let mut bare = made("f2fs,nobarrier");
    with_file(&mut bare);
    bare.write(Nanos::ZERO, FILE, &[(0, BLOCK)], Reason::Direct).unwrap();
    assert_eq!(flushes(bare.sync(Nanos::ZERO, None, false)), 0);
}

#[test]
fn a_device_without_room_for_metadata_or_logs_is_refused() {
    let spec = StackSpec::parse("f2fs").unwrap();
    let made = |first: u64, size: u64, count: u32| {
        let (first, size) = (Bytes::from_mib(first), Bytes(size << 20));
        let zones = ZoneGeometry { first, size, count, open: 6 };
        F2fs::new(Bytes::from_mib(256), &spec, Some(zones)).map(drop).unwrap_err()
    };
    assert!(matches!(made(4, 4, 56), LayoutError::FewConventional { .. }));
    assert!(matches!(made(32, 3, 56), LayoutError::ZoneSize { .. }));
    assert!(matches!(made(32, 4, 36), LayoutError::TooSmall { .. }));
}
