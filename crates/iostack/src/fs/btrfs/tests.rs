use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::*;

const FILE: FileId = FileId(1);
const MIB: u64 = 1 << 20;

fn made(spec: &str) -> Btrfs {
    let mut fs = Btrfs::new(Bytes::from_mib(1024), &StackSpec::parse(spec).unwrap()).unwrap();
    fs.create(Nanos::ZERO, FILE).unwrap();
    fs.name(FILE, "file");
    fs
}

fn write(fs: &mut Btrfs, page: u64, pages: u64) -> Plan {
    fs.write(Nanos::ZERO, FILE, &[(page * BLOCK, pages * BLOCK)], Reason::Direct).unwrap()
}

fn synced(fs: &mut Btrfs) -> Plan {
    fs.sync(Nanos::ZERO, Some(FILE), true)
}

/// A plan in short: KiB of writes, `F` for a flush, `D` after a write that is durable itself.
fn said(plan: Plan) -> Vec<String> {
    let of = |request: &BlockRequest| match request {
        BlockRequest::Write(run) => (run.length >> 10).to_string(),
        BlockRequest::WriteDurable(run) => format!("{}D", run.length >> 10),
        BlockRequest::Flush => "F".to_owned(),
        other => format!("{other:?}"),
    };
    plan.into_groups().map(|group| group.iter().map(of).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn an_fsync_writes_two_copies_of_two_nodes_and_seals_them_by_the_superblock() {
    // Observed on Linux 6.18: an fsync writes two leaves, that of the log tree and the one that
    // holds its root, in two copies each.
    let mut fs = made("btrfs");
    assert_eq!(said(write(&mut fs, 0, 3)), ["12"]);
    assert_eq!(said(synced(&mut fs)), ["32 32", "F", "4D"]);
    assert_eq!(said(synced(&mut fs)), [""; 0], "nothing has changed");
    fs.touch(Nanos::ZERO, FILE);
    assert_eq!(said(synced(&mut fs)), ["32 32", "F", "4D"]);
    let mut fs = made("btrfs,nobarrier");
    assert_eq!(said(synced(&mut fs)), ["32 32", "4"]);
}

#[test]
fn a_log_that_outgrows_its_leaf_writes_a_root_and_two_leaves() {
    let mut fs = made("btrfs");
    write(&mut fs, 0, 1024);
    fs.commit();
    // A write logs a piece of the file (53 bytes) and its checksum (4), each with a head of 25, beside
    // the inode (160).
    let fit = (16_384 - 101 - 185) / (53 + 4 + 50);
    for number in 0..fit + 20 {
        write(&mut fs, 2 * number, 1);
        // The write is logged in both leaves: that of pieces and that of checksums.
        let nodes = if number < fit { "32 32" } else { "64 64" };
        assert_eq!(said(synced(&mut fs)), [nodes, "F", "4D"], "write {number}");
    }
}

#[test]
fn the_trees_are_committed_every_thirty_seconds_and_the_log_begins_anew() {
    let mut fs = made("btrfs");
    write(&mut fs, 0, 1);
    assert_eq!(fs.next_tick(), Nanos::from_secs(30));
    assert!(fs.tick(Nanos::from_secs(29)).is_empty());
    // One leaf each of files, checksums, free space, roots and extents, in two copies; the
    // superblock, and the one copy of it that a device of this size has.
    let plan = fs.tick(Nanos::from_secs(30));
    assert!(plan.commits);
    assert_eq!(said(plan), ["80 80", "F", "4D 4"]);
    assert_eq!(fs.next_tick(), Nanos::MAX);
    assert!(synced(&mut fs).is_empty(), "the commit made it durable");
}

#[test]
fn a_new_chunk_has_the_next_fsync_commit_the_transaction() {
    let mut fs = made("btrfs");
    // Fill the chunk of data that mkfs makes.
    write(&mut fs, 0, 2048);
    assert_eq!(said(synced(&mut fs)), ["32 32", "F", "4D"]);
    write(&mut fs, 2048, 1);
    assert_eq!(said(synced(&mut fs)), ["80 80", "F", "4D 4"]);
    write(&mut fs, 2049, 1);
    assert_eq!(said(synced(&mut fs)), ["32 32", "F", "4D"]);
}

#[test]
fn a_block_is_written_again_only_after_the_transaction_that_freed_it() {
    let mut fs = made("btrfs");
    write(&mut fs, 0, 1);
    let mut places = vec![fs.locate(FILE, 0, BLOCK)];
    for _ in 0..100 {
        write(&mut fs, 0, 1);
        let place = fs.locate(FILE, 0, BLOCK);
        assert!(!places.contains(&place), "{place:?}");
        places.push(place);
    }
    assert_eq!(fs.free().0, fs.total().0 - BLOCK, "what was freed is free, if not yet to be used");
    // The next new file is allocated at the front.
    fs.commit();
    let other = FileId(2);
    fs.create(Nanos::ZERO, other).unwrap();
    fs.write(Nanos::ZERO, other, &[(0, BLOCK)], Reason::Direct).unwrap();
    assert_eq!(fs.locate(other, 0, BLOCK), places[0]);
}

#[test]
fn an_extent_stays_until_its_last_block_is_overwritten() {
    let mut fs = made("btrfs");
    write(&mut fs, 0, 256);
    let free = fs.free().0;
    for page in 0..255 {
        write(&mut fs, page, 1);
        assert_eq!(free - fs.free().0, (page + 1) * BLOCK, "page {page}");
    }
    write(&mut fs, 255, 1);
    assert_eq!(fs.free().0, free);
}

#[test]
fn a_full_filesystem_has_no_room_to_overwrite_what_it_has() {
    for (spec, fits) in [("btrfs", false), ("btrfs,nodatacow", true)] {
        let mut fs = made(spec);
        let mut at = 0;
        while fs.write(Nanos::ZERO, FILE, &[(at, MIB)], Reason::Direct).is_ok() {
            at += MIB;
        }
        let rest = fs.free().0;
        assert!(rest < MIB, "{spec}: {rest} bytes are left");
        assert!(at + 2 * MIB > fs.total().0, "{spec}: {at}");
        assert_eq!(fs.takes_room(FILE, 0), !fits, "{spec}");
        let again = fs.write(Nanos::ZERO, FILE, &[(0, MIB)], Reason::Direct);
        assert_eq!(again.is_ok(), fits, "{spec}");
        assert!((0..at / BLOCK).all(|page| fs.is_mapped(FILE, page)), "{spec}: nothing was lost");
    }
}

#[test]
fn the_last_free_block_can_be_written() {
    let mut fs = made("btrfs");
    let mut at = 0;
    for length in [MIB, BLOCK] {
        while fs.write(Nanos::ZERO, FILE, &[(at, length)], Reason::Direct).is_ok() {
            at += length;
        }
    }
    assert_eq!(fs.free(), Bytes::ZERO);
}

#[test]
fn a_commit_discards_both_copies_of_the_nodes_that_it_replaced() {
    let mut fs = made("btrfs,discard");
    let mut discarded = |pages: u64| {
        write(&mut fs, 0, pages);
        let requests = fs.commit().into_groups().flatten();
        let lengths = requests.map(|request| match request {
            BlockRequest::Discard(run) => run.length,
            _ => 0,
        });
        lengths.sum::<u64>()
    };
    assert_eq!(discarded(1), 0, "nothing was there before");
    // A leaf of each of the five trees, and the block of data.
    assert_eq!(discarded(1), 2 * 5 * nodes::NODE + BLOCK);
}

/// The rest of a page that is written in part goes to the new extent with it.
#[test]
fn a_direct_write_reads_the_pages_that_it_covers_in_part_each_once() {
    for (spec, offset, length, expected) in [
        ("btrfs", 0, BLOCK, &[][..]),
        ("btrfs", 0, BLOCK + 512, &[1]),
        ("btrfs", 512, 2 * BLOCK - 512, &[0]),
        ("btrfs", 512, 2 * BLOCK, &[0, 2]),
        ("btrfs", BLOCK + 512, 512, &[1]),
        ("btrfs,nodatacow", 512, 2 * BLOCK, &[]),
    ] {
        let mut fs = made(spec);
        write(&mut fs, 0, 4);
        let place = |page: &u64| fs.locate(FILE, page * BLOCK, BLOCK);
        let expected: Vec<Run> = expected.iter().flat_map(place).collect();
        let plan = fs.write(Nanos::ZERO, FILE, &[(offset, length)], Reason::Direct).unwrap();
        let read = plan.into_groups().flatten().filter_map(|request| match request {
            BlockRequest::Read(run) => Some(run),
            _ => None,
        });
        assert_eq!(read.collect::<Vec<_>>(), expected, "{spec} {offset} {length}");
    }
}

#[test]
fn without_copies_of_data_a_page_stays_where_it_is_and_its_log_is_an_inode() {
    let mut fs = made("btrfs,nodatacow");
    write(&mut fs, 0, 4000);
    let place = fs.locate(FILE, 0, 4000 * BLOCK);
    fs.commit();
    for page in 0..400 {
        write(&mut fs, page, 1);
        // However many pages the file has, no piece and no checksum is logged.
        assert_eq!(said(synced(&mut fs)), ["32 32", "F", "4D"]);
    }
    assert_eq!(fs.locate(FILE, 0, 4000 * BLOCK), place);
}

#[test]
fn nothing_is_written_about_the_copies_of_the_superblock() {
    let mut fs = made("btrfs");
    let mut runs = Vec::new();
    for at in 0..100 {
        let plan = write(&mut fs, at * 2048, 2048);
        runs.extend(plan.into_groups().flatten().filter_map(|request| request.written()));
    }
    let copy = chunks::SUPERBLOCKS[1];
    assert!(runs.iter().all(|run| run.end() <= copy || run.offset >= copy + (64 << 10)));
}

#[test]
fn random_overwrites_fill_a_filesystem_as_soon_as_on_a_real_kernel() {
    // Observed on Linux 6.18: 814 MiB written by 1 MiB at a time leave 90 MiB; then space runs out
    // after 96 MiB by 4 KiB. Part of the blocks is overwritten twice, which frees the first copy.
    for seed in 0..3 {
        let mut fs = made("btrfs");
        while fs.free().0 > 90 * MIB {
            let size = fs.size(FILE);
            write(&mut fs, size / BLOCK, MIB / BLOCK);
        }
        let (pages, free) = (fs.size(FILE) / BLOCK, fs.free().0 / BLOCK);
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut written = 0;
        let mut overwrite = |fs: &mut Btrfs| {
            let at = random.next_u64() % pages * BLOCK;
            fs.write(Nanos::ZERO, FILE, &[(at, BLOCK)], Reason::Direct).is_ok()
        };
        while overwrite(&mut fs) {
            written += 1;
        }
        // Expected number of distinct pages: p (1 - e^(-w / p)).
        let expected = -(pages as f64) * (1.0 - free as f64 / pages as f64).ln();
        let error = (written as f64 / expected - 1.0).abs();
        assert!(error < 0.01, "seed {seed}: {written} for {expected}");
        let mib = written * BLOCK / MIB;
        assert!((92..=99).contains(&mib), "seed {seed}: {mib} MiB");
    }
}

#[test]
fn files_in_tens_of_thousands_of_pieces_come_and_go_on_the_smallest_device() {
    let spec = StackSpec::parse("btrfs").unwrap();
    let mut fs = Btrfs::new(Bytes::from_mib(128), &spec).unwrap();
    let mut random = Pcg64Mcg::seed_from_u64(1);
    for round in 0..6 {
        let file = FileId(round);
        fs.create(Nanos::ZERO, file).unwrap();
        let (mut refused, mut written) = (0, 0);
        while refused < 100 {
            // Each page is a piece of its own: no neighbour was written with it.
            let range = [(random.next_u64() % 20_000 * 2 * BLOCK, BLOCK)];
            match fs.write(Nanos::ZERO, file, &range, Reason::Direct) {
                Ok(_) => written += 1,
                Err(NoSpace) => refused += 1,
            }
            if written % 7 == 0 {
                fs.sync(Nanos::ZERO, Some(file), true);
            }
            if written > 60_000 {
                break;
            }
        }
        assert!(written > 5_000, "round {round}: {written}");
        fs.delete(Nanos::ZERO, file);
        fs.commit();
        assert_eq!(fs.free(), fs.total(), "round {round}");
    }
}

/// As `__push_leaf_right` does: from the end down to the slot, if both leaves are then about as full.
#[test]
fn a_full_leaf_gives_the_next_one_what_comes_after_the_slot() {
    let key = |offset| Key { object: 1, kind: tree::Kind::FileExtent, offset };
    let mut tree = tree::Tree::new();
    (0..842).for_each(|number| tree.insert(key(4 * number), 4));
    (0..280).for_each(|number| tree.insert(key(4 * number + 2), 4));
    assert_eq!(tree.counts(), [561, 561]);
    (562..842).for_each(|number| assert!(tree.remove(key(4 * number))));
    assert_eq!(tree.counts(), [561, 281]);
    // Before the item with index 300, of which 260 follow.
    tree.insert(key(2 * 300 - 1), 4);
    assert_eq!(tree.counts(), [561 - 260 + 1, 281 + 260]);
}
