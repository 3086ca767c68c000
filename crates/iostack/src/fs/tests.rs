//! Properties of every filesystem, checked with random sequences of calls. A failure names its
//! seed.

use flashlag_units::Nanos;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::*;
use crate::plan::BlockRequest;
use crate::plan::Plan;
use crate::ranges::Ranges;

const SPECS: [&str; 24] = [
    "raw",
    "raw,discard",
    "ext4",
    "ext4,discard",
    "ext4,nobarrier",
    "ext4,fast_commit",
    "f2fs",
    "f2fs,nodiscard",
    "f2fs,noipu",
    "f2fs,nobarrier,noipu",
    "f2fs,rootdir",
    "f2fs,fsync_mode=nobarrier",
    "f2fs,fsync_mode=strict",
    "f2fs,background_gc=on",
    "f2fs,background_gc=on,nodiscard",
    "f2fs,checkpoint_merge",
    "f2fs on zones",
    "f2fs,nobarrier on zones",
    "f2fs,fsync_mode=strict,rootdir on zones",
    "f2fs,background_gc=on on zones",
    "btrfs",
    "btrfs,discard",
    "btrfs,nobarrier",
    "btrfs,nodatacow",
];
const CAPACITY: Bytes = Bytes::from_mib(256);

/// Bytes that the directory takes when it is empty.
fn names(spec: &str) -> u64 {
    match (spec.starts_with("f2fs"), spec.contains("rootdir")) {
        (true, true) => 2 * BLOCK,
        (true, false) => BLOCK,
        (false, _) => 0,
    }
}

fn made(spec: &str) -> Box<dyn Filesystem> {
    let (spec, zones) = mount(spec);
    make(&spec, CAPACITY, zones).unwrap()
}

/// The mount, and the zones of the device it is on: 4 MiB each, behind an eighth of the device.
fn mount(spec: &str) -> (StackSpec, Option<ZoneGeometry>) {
    let (text, zoned) = spec.strip_suffix(" on zones").map_or((spec, false), |text| (text, true));
    let (first, size) = (Bytes(CAPACITY.0 / 8), Bytes::from_mib(4));
    let count = ((CAPACITY.0 - first.0) / size.0) as u32;
    let zones = ZoneGeometry { first, size, count, open: 6 };
    (StackSpec::parse(text).unwrap(), zoned.then_some(zones))
}

#[test]
fn the_room_of_a_device_is_what_a_new_filesystem_on_it_has_free() {
    for (spec, zones) in SPECS.map(mount) {
        for capacity in [1, 40, 256, 300, 2000].map(Bytes::from_mib) {
            let made =
                make(&spec, capacity, zones).map(|fs| fs.free()).map_err(|it| it.to_string());
            let said = room(&spec, capacity, zones).map_err(|it| it.to_string());
            assert_eq!(said, made, "{spec:?} on {capacity}");
        }
    }
}

/// A filesystem under random calls, and the state that the test expects.
struct Trial {
    fs: Box<dyn Filesystem>,
    random: Pcg64Mcg,
    files: Vec<FileId>,
    next: u32,
    now: Nanos,
    barrier: bool,
    refused: u64,
    case: String,
}

