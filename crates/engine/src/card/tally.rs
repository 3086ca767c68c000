use std::collections::BTreeMap;

use flashlag_schema::{CardCheck, CardHolds, CardStretch};
use flashlag_units::Bytes;
use flashlag_workload::{Damage, Payload};

use super::CHUNK;

/// A sector, which has a stamp of its own.
const SECTOR: usize = 512;
/// Stretches that are kept.
const KEPT: usize = 64;
/// A sector with more wrong bits than a sixteenth is something else.
const FLIPPED_AT_MOST: u64 = (SECTOR as u64 * 8) / 16;

/// What was found at a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    holds: CardHolds,
    from: Option<Bytes>,
    bits: Option<u64>,
}

/// Compares what was read with what was written, and counts what else was there.
pub(super) struct Tally {
    payload: Payload,
    generation: u32,
    /// Bytes by the distance to the address whose data was found, in mebibytes.
    distances: BTreeMap<u64, u64>,
    /// The last stretch, which the next sector may continue.
    open: Option<CardStretch>,
}

impl Tally {
    /// Goes on with what an earlier process found: the next sector may continue its last stretch.
    pub fn of(seed: u64, check: &mut CardCheck) -> Tally {
        let of_repeats = |distance: Bytes| (distance.0 / CHUNK.0, check.lost.other_address.0);
        let distances = check.repeats_after.map(of_repeats).into_iter().collect();
        let listed = check.stretches_seen == check.stretches.len() as u64;
        let open = if listed { check.stretches.pop() } else { None };
        check.stretches_seen -= u64::from(open.is_some());
        Tally { payload: Payload::new(seed), generation: check.generation, distances, open }
    }

    /// Counts what was read at an address.
    pub fn add(&mut self, check: &mut CardCheck, address: Bytes, read: &[u8]) {
        let length = Bytes(read.len() as u64);
        if self.payload.check(read, address, self.generation).is_ok() {
            return self.right(check, length);
        }
        for (index, sector) in (0..).zip(read.chunks(SECTOR)) {
            let at = address.plus(Bytes(index * SECTOR as u64));
            let size = Bytes(sector.len() as u64);
            match self.look(sector, at) {
                None => self.right(check, size),
                Some(found) => self.wrong(check, (at, size), found),
            }
        }
    }

    /// Counts what could not be read.
    pub fn unreadable(&mut self, check: &mut CardCheck, address: Bytes, length: Bytes) {
        let found = Found { holds: CardHolds::Unreadable, from: None, bits: None };
        self.wrong(check, (address, length), found);
    }

    /// Also says what is known of the last stretch, and after which distance addresses repeat.
    pub fn tell(&self, check: &mut CardCheck) {
        list(check, self.open);
        let all: u64 = self.distances.values().sum();
        let frequent = self.distances.iter().find(|(_, bytes)| **bytes >= all.div_ceil(50));
        if let Some((mebibytes, _)) = frequent {
            check.repeats_after = Some(Bytes::from_mib(*mebibytes));
        }
    }

    fn right(&mut self, check: &mut CardCheck, length: Bytes) {
        check.checked_bytes = check.checked_bytes.plus(length);
        check.proven_bytes = check.proven_bytes.plus(length);
        if check.first_lost.is_none() {
            check.proven_before_bytes = check.proven_bytes;
        }
    }

    fn wrong(&mut self, check: &mut CardCheck, (at, length): (Bytes, Bytes), found: Found) {
        check.checked_bytes = check.checked_bytes.plus(length);
        check.first_lost.get_or_insert(at);
        let lost = &mut check.lost;
        let of = match found.holds {
            CardHolds::Zeros | CardHolds::Ones => &mut lost.blank,
            CardHolds::OtherAddress => &mut lost.other_address,
            CardHolds::Old => &mut lost.old,
            CardHolds::Flipped => &mut lost.flipped,
            CardHolds::Foreign => &mut lost.foreign,
            CardHolds::Unreadable => &mut lost.unreadable,
        };
        *of = of.plus(length);
        if let Some(from) = found.from {
            let apart = Bytes(from.0.abs_diff(at.0).saturating_add(CHUNK.0 / 2));
            *self.distances.entry(apart.0 / CHUNK.0).or_default() += length.0;
        }
        self.stretch(check, (at, length), found);
    }

    /// Continues the last stretch, or begins another.
    fn stretch(&mut self, check: &mut CardCheck, (at, length): (Bytes, Bytes), found: Found) {
        if let Some(open) = &mut self.open {
            let follows = open.offset.plus(open.length) == at && open.holds == found.holds;
            let shifted = open.from.map(|from| from.plus(open.length));
            if follows && shifted == found.from {
                open.length = open.length.plus(length);
                open.bits = open.bits.zip(found.bits).map(|(some, more)| some + more);
                return;
            }
        }
        list(check, self.open.take());
        let Found { holds, from, bits } = found;
        self.open = Some(CardStretch { offset: at, length, holds, from, bits });
    }

    /// What a sector holds instead of its own data; `None` if that is there.
    fn look(&self, sector: &[u8], at: Bytes) -> Option<Found> {
        let damage = self.payload.check(sector, at, self.generation).err()?.found;
        let plain = |holds| Found { holds, from: None, bits: None };
        Some(match damage {
            Damage::Zero => plain(CardHolds::Zeros),
            _ if sector.iter().all(|byte| *byte == 0xff) => plain(CardHolds::Ones),
            Damage::Misplaced(stamp) if stamp.generation == self.generation => Found {
                holds: CardHolds::OtherAddress,
                from: Some(Bytes(stamp.offset)),
                bits: None,
            },
            Damage::Stale(_) | Damage::Torn(_) | Damage::Misplaced(_) => plain(CardHolds::Old),
            Damage::Corrupt | Damage::Foreign => {
                let bits = self.wrong_bits(sector, at);
                if bits <= FLIPPED_AT_MOST {
                    Found { holds: CardHolds::Flipped, from: None, bits: Some(bits) }
                } else {
                    plain(CardHolds::Foreign)
                }
            }
        })
    }

    fn wrong_bits(&self, sector: &[u8], at: Bytes) -> u64 {
        let mut expected = [0; SECTOR];
        self.payload.fill(&mut expected[..sector.len()], at, self.generation);
        let wrong = sector.iter().zip(&expected).map(|(found, right)| (found ^ right).count_ones());
        wrong.map(u64::from).sum()
    }
}

/// Counts a stretch that ended, and lists it among the first.
fn list(check: &mut CardCheck, stretch: Option<CardStretch>) {
    let Some(stretch) = stretch else { return };
    check.stretches_seen += 1;
    if check.stretches.len() < KEPT {
        check.stretches.push(stretch);
    }
}
