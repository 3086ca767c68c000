//! Which sectors of the file are free.

/// A map of sectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// True where a record lies.
    used: Vec<bool>,
    /// No sector before this one is free.
    first: usize,
}

impl Room {
    /// A file of that many sectors without records.
    pub fn of(sectors: u64) -> Room {
        Room { used: vec![false; usize::try_from(sectors).unwrap_or(0)], first: 0 }
    }

    /// Number of sectors.
    pub fn len(&self) -> u64 {
        self.used.len() as u64
    }

    /// Number of free sectors.
    pub fn free(&self) -> u64 {
        self.used.iter().filter(|used| !**used).count() as u64
    }

    /// Adds free sectors at the end.
    pub fn grow(&mut self, sectors: u64) {
        let length = self.used.len() + usize::try_from(sectors).unwrap_or(0);
        self.used.resize(length, false);
    }

    /// Marks sectors as used or free.
    pub fn mark(&mut self, from: u64, sectors: u64, used: bool) {
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(self.used.len());
        let to = from.saturating_add(usize::try_from(sectors).unwrap_or(0)).min(self.used.len());
        self.used[from..to].fill(used);
        if !used {
            self.first = self.first.min(from);
        }
    }

    /// The first free run of that many sectors.
    pub fn find(&mut self, sectors: u64) -> Option<u64> {
        let wanted = usize::try_from(sectors).ok()?;
        let unused = self.used.iter().skip(self.first).position(|used| !used);
        self.first = unused.map_or(self.used.len(), |from| self.first + from);
        let mut free = 0;
        for (index, used) in self.used.iter().enumerate().skip(self.first) {
            free = if *used { 0 } else { free + 1 };
            if free == wanted {
                return Some((index + 1 - wanted) as u64);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_where_enough_sectors_are_free_together() {
        let mut room = Room::of(6);
        room.mark(1, 1, true);
        assert_eq!((room.find(1), room.find(2), room.find(5)), (Some(0), Some(2), None));
        room.mark(1, 1, false);
        room.mark(4, 9, true);
        assert_eq!((room.find(4), room.find(5), room.free()), (Some(0), None, 4));
        room.grow(2);
        assert_eq!((room.len(), room.find(2)), (8, Some(0)));
    }
}