impl Trial {
    fn new(spec: &str, seed: u64) -> Trial {
        Trial {
            fs: made(spec),
            random: Pcg64Mcg::seed_from_u64(seed),
            files: Vec::new(),
            next: 0,
            now: Nanos::ZERO,
            barrier: !spec.split([',', ' ']).any(|word| word == "nobarrier"),
            refused: 0,
            case: format!("{spec}, seed {seed}"),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound.max(1)
    }

    fn any_file(&mut self) -> Option<FileId> {
        let index = self.below(self.files.len() as u64);
        self.files.get(index as usize).copied()
    }

    /// One random call.
    fn step(&mut self) {
        self.now = self.now.plus(Nanos(self.random.next_u64() % 2_000_000_000));
        let now = self.now;
        let file = self.any_file();
        match (self.below(16), file) {
            (0 | 1, _) | (_, None) => self.create(),
            (2, Some(file)) => {
                self.files.retain(|one| *one != file);
                self.fs.delete(now, file);
            }
            (3, Some(file)) => {
                let size = self.below(self.fs.size(file) + 8192);
                self.fs.resize(now, file, size);
                assert_eq!(self.fs.size(file), size, "{}", self.case);
            }
            (4, Some(file)) => {
                let data_only = self.below(2) == 0;
                let plan = self.fs.sync(now, Some(file), data_only);
                self.sent(plan);
            }
            (5, _) => {
                let plan = self.fs.sync(now, None, false);
                self.sent(plan);
            }
            (7, Some(file)) => {
                let pages = 1 + self.below(4);
                let first = self.below(self.fs.size(file) / BLOCK + 1);
                let pages: Vec<u64> = (first..first + pages).collect();
                let size = self.fs.size(file).max((pages[pages.len() - 1] + 1) * BLOCK);
                self.fs.resize(now, file, size);
                match self.fs.write_atomically(now, file, &pages) {
                    Ok(write) => {
                        self.sent(write.waited);
                        self.sent(write.after);
                    }
                    Err(NoSpace) => self.refused += 1,
                }
            }
            (8, _) => {
                let quiet = Quiet { now, used: Nanos::ZERO, rested: Nanos::ZERO };
                if self.fs.next_rest(&quiet) <= now {
                    let plan = self.fs.rest(&quiet);
                    self.sent(plan);
                }
            }
            (6, _) => {
                let (plan, discarded) = self.fs.trim();
                // Btrfs trims its node chunks as well.
                let all = if self.case.starts_with("btrfs") { CAPACITY } else { self.fs.total() };
                assert!(discarded <= all, "{}", self.case);
                self.sent(plan);
            }
            (_, Some(file)) => self.write(file),
        }
        self.tick();
    }

    fn create(&mut self) {
        let file = FileId(self.next);
        self.next += 1;
        if self.fs.create(self.now, file).is_ok() {
            self.files.push(file);
        }
    }

    fn write(&mut self, file: FileId) {
        let size = self.fs.size(file);
        let most = [4096, 65_536, 1 << 20, 24 << 20][self.below(4) as usize];
        let length = BLOCK * (1 + self.below(most / BLOCK));
        let offset = match self.below(3) {
            0 => size.div_ceil(BLOCK) * BLOCK,
            _ => BLOCK * self.below(size / BLOCK + 4),
        };
        let pages = length / BLOCK;
        let reasons = [Reason::Direct, Reason::Sync { pages }, Reason::Writeback];
        let reason = reasons[self.below(3) as usize];
        if reason != Reason::Direct {
            self.fs.resize(self.now, file, size.max(offset + length));
        }
        match self.fs.write(self.now, file, &[(offset, length)], reason) {
            Ok(plan) => {
                let all = (offset / BLOCK..(offset + length) / BLOCK)
                    .all(|page| self.fs.is_mapped(file, page));
                assert!(all, "{}: what was written has blocks", self.case);
                assert!(plan.written().0 >= length, "{}", self.case);
                self.sent(plan);
            }
            Err(NoSpace) => self.refused += 1,
        }
    }

    fn tick(&mut self) {
        for _ in 0..4 {
            if self.fs.next_tick() > self.now {
                return;
            }
            let plan = self.fs.tick(self.now);
            self.sent(plan);
        }
        assert!(self.fs.next_tick() > self.now, "{}: its threads never rest", self.case);
    }

    /// Applies a plan to the test's model of the device.
    fn sent(&mut self, plan: Plan) {
        let discards = plan.discards().next().is_some();
        let mut discarded = Ranges::default();
        for request in plan.into_groups().flatten() {
            match request {
                BlockRequest::Write(run)
                | BlockRequest::WriteDurable(run)
                | BlockRequest::Read(run)
                | BlockRequest::Discard(run) => {
                    assert!(run.length > 0 && run.end() <= CAPACITY.0, "{}: {run:?}", self.case);
                }
                BlockRequest::Flush => assert!(self.barrier, "{}: a flush", self.case),
                BlockRequest::Compute(_) => panic!("{}: a filesystem computes nothing", self.case),
            }
            if let Some(run) = request.written() {
                drop(discarded.take(run));
            }
            if let BlockRequest::Discard(run) = request {
                discarded.add(run);
            }
        }
        // No range in use is discarded, unless the plan writes it afterwards.
        for run in if discards { self.fs.held() } else { Vec::new() } {
            assert_eq!(discarded.take(run), [], "{}: discarded, and held", self.case);
        }
    }

    /// No two files share a block, and no block is lost.
    fn check(&self) {
        let case = &self.case;
        let mut held = self.fs.held();
        held.sort_by_key(|run| run.offset);
        for pair in held.windows(2) {
            assert!(pair[0].end() <= pair[1].offset, "{case}: {pair:?} overlap");
        }
        let used: u64 = held.iter().map(|run| run.length).sum();
        let all = used + self.fs.promised() + self.fs.free().0;
        let names = names(case);
        assert_eq!(all, self.fs.total().0 + names, "{case}: used and free");
    }
}

#[test]
fn no_two_files_share_a_block_and_none_is_lost_after_any_calls() {
    for spec in SPECS {
        let mut refused = 0;
        for seed in 0..6 {
            let mut trial = Trial::new(spec, seed);
            for _ in 0..60 {
                for _ in 0..10 {
                    trial.step();
                }
                trial.check();
            }
            refused += trial.refused;
        }
        assert!(refused > 0, "{spec}: it was never full");
    }
}

#[test]
fn every_block_comes_back_when_its_file_is_deleted() {
    for spec in SPECS {
        let mut trial = Trial::new(spec, 7);
        trial.create();
        let plan = trial.fs.sync(trial.now, None, false);
        trial.sent(plan);
        // Names stay after a deletion: the room they take belongs to no file.
        let held = |fs: &dyn Filesystem| fs.held().iter().map(|run| run.length).sum::<u64>();
        for _ in 0..400 {
            trial.step();
        }
        for file in std::mem::take(&mut trial.files) {
            trial.fs.delete(trial.now, file);
        }
        let names = names(spec);
        assert_eq!(held(trial.fs.as_ref()), names, "{spec}");
        assert_eq!(trial.fs.free(), trial.fs.total(), "{spec}");
    }
}

#[test]
fn what_is_full_says_so_and_takes_as_much_again_once_it_is_emptied() {
    for spec in SPECS {
        let mut fs = made(spec);
        let mut filled = |number: u32| {
            let file = FileId(number);
            fs.create(Nanos::ZERO, file).unwrap();
            let mut at = 0;
            while fs.write(Nanos::ZERO, file, &[(at, 64 << 10)], Reason::Direct).is_ok() {
                at += 64 << 10;
            }
            fs.delete(Nanos::ZERO, file);
            at
        };
        let first = filled(1);
        // Everything but the file's own map and a last piece.
        let total = made(spec).total().0;
        assert!(first <= total && first + total / 100 + (1 << 20) > total, "{spec}: {first}");
        for number in 2..5 {
            assert!(filled(number) + (1 << 20) > first, "{spec}");
        }
    }
}

#[test]
fn a_trim_reports_what_is_free_once() {
    for spec in ["ext4", "f2fs,nodiscard", "btrfs"] {
        let mut fs = made(spec);
        let file = FileId(1);
        fs.create(Nanos::ZERO, file).unwrap();
        fs.write(Nanos::ZERO, file, &[(0, 64 << 20)], Reason::Direct).unwrap();
        fs.sync(Nanos::ZERO, Some(file), false);
        fs.delete(Nanos::ZERO, file);
        fs.sync(Nanos::ZERO, None, false);
        let (plan, trimmed) = fs.trim();
        let sent: u64 = plan.discards().map(|run| run.length).sum();
        assert_eq!(sent, trimmed.0, "{spec}");
        assert!(trimmed.0 >= 60 << 20, "{spec}: {trimmed}");
        // Btrfs does not keep track of what it has trimmed.
        let again = if spec == "btrfs" { trimmed } else { Bytes::ZERO };
        assert_eq!(fs.trim().1, again, "{spec}: nothing was freed since");
    }
}

#[test]
fn what_was_freed_is_discarded_only_where_the_mount_says_so() {
    let discarded = |spec: &str| {
        let mut fs = made(spec);
        let file = FileId(1);
        fs.create(Nanos::ZERO, file).unwrap();
        fs.write(Nanos::ZERO, file, &[(0, 64 << 20)], Reason::Direct).unwrap();
        fs.sync(Nanos::ZERO, Some(file), false);
        fs.delete(Nanos::ZERO, file);
        let plan = fs.sync(Nanos::ZERO, None, false);
        plan.discards().map(|run| run.length).sum::<u64>()
    };
    for spec in ["raw", "ext4", "f2fs,nodiscard", "btrfs"] {
        assert_eq!(discarded(spec), 0, "{spec}");
    }
    for spec in ["raw,discard", "ext4,discard", "f2fs,noipu"] {
        // F2FS discards whole segments only.
        assert!((62 << 20..=66 << 20).contains(&discarded(spec)), "{spec}: {}", discarded(spec));
    }
}

#[test]
fn a_file_in_many_pieces_changes_a_block_of_its_map_with_each_new_one() {
    let mut fs = made("ext4");
    let files = [FileId(1), FileId(2)];
    for file in files {
        fs.create(Nanos::ZERO, file).unwrap();
        fs.sync(Nanos::ZERO, Some(file), false);
    }
    // What committing one more page writes: descriptor, inode, bitmap, group, commit block.
    let mut appended = |page: u64, file: FileId| {
        fs.write(Nanos::ZERO, file, &[(page * BLOCK, BLOCK)], Reason::Direct).unwrap();
        fs.sync(Nanos::ZERO, Some(file), true).written().0 / BLOCK
    };
    for page in 0..40 {
        let [first, second] = files.map(|file| appended(page, file));
        // Each page of two files that grow together is an extent; the inode holds four.
        let expected = if page < 4 { 5 } else { 6 };
        assert_eq!((first, second), (expected, expected), "page {page}");
    }
}
