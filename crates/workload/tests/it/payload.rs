//! A payload proves every byte, and does not compress.

use std::collections::HashSet;

use flashlag_units::Bytes;
use flashlag_workload::{Damage, Payload};
use proptest::prelude::*;

fn block(payload: &Payload, offset: u64, generation: u32, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    payload.fill(&mut bytes, Bytes(offset), generation);
    bytes
}

proptest! {
    #[test]
    fn what_was_filled_checks(
        seed: u64, offset: u64, generation: u32, length in 0usize..5000,
    ) {
        let payload = Payload::new(seed);
        let bytes = block(&payload, offset, generation, length);
        prop_assert_eq!(payload.check(&bytes, Bytes(offset), generation), Ok(()));
    }

    #[test]
    fn any_flipped_bit_is_found_where_it_is(
        seed: u64, offset in 0u64..1 << 50, generation: u32, length in 1usize..5000, at: u64,
    ) {
        let payload = Payload::new(seed);
        let mut bytes = block(&payload, offset, generation, length);
        let bit = at % (length as u64 * 8);
        bytes[bit as usize / 8] ^= 1 << (bit % 8);
        let wrong = payload.check(&bytes, Bytes(offset), generation).expect_err("it is wrong");
        prop_assert_eq!(wrong.at, Bytes(offset + bit / 8));
    }

    #[test]
    fn another_seed_offset_or_generation_is_another_content(
        seed: u64, offset in 0u64..1 << 50, generation in 0u32..u32::MAX,
    ) {
        let payload = Payload::new(seed);
        let bytes = block(&payload, offset, generation, 512);
        let others = [
            block(&Payload::new(seed ^ 1), offset, generation, 512),
            block(&payload, offset + 512, generation, 512),
            block(&payload, offset, generation + 1, 512),
        ];
        for other in others {
            let words = bytes.chunks_exact(8).zip(other.chunks_exact(8));
            prop_assert_eq!(words.filter(|(one, other)| one == other).count(), 0);
        }
    }
}

#[test]
fn what_is_there_instead_is_reported() {
    let payload = Payload::new(3);
    let good = block(&payload, 8192, 5, 4096);
    let old = block(&payload, 8192, 4, 4096);
    let found = |bytes: &[u8]| payload.check(bytes, Bytes(8192), 5).expect_err("wrong").found;
    assert_eq!(found(&[0; 4096]), Damage::Zero);
    assert!(matches!(found(&old), Damage::Stale(stamp) if stamp.generation == 4));
    let torn = [&good[..1024], &old[1024..]].concat();
    assert!(matches!(found(&torn), Damage::Torn(stamp) if stamp.generation == 4));
    let elsewhere = block(&payload, 4096, 5, 4096);
    assert!(matches!(found(&elsewhere), Damage::Misplaced(stamp) if stamp.offset == 4096));
    let foreign = block(&Payload::new(4), 8192, 5, 4096);
    assert_eq!(found(&foreign), Damage::Foreign);
    let mut corrupt = good.clone();
    corrupt[100] ^= 1;
    assert_eq!(found(&corrupt), Damage::Corrupt);
}

#[test]
fn no_eight_bytes_repeat_in_a_mebibyte() {
    let bytes = block(&Payload::new(1), 0, 1, 1 << 20);
    let mut seen = HashSet::with_capacity(1 << 17);
    let repeats = bytes.chunks_exact(8).filter(|word| !seen.insert(*word)).count();
    assert_eq!(repeats, 0, "a compressor would find these");
}

#[test]
fn every_byte_value_is_about_as_frequent() {
    let bytes = block(&Payload::new(1), 0, 1, 1 << 20);
    let mut counts = [0u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    // 4,096 each, with a deviation of 64; an entropy coder saves nothing on a few percent.
    assert!(counts.iter().all(|count| (3_600..4_600).contains(count)), "{counts:?}");
}
