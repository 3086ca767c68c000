use super::shape::Shape;
use crate::address::{Die, Slot};
use crate::nand::DieMoves;
use serde::{Deserialize, Serialize};

/// Counts the page reads per die for the valid slots of a block, 64 slots at a time.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reads {
    /// The slots of a word on each die, if that is the same for every word; otherwise empty.
    masks: Vec<u64>,
    /// Number of halvings that fold the slots of a page into its first one, and the mask of first
    /// slots.
    folds: u32,
    firsts: u64,
}

impl Reads {
    pub(super) fn new(shape: &Shape) -> Reads {
        let turn = u64::from(shape.dies) * u64::from(shape.program);
        let regular = shape.dies == 1 || (turn <= 64 && 64 % turn == 0);
        if !regular || !shape.group.is_power_of_two() || shape.group > 64 {
            return Reads { masks: Vec::new(), folds: 0, firsts: 0 };
        }
        let set = |is_in: &dyn Fn(u32) -> bool| {
            (0..64).filter(|slot| is_in(*slot)).fold(0u64, |word, slot| word | 1 << slot)
        };
        let die = |die: u32| set(&|slot| shape.place(Slot(slot)).0 == Die(die));
        let masks = match shape.dies {
            1 => vec![u64::MAX],
            dies => (0..dies).map(die).collect(),
        };
        let firsts = set(&|slot| slot % shape.group == 0);
        Reads { masks, folds: shape.group.ilog2(), firsts }
    }

    /// Adds the reads for the valid slots of a word.
    #[inline]
    pub(super) fn count(&self, shape: &Shape, word: u32, bits: u64, moves: &mut [DieMoves]) {
        if self.masks.is_empty() {
            return count_each(shape, word, bits, moves);
        }
        for (mask, work) in self.masks.iter().zip(moves) {
            let mut there = bits & mask;
            work.bytes += u64::from(there.count_ones()) * shape.unit_bytes;
            for fold in 0..self.folds {
                there |= there >> (1 << fold);
            }
            work.reads += (there & self.firsts).count_ones();
        }
    }
}

fn count_each(shape: &Shape, word: u32, bits: u64, moves: &mut [DieMoves]) {
    let (mut bits, mut last) = (bits, u32::MAX);
    while bits != 0 {
        let slot = word * 64 + bits.trailing_zeros();
        bits &= bits - 1;
        let work = &mut moves[(slot / shape.program % shape.dies) as usize];
        work.bytes += shape.unit_bytes;
        if slot / shape.group != last {
            last = slot / shape.group;
            work.reads += 1;
        }
    }
}
