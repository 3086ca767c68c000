use std::collections::{BTreeMap, VecDeque};

use super::ledger::Sequence;

/// What was in a unit before a command changed it; nothing where nothing was.
#[derive(Debug)]
struct Before {
    sequence: Sequence,
    unit: u64,
    content: Option<Box<[u8]>>,
}

/// What units held before they were changed, for as long as a power cut could bring that back.
///
/// A device that keeps data writes each change down before it makes it; after a power cut every
/// lost unit is given back as it was before the first command that was lost of it.
#[derive(Debug, Default)]
pub struct Undo {
    log: VecDeque<Before>,
}

impl Undo {
    /// The command with that number is about to change a unit, which holds `content`.
    pub fn note(&mut self, sequence: u64, unit: u64, content: Option<Box<[u8]>>) {
        self.log.push_back(Before { sequence, unit, content });
    }

    /// No command before this one can be lost any more.
    pub fn forget_before(&mut self, sequence: u64) {
        while self.log.pop_front_if(|before| before.sequence < sequence).is_some() {}
    }

    /// What units held before the commands that were lost: pairs of a unit and the first command
    /// that was lost of it. Empties the log. Units of which no change is on record are left out.
    pub fn revert(
        &mut self,
        lost: impl IntoIterator<Item = (u64, u64)>,
    ) -> Vec<(u64, Option<Box<[u8]>>)> {
        let lost: BTreeMap<u64, Sequence> = lost.into_iter().collect();
        let mut reverted = BTreeMap::new();
        for before in std::mem::take(&mut self.log) {
            let from = lost.get(&before.unit);
            if from.is_some_and(|from| before.sequence >= *from) {
                reverted.entry(before.unit).or_insert(before.content);
            }
        }
        reverted.into_iter().collect()
    }

    /// Changes on record.
    pub fn len(&self) -> usize {
        self.log.len()
    }

    /// Whether none is.
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
