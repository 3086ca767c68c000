//! Addresses and permutations stay within their span, and a permutation leaves nothing out.

use flashlag_spec::scenario::Pattern;
use flashlag_units::Bytes;
use flashlag_workload::{Addresses, Permutation};
use proptest::prelude::*;

proptest! {
    #[test]
    fn addresses_are_whole_blocks_within_the_span(
        seed: u64,
        block in 1u64..1 << 22,
        span in 1u64..1 << 40,
        random: bool,
    ) {
        let pattern = if random { Pattern::Random } else { Pattern::Sequential };
        let mut addresses = Addresses::new(pattern, Bytes(block), Bytes(span), seed);
        for _ in 0..200 {
            let offset = addresses.next_block() * block;
            prop_assert!(offset + block <= span.max(block), "{offset} + {block} > {span}");
        }
    }

    #[test]
    fn a_permutation_gives_each_value_once(seed: u64, count in 0u64..5000) {
        let permutation = Permutation::new(count, seed);
        let mut seen = vec![false; count as usize];
        for index in 0..count {
            let value = permutation.at(index).expect("below the count") as usize;
            prop_assert!(!std::mem::replace(&mut seen[value], true), "{value} twice");
        }
        prop_assert_eq!(permutation.at(count), None);
    }

    #[test]
    fn a_large_permutation_stays_in_range_and_repeats_nothing(
        seed: u64,
        count in 1u64 << 32..u64::MAX,
    ) {
        let permutation = Permutation::new(count, seed);
        let mut values: Vec<u64> = (0..200).filter_map(|index| permutation.at(index)).collect();
        prop_assert!(values.iter().all(|value| *value < count));
        values.sort_unstable();
        values.dedup();
        prop_assert_eq!(values.len(), 200);
    }
}

#[test]
fn sequential_addresses_begin_again_at_the_end() {
    let mut addresses = Addresses::new(Pattern::Sequential, Bytes(100), Bytes(350), 0);
    let blocks: Vec<u64> = (0..5).map(|_| addresses.next_block()).collect();
    assert_eq!(blocks, [0, 1, 2, 0, 1]);
}

#[test]
fn random_addresses_reach_every_block_about_equally_often() {
    let mut addresses = Addresses::new(Pattern::Random, Bytes(4096), Bytes(4096 * 64), 9);
    let mut hits = [0u32; 64];
    for _ in 0..64_000 {
        hits[addresses.next_block() as usize] += 1;
    }
    // Each is binomial around 1,000 with a deviation of 31; six of them are 190.
    assert!(hits.iter().all(|hits| (810..1190).contains(hits)), "seed 9: {hits:?}");
}

#[test]
fn a_permutation_looks_random() {
    let permutation = Permutation::new(10_000, 4);
    let ascents = (0..9_999).filter(|index| permutation.at(*index) < permutation.at(index + 1));
    // Half of 9,999 with a deviation of 29.
    assert!((4_825..5_175).contains(&ascents.count()), "seed 4");
}

#[test]
fn the_same_seed_gives_the_same_addresses_on_every_machine() {
    let mut addresses = Addresses::new(Pattern::Random, Bytes(4096), Bytes::from_mib(100), 42);
    let offsets: Vec<u64> = (0..4).map(|_| addresses.next_block()).collect();
    assert_eq!(offsets, FIRST_BLOCKS_OF_SEED_42);
}

/// Written down once; a change here changes what every stored seed means.
const FIRST_BLOCKS_OF_SEED_42: [u64; 4] = [14_683, 3_412, 9_111, 5_770];
