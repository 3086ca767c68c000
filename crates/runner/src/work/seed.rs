/// The seed of one task of a run.
pub(super) fn task_seed(seed: u64, label: &str) -> u64 {
    // FNV-1a: a fixed function of the label, so that a task keeps its stream when others change.
    let hash = label.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_of_a_task_is_the_published_fnv_1a_hash_of_its_label_mixed_with_the_runs_seed() {
        // The hashes of "" and "a" in the reference tables of FNV-1a, 64 bits.
        assert_eq!(task_seed(0, ""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(task_seed(0, "a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(task_seed(0, "foobar"), 0x8594_4171_f739_67e8);
        let mixed = task_seed(3, "a") ^ task_seed(0, "a");
        assert_eq!(mixed, 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(3));
    }
}
