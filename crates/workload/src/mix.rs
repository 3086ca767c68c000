/// Turns any 64 bits into 64 that look random: the finalizer of SplitMix64 (Steele, Lea and Flood,
/// OOPSLA 2014), a bijection.
#[inline]
pub(crate) const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A number below `bound`, from 64 random bits: their product's upper half (Lemire, 2019). Off
/// from uniform by at most `bound / 2^64`, which no sample will ever show.
#[inline]
pub(crate) const fn below(random: u64, bound: u64) -> u64 {
    ((random as u128 * bound as u128) >> 64) as u64
}
