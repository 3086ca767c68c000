use std::collections::{BTreeMap, VecDeque};

use flashlag_units::IntoOrder;

use super::ledger::Sequence;

/// Content of a unit before a change; `None` if it was empty.
#[derive(Debug)]
struct Before {
    sequence: Sequence,
    unit: u64,
    content: Option<Box<[u8]>>,
}

/// A log of earlier contents of units, kept for as long as a power cut could bring them back.
///
/// A device that keeps data notes the old content before each change. After a power cut every
/// reverted unit gets the content that it had before the first lost command.
#[derive(Debug, Default)]
pub struct Undo {
    log: VecDeque<Before>,
}

impl Undo {
    /// Notes the content of a unit before the command with number `sequence` changes it.
    pub fn note(&mut self, sequence: u64, unit: u64, content: Option<Box<[u8]>>) {
        self.log.push_back(Before { sequence, unit, content });
    }

    /// Drops entries of commands before `sequence`, which can't be lost any more.
    pub fn forget_before(&mut self, sequence: u64) {
        while self.log.pop_front_if(|before| before.sequence < sequence).is_some() {}
    }

    /// Empties the log and returns the contents to restore. `lost` pairs each reverted unit with
    /// its first lost command; units without an entry are left out.
    pub fn revert(
        &mut self,
        lost: impl IntoIterator<Item = (u64, u64)>,
    ) -> Vec<(u64, Option<Box<[u8]>>)> {
        let lost: BTreeMap<u64, Sequence> = lost.into_iter().into_map();
        let mut reverted = BTreeMap::new();
        for before in std::mem::take(&mut self.log) {
            let from = lost.get(&before.unit);
            if from.is_some_and(|from| before.sequence >= *from) {
                reverted.entry(before.unit).or_insert(before.content);
            }
        }
        reverted.into_iter().collect()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.log.len()
    }

    /// Whether the log is empty.
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_goes_back_to_before_the_first_command_that_was_lost() {
        let mut undo = Undo::default();
        undo.note(1, 5, None);
        undo.note(2, 5, Some(Box::new([1])));
        undo.note(2, 6, None);
        undo.note(3, 5, Some(Box::new([2])));
        undo.forget_before(2);
        assert_eq!(undo.len(), 3);
        let reverted = undo.revert([(5, 2), (9, 1)]);
        assert_eq!(reverted, [(5, Some(Box::from([1])))]);
        assert!(undo.is_empty());
    }
}
