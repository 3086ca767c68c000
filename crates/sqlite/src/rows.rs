use std::ops::RangeInclusive;

use flashlag_spec::scenario::Statement;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Choice of the row of each save. All databases of a job hold the same rows, numbered from 1.
///
/// Inserts continue the numbers; updates choose uniformly among all rows; deletes choose uniformly
/// among those left, which takes 8 bytes of memory per row.
#[derive(Debug)]
pub(crate) struct Rows {
    statement: Statement,
    random: Pcg64Mcg,
    /// Rows before the first save; deleted rows are put back up to this number.
    full: u64,
    next: i64,
    /// For deletes: the rows left, in random order.
    left: Vec<i64>,
}

impl Rows {
    pub(crate) fn new(statement: Statement, full: u64, seed: u64) -> Rows {
        let random = Pcg64Mcg::seed_from_u64(seed);
        Rows { statement, random, full, next: 1, left: Vec::new() }
    }

    /// Adds up to `most` of the missing rows and returns their numbers; empty if none is missing.
    /// If a row can't be written, the job must end.
    pub(crate) fn add(&mut self, most: u64) -> RangeInclusive<i64> {
        let present = match self.statement {
            Statement::Delete => self.left.len() as u64,
            Statement::Insert | Statement::Update => (self.next - 1) as u64,
        };
        let count = self.full.saturating_sub(present).min(most);
        let first = self.next;
        self.next = self.next.saturating_add_unsigned(count);
        let added = first..=self.next - 1;
        if self.statement == Statement::Delete {
            self.left.extend(added.clone());
        }
        added
    }

    /// Whether rows should be put back, because half of them are gone: a table that shrinks to
    /// nothing would no longer be comparable.
    pub(crate) fn run_out(&self) -> bool {
        self.statement == Statement::Delete && self.left.len() as u64 <= self.full / 2
    }

    /// Row of the next save; `None` if no row is left.
    pub(crate) fn next(&mut self) -> Option<i64> {
        match self.statement {
            Statement::Insert => {
                let row = self.next;
                self.next = row.checked_add(1)?;
                Some(row)
            }
            Statement::Update => {
                let below = self.below((self.next - 1) as u64)?;
                Some(1 + below as i64)
            }
            Statement::Delete => {
                let index = self.below(self.left.len() as u64)?;
                Some(self.left.swap_remove(index as usize))
            }
        }
    }

    /// A number below `bound`: the upper half of a product (Lemire, 2019).
    fn below(&mut self, bound: u64) -> Option<u64> {
        let random = self.random.next_u64();
        (bound > 0).then(|| ((u128::from(random) * u128::from(bound)) >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(statement: Statement, full: u64) -> Rows {
        let mut rows = Rows::new(statement, full, 7);
        while !rows.add(3).is_empty() {}
        rows
    }

    #[test]
    fn inserts_number_on_after_the_first_rows() {
        let mut rows = filled(Statement::Insert, 10);
        assert_eq!((rows.next(), rows.next()), (Some(11), Some(12)));
    }

    #[test]
    fn updates_reach_every_row_and_no_other() {
        let mut rows = filled(Statement::Update, 10);
        let mut seen: Vec<i64> = (0..1000).filter_map(|_| rows.next()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (1..=10).collect::<Vec<_>>());
    }

    #[test]
    fn deletes_take_each_row_once_and_never_run_out() {
        for full in [1, 2, 3, 10, 100] {
            let mut rows = filled(Statement::Delete, full);
            let mut seen = std::collections::BTreeSet::new();
            for save in 0..1000 {
                if rows.run_out() {
                    assert!(!rows.add(u64::MAX).is_empty(), "{full} rows, save {save}");
                }
                let row = rows.next().expect("topped up");
                assert!(seen.insert(row), "row {row} twice of {full}");
            }
        }
    }

    #[test]
    fn without_rows_there_is_nothing_to_update() {
        assert_eq!(Rows::new(Statement::Update, 0, 1).next(), None);
        assert_eq!(Rows::new(Statement::Delete, 0, 1).next(), None);
    }
}
