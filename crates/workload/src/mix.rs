/// Mixes 64 bits so that the result looks random: the finalizer of SplitMix64 (Steele, Lea and
/// Flood, OOPSLA 2014), a bijection.
#[inline]
pub(crate) const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A number below `bound` from 64 random bits: the upper half of their product (Lemire, 2019). It
/// deviates from uniform by at most `bound / 2^64`, which no sample can show.
#[inline]
pub(crate) const fn below(random: u64, bound: u64) -> u64 {
    ((random as u128 * bound as u128) >> 64) as u64
}
