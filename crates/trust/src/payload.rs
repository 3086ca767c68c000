//! Could the device have written less than it was given?
//!
//! Some SSD controllers, and filesystems with compression, compress data; some deduplicate it. A
//! sample of the payload must pass two tests:
//! - The entropy of its bytes must be above 7.99 bits (uniform random data of 64 KiB has 7.997 ±
//!   0.0003: Miller-Madow, 8 − 255/(2n·ln 2)).
//! - At most 5 % of its aligned 8-byte words may have occurred before (a stamp in each block
//!   repeats a seed; that many random words do not collide). This finds repeated blocks, and
//!   patterns that have every byte value equally often.

use std::collections::HashSet;

use flashlag_schema::{Check, CheckId};
use flashlag_spec::Operation;

use crate::cache::compresses;
use crate::evidence::{Evidence, reads};
use crate::finding::{Finding, combine, percent, share};

const CLAIM: &str = "The payload can't be compressed or deduplicated away";
const LEAST_SAMPLE: usize = 64 << 10;
const LEAST_BITS: f64 = 7.99;
const MOST_REPEATED: f64 = 0.05;

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let mut writes = evidence.phases.iter().filter(|phase| !reads(phase));
    writes.find(|phase| phase.operation != Operation::Save)?;
    let finding = match evidence.payload.value() {
        Some(sample) => judge_sample(evidence, sample),
        None => {
            let reason = evidence.payload.reason().unwrap_or_default();
            Finding::unknown(None, format!("No sample: {reason}."), "Run it again.")
        }
    };
    combine(CheckId::PayloadIncompressible, CLAIM, vec![finding])
}

fn judge_sample(evidence: &Evidence<'_>, sample: &[u8]) -> Finding {
    let kib = sample.len() >> 10;
    if sample.len() < LEAST_SAMPLE {
        let detail = format!("A sample of {kib} KiB is too small to tell.");
        return Finding::unknown(None, detail, "Run it with a larger span.");
    }
    let (bits, repeated) = (entropy_bits(sample), repeated_words(sample));
    let detail = format!(
        "{kib} KiB of it: {bits:.3} bits of entropy a byte, {} of its words repeat.{}",
        percent(repeated),
        if compresses(evidence) { " The filesystem may compress, in vain." } else { "" }
    );
    if bits < LEAST_BITS || repeated > MOST_REPEATED {
        let advice = "This is a bug of the payload generator: report it with the run file.";
        return Finding::fail(None, detail, advice);
    }
    Finding::pass(None, detail)
}

/// Shannon's entropy of the byte values, in bits.
fn entropy_bits(sample: &[u8]) -> f64 {
    let mut counts = [0u64; 256];
    sample.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let occupied = counts.iter().filter(|count| **count > 0);
    occupied.map(|count| share(*count, sample.len() as u64)).map(|p| -p * p.log2()).sum()
}

/// The share of aligned 8-byte words that occurred before in the sample.
fn repeated_words(sample: &[u8]) -> f64 {
    let mut seen = HashSet::new();
    let words = sample.chunks_exact(8);
    let total = words.len() as u64;
    let repeated = words.filter(|word| !seen.insert(*word)).count() as u64;
    share(repeated, total)
}

#[cfg(test)]
mod tests {
    use flashlag_schema::CheckStatus;
    use flashlag_spec::Reading;

    use super::*;
    use crate::testing::{Case, random_bytes};

    fn with(sample: Vec<u8>) -> Option<CheckStatus> {
        let mut case = Case::quiet();
        case.payload = Reading::Value(sample);
        case.status(check)
    }

    #[test]
    fn random_bytes_pass_also_with_a_stamp_in_each_block() {
        let mut sample = random_bytes(256 << 10);
        assert_eq!(with(sample.clone()), Some(CheckStatus::Pass));
        for block in sample.chunks_mut(4096) {
            block[..16].copy_from_slice(b"flashlag seed 42");
        }
        assert_eq!(with(sample), Some(CheckStatus::Pass));
    }

    #[test]
    fn zeroes_text_repeated_blocks_and_counters_fail() {
        assert_eq!(with(vec![0; 1 << 18]), Some(CheckStatus::Fail));
        assert_eq!(with(b"the quick brown fox ".repeat(8000)), Some(CheckStatus::Fail));
        assert_eq!(with(random_bytes(4096).repeat(64)), Some(CheckStatus::Fail));
        let counting: Vec<u8> = (0..1u32 << 18).map(|index| index as u8).collect();
        assert_eq!(with(counting), Some(CheckStatus::Fail));
    }

    #[test]
    fn no_sample_or_a_small_one_is_unknown() {
        assert_eq!(with(random_bytes(4096)), Some(CheckStatus::Unknown));
        let mut case = Case::quiet();
        case.payload = Reading::unavailable("it was not kept");
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn a_sample_of_64_kib_is_judged_and_a_byte_less_is_unknown() {
        assert_eq!(with(random_bytes(64 << 10)), Some(CheckStatus::Pass));
        let mut case = Case::quiet();
        case.payload = Reading::Value(random_bytes((64 << 10) - 1));
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Unknown);
        assert_eq!(found.detail, "A sample of 63 KiB is too small to tell.");
    }

    /// The entropy another way: log2(n) − Σ c·log2(c) / n.
    fn entropy_by_counts(sample: &[u8]) -> f64 {
        let mut sorted = sample.to_vec();
        sorted.sort_unstable();
        let n = sample.len() as f64;
        let terms = sorted.chunk_by(|a, b| a == b).map(|same| same.len() as f64);
        n.log2() - terms.map(|count| count * count.log2()).sum::<f64>() / n
    }

    #[test]
    fn a_payload_fails_with_the_first_byte_that_takes_it_below_7_99_bits() {
        // The first byte of a number of 8-byte words becomes zero: no word repeats.
        let random = random_bytes(128 << 10);
        let spoilt = |words: usize| {
            let mut sample = random.clone();
            sample.chunks_mut(8).take(words).for_each(|word| word[0] = 0);
            sample
        };
        let (mut fine, mut poor) = (0, 16 << 10);
        while poor - fine > 1 {
            let middle = (fine + poor) / 2;
            let enough = entropy_by_counts(&spoilt(middle)) >= LEAST_BITS;
            *(if enough { &mut fine } else { &mut poor }) = middle;
        }
        assert_eq!(LEAST_BITS, 7.99);
        assert_eq!(with(spoilt(fine)), Some(CheckStatus::Pass), "{fine}");
        assert_eq!(with(spoilt(poor)), Some(CheckStatus::Fail), "{poor}");
    }

    #[test]
    fn one_word_in_twenty_may_repeat_and_not_one_more() {
        for (repeated, status) in [(500, CheckStatus::Pass), (501, CheckStatus::Fail)] {
            // 10,000 words, of which the last ones are those at the start.
            let mut sample = random_bytes(80_000);
            let (start, end) = sample.split_at_mut(80_000 - repeated * 8);
            end.copy_from_slice(&start[..repeated * 8]);
            assert_eq!(with(sample), Some(status), "{repeated}");
        }
    }
}
