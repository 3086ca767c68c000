//! Programs read back what they wrote, and a full filesystem is an error without side effects.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::*;
use crate::fs::{FileId, Reason};

/// A file, and the content that is expected in it.
struct Known {
    name: String,
    file: FileId,
    bytes: Vec<u8>,
}

fn reads_back(stack: &RamStack, known: &Known, case: &str) {
    let size = stack.size(known.file).0;
    assert_eq!(size, known.bytes.len() as u64, "{case}: {}", known.name);
    let mut into = vec![7; known.bytes.len() + 100];
    let count = stack.read(known.file, Bytes::ZERO, &mut into).unwrap();
    assert_eq!(count, known.bytes.len(), "{case}: {}", known.name);
    assert!(into[..count] == known.bytes[..], "{case}: {} differs", known.name);
}

fn random_calls(spec: &str, seed: u64) {
    let case = format!("{spec}, seed {seed}");
    let stack = stack(spec);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut files: Vec<Known> = Vec::new();
    for call in 0..400_u64 {
        let mut below = |bound: usize| (random.next_u64() % bound.max(1) as u64) as usize;
        let index = below(files.len());
        match below(12) {
            0 | 1 => {
                let name = format!("file-{call}");
                let file = stack.create(&name).unwrap();
                files.push(Known { name, file, bytes: Vec::new() });
            }
            2 if !files.is_empty() => {
                let known = files.swap_remove(index);
                stack.delete(&known.name).unwrap();
                assert_eq!(stack.find(&known.name), None, "{case}");
            }
            3 if !files.is_empty() => {
                let size = below(files[index].bytes.len() + 5000);
                files[index].bytes.resize(size, 0);
                stack.truncate(files[index].file, Bytes(size as u64)).unwrap();
            }
            4 if !files.is_empty() => stack.sync(files[index].file, below(2) == 0).unwrap(),
            5 => stack.sync_directory().unwrap(),
            6 => stack.pass_until(stack.clock().now().plus(Nanos::from_secs(below(20) as u64))),
            _ if !files.is_empty() => {
                let known = &mut files[index];
                let offset = below(known.bytes.len() + 9000);
                let bytes: Vec<u8> = (0..below(20_000)).map(|_| below(256) as u8).collect();
                if known.bytes.len() < offset + bytes.len() && !bytes.is_empty() {
                    known.bytes.resize(offset + bytes.len(), 0);
                }
                stack.write(known.file, Bytes(offset as u64), &bytes).unwrap();
                if !bytes.is_empty() {
                    known.bytes[offset..offset + bytes.len()].copy_from_slice(&bytes);
                }
            }
            _ => {}
        }
    }
    for known in &files {
        reads_back(&stack, known, &case);
    }
}

#[test]
fn what_was_written_is_read_whatever_came_between() {
    for spec in ["raw", "ext4", "ext4,discard", "f2fs", "f2fs,noipu,nobarrier"] {
        for seed in 0..8 {
            random_calls(spec, seed);
        }
    }
}

#[test]
fn no_room_is_an_error_that_says_so_and_loses_nothing() {
    for spec in FILESYSTEMS {
        let stack = stack(spec);
        let file = stack.create("full").unwrap();
        let chunk = Bytes(100_000);
        let mut at = Bytes::ZERO;
        let error = loop {
            match stack.write_nothing(file, at, chunk, false) {
                Ok(()) => at = at.plus(chunk),
                Err(error) => break error,
            }
        };
        assert!(error.is_no_space(), "{spec}: {error}");
        assert!(error.to_string().contains("full"), "{spec}: it names the file: {error}");
        assert!(at.0 + (4 << 20) > stack.total().0, "{spec}: only {at} fitted");
        stack.sync(file, false).unwrap_or_else(|error| panic!("{spec}: promised: {error}"));
        let pages = at.0 / 4096;
        let inner = stack.0.borrow();
        assert!((0..pages).all(|page| inner.fs.is_mapped(file, page)), "{spec}: a page is lost");
        assert_eq!(inner.cache.dirty_pages(), 0, "{spec}");
        drop(inner);
        // A full filesystem can still overwrite, and has room again after a deletion.
        stack.write_nothing(file, Bytes::ZERO, chunk, false).unwrap();
        stack.sync(file, true).unwrap();
        stack.delete("full").unwrap();
        stack.sync_directory().unwrap();
        let next = stack.create("next").unwrap();
        stack.write_nothing(next, Bytes::ZERO, Bytes::from_mib(64), true).unwrap();
    }
}

#[test]
fn names_are_taken_once_and_missing_ones_are_reported() {
    let stack = stack("ext4");
    stack.create("one").unwrap();
    assert!(stack.create("one").unwrap_err().to_string().contains("one"));
    assert!(stack.delete("two").unwrap_err().to_string().contains("two"));
}

#[test]
fn a_device_that_is_too_small_is_refused_with_what_is_needed() {
    for spec in ["ext4", "f2fs"] {
        let service = Service::INSTANT;
        let device = RamDevice::simulated(Bytes::from_mib(8), 1, Bytes::from_mib(1), service, 1);
        let spec = StackSpec::parse(spec).unwrap();
        let refused = Stack::mount(device, spec, &StackModel::default()).unwrap_err();
        let case = refused.to_string();
        assert!(case.contains("MiB at least") && case.contains("8 MiB"), "{case}");
    }
}

#[test]
fn pages_that_could_not_be_written_back_stay_dirty_until_they_can() {
    for spec in ["ext4", "f2fs"] {
        let stack = stack(spec);
        let file = stack.create("test").unwrap();
        stack.sync(file, false).unwrap();
        let length = Bytes(10 * 4096);
        stack.write_nothing(file, Bytes::ZERO, length, false).unwrap();
        // Takes blocks without a call, since calls would not give reserved room away.
        let thief = stack.create("thief").unwrap();
        let mut at = 0;
        let mut inner = stack.0.borrow_mut();
        for size in [1 << 20, 4096] {
            let steal = |at| [(at, size)];
            while inner.fs.write(Nanos::ZERO, thief, &steal(at), Reason::Direct).is_ok() {
                at += size;
            }
        }
        drop(inner);
        let error = stack.sync(file, true).unwrap_err();
        assert!(error.is_no_space(), "{spec}: {error}");
        assert_eq!(stack.0.borrow().cache.dirty_of(file), 10, "{spec}");
        stack.delete("thief").unwrap();
        stack.sync(file, true).unwrap();
        let inner = stack.0.borrow();
        assert_eq!(inner.cache.dirty_of(file), 0, "{spec}");
        assert!((0..10).all(|page| inner.fs.is_mapped(file, page)), "{spec}");
    }
}
