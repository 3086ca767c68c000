//! The addresses of a zoned device. NBD knows no zones: its client, QEMU's NVMe, makes them, and has each at a
//! multiple of a power of two, while the device's own zones follow one another.

use flashlag_device::ZoneGeometry;

/// A part of a range of the client's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it is on the device; `None` between the end of a zone and the start of the next.
    pub(super) at: Option<u64>,
    pub(super) length: u64,
}

/// Divides a range of the client's addresses at the ends of zones.
pub(super) fn pieces(zones: ZoneGeometry, offset: u64, length: u64) -> impl Iterator<Item = Piece> {
    let (mut from, end) = (offset, offset.saturating_add(length));
    std::iter::from_fn(move || {
        if from >= end {
            return None;
        }
        let (at, left) = place(&zones, from);
        let length = left.min(end - from);
        from += length;
        Some(Piece { at, length })
    })
}

/// Where an address of the client is on the device, and the bytes until that changes.
fn place(zones: &ZoneGeometry, from: u64) -> (Option<u64>, u64) {
    let (first, size, stride) = (zones.first.0, zones.size.0.max(1), zones.stride().0.max(1));
    let Some(within) = from.checked_sub(first) else {
        return (Some(from), first - from);
    };
    let (zone, at) = (within / stride, within % stride);
    match size.checked_sub(at) {
        Some(left) if left > 0 => (Some(first + zone * size + at), left),
        _ => (None, stride - at),
    }
}

#[cfg(test)]
mod tests {
    use flashlag_units::Bytes;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_byte_of_the_device_has_one_address_and_the_rest_has_none(
            first in 0_u64..40, size in 1_u64..20, count in 1_u32..6,
            offset in 0_u64..200, length in 0_u64..200,
        ) {
            let zones = ZoneGeometry { first: Bytes(first), size: Bytes(size), count, open: 1 };
            let stride = zones.stride().0;
            prop_assert!(stride >= size && stride < 2 * size && stride.is_power_of_two());
            let end = zones.end().0;
            let mut addresses = Vec::new();
            for piece in pieces(zones, 0, end) {
                addresses.extend((0..piece.length).map(|byte| piece.at.map(|at| at + byte)));
            }
            let mapped: Vec<u64> = addresses.iter().flatten().copied().collect();
            let whole: Vec<u64> = (0..first + u64::from(count) * size).collect();
            prop_assert_eq!(mapped, whole);
            prop_assert_eq!(addresses.len() as u64, end);
            // Any range is divided as the whole is.
            let (from, until) = (offset.min(end), (offset + length).min(end));
            let part: Vec<Option<u64>> = pieces(zones, from, until - from)
                .flat_map(|piece| (0..piece.length).map(move |byte| piece.at.map(|at| at + byte)))
                .collect();
            prop_assert_eq!(&part[..], &addresses[from as usize..until as usize]);
        }
    }
}
