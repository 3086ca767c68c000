use flashlag_workload::Permutation;

/// Where the logical blocks of a fill go: block `n` is the `n`-th that is written.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// Block `n` at place `n`; there are this many.
    Ascending(u64),
    /// Each once, at random.
    Random(RandomRegions),
}

/// Random places, chosen region by region: as others write and delete, the number of blocks that
/// will fit is known only roughly at the start. Each region is filled completely before the next.
#[derive(Clone, Debug)]
pub(super) struct RandomRegions {
    /// The first block of each region, and the order within it.
    regions: Vec<(u64, Permutation)>,
    /// Blocks placed so far.
    end: u64,
    /// Blocks that there are places for.
    limit: u64,
    seed: u64,
}

impl Order {
    /// Random places for at most `limit` blocks, the first `fitting` of them as one region.
    pub fn random(fitting: u64, limit: u64, seed: u64) -> Order {
        let mut order = Order::Random(RandomRegions { regions: Vec::new(), end: 0, limit, seed });
        order.extend(fitting);
        order
    }

    /// The first block that has no place yet.
    #[inline]
    pub fn end(&self) -> u64 {
        match self {
            Order::Ascending(limit) => *limit,
            Order::Random(scattered) => scattered.end,
        }
    }

    /// Adds places for `fitting` more blocks, at least for one.
    #[cold]
    pub fn extend(&mut self, fitting: u64) {
        if let Order::Random(scattered) = self {
            let count = fitting.clamp(1, (scattered.limit - scattered.end).max(1));
            let seed = scattered.seed ^ scattered.end;
            scattered.regions.push((scattered.end, Permutation::new(count, seed)));
            scattered.end += count;
        }
    }

    /// The place of a block.
    #[inline]
    pub fn place(&self, logical: u64) -> u64 {
        let Order::Random(scattered) = self else { return logical };
        // The region is nearly always the last one.
        let found = scattered.regions.iter().rev().find(|(start, _)| *start <= logical);
        let placed = found.and_then(|(start, permutation)| {
            permutation.at(logical - start).map(|place| start + place)
        });
        placed.unwrap_or(logical)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_a_place_of_its_own_over_all_regions() {
        let mut order = Order::random(1000, 1600, 7);
        order.extend(500);
        order.extend(5000);
        assert_eq!(order.end(), 1600);
        let mut places: Vec<u64> = (0..1600).map(|logical| order.place(logical)).collect();
        assert!(places[..1000].iter().all(|place| *place < 1000));
        assert_ne!(places[..3], [0, 1, 2]);
        places.sort_unstable();
        assert!(places.iter().copied().eq(0..1600));
    }

    #[test]
    fn ascending_blocks_stay_where_they_are() {
        let order = Order::Ascending(10);
        assert_eq!((order.place(3), order.end()), (3, 10));
    }
}
