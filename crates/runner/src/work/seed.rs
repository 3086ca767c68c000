/// The seed of one task of a run.
pub(super) fn task_seed(seed: u64, label: &str) -> u64 {
    // FNV-1a: a fixed function of the label, so that a task keeps its stream when others change.
    let hash = label.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
