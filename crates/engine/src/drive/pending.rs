use flashlag_device::WaitReading;
use flashlag_units::Nanos;

/// A request in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// The lane that the slot belongs to.
    pub lane: usize,
    pub reads: bool,
    pub intended: Option<Nanos>,
    /// The last reading of the meter when the request was submitted.
    pub reading: Option<WaitReading>,
    /// Whether that reading was taken for this request.
    pub sampled: bool,
    pub block: u64,
    pub generation: u32,
}

/// The block of a free slot.
pub(super) const NO_BLOCK: u64 = u64::MAX;
pub(super) const NOTHING: Pending = Pending {
    lane: 0,
    reads: false,
    intended: None,
    reading: None,
    sampled: false,
    block: NO_BLOCK,
    generation: 0,
};

/// Counts from 1 and, after four thousand million operations, from 1 again; omits 0 and the largest
/// number, which mean "never written" and "unknown".
#[inline]
pub(super) fn next_generation(generation: u32) -> u32 {
    if generation >= u32::MAX - 1 { 1 } else { generation + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_count_from_one_and_leave_out_never_written_and_unknown() {
        assert_eq!([0, 1, 41].map(next_generation), [1, 2, 42]);
        assert_eq!(next_generation(u32::MAX - 2), u32::MAX - 1);
        assert_eq!([u32::MAX - 1, u32::MAX].map(next_generation), [1, 1]);
    }
}
