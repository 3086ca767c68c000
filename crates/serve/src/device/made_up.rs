//! Devices that lose data as bad cards do, without an error.

use rustix::io::Errno;

use super::request::{Refusal, Work};
use crate::control::{FaultKind, Loses};

/// A sector, in which a bit is flipped.
const SECTOR: u64 = 512;

/// A way of losing data, and the addresses at which it is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeUp {
    kind: Kind,
    from: u64,
    to: u64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Addresses from `from` on are taken modulo `from`.
    Wraps,
    /// What is written is lost.
    Loses(Loses),
    /// A bit of each sector is flipped in what is read.
    Flips,
}

impl MadeUp {
    /// The fault, if it is one that loses data, at addresses from `from` up to `to`.
    pub(super) fn of(kind: FaultKind, from: u64, to: u64) -> Option<MadeUp> {
        let kind = match kind {
            FaultKind::Wrap => Kind::Wraps,
            FaultKind::Lose(loses) => Kind::Loses(loses),
            FaultKind::Flip => Kind::Flips,
            _ => return None,
        };
        Some(MadeUp { kind, from, to })
    }

    /// Does a request as this device does: `honestly` does one that reaches what there is.
    pub(super) fn perform(
        self,
        offset: u64,
        work: &mut Work<'_>,
        honestly: &mut dyn FnMut(u64, &mut Work<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        if matches!(work, Work::Flush) {
            return honestly(offset, work);
        }
        let mut done = 0;
        while done < work.length() {
            let at = offset + done;
            let (place, end, struck) = self.place(at);
            let length = (end - at).min(work.length() - done);
            self.part(place, struck, &mut part_of(work, done, length)?, honestly)?;
            done += length;
        }
        Ok(())
    }

    /// Where an address lies, up to which address others follow it, and whether data is lost there.
    fn place(self, at: u64) -> (u64, u64, bool) {
        if matches!(self.kind, Kind::Wraps) {
            let place = at % self.from.max(1);
            return (place, at + (self.from.max(1) - place), false);
        }
        match at {
            _ if at < self.from => (at, self.from, false),
            _ if at < self.to => (at, self.to, true),
            _ => (at, u64::MAX, false),
        }
    }

    fn part(
        self,
        place: u64,
        struck: bool,
        work: &mut Work<'_>,
        honestly: &mut dyn FnMut(u64, &mut Work<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        match (self.kind, work) {
            (Kind::Loses(loses), Work::Read(into)) if struck => {
                match loses {
                    Loses::Old => honestly(place, &mut Work::Read(into))?,
                    Loses::Zeros => into.fill(0),
                    Loses::Ones => into.fill(0xff),
                    Loses::Noise => noise(place, into),
                }
                Ok(())
            }
            (Kind::Loses(_), _) if struck => Ok(()),
            (Kind::Flips, Work::Read(into)) if struck => {
                honestly(place, &mut Work::Read(into))?;
                let first = (SECTOR - place % SECTOR) % SECTOR;
                into.iter_mut().skip(first as usize).step_by(SECTOR as usize).for_each(|byte| {
                    *byte ^= 1;
                });
                Ok(())
            }
            (_, work) => honestly(place, work),
        }
    }
}

/// A part of a request.
fn part_of<'a>(work: &'a mut Work<'_>, from: u64, length: u64) -> Result<Work<'a>, Refusal> {
    let range = from as usize..(from + length) as usize;
    let beyond = || Refusal::new(Errno::INVAL, "a part beyond its request");
    Ok(match work {
        Work::Read(into) => Work::Read(into.get_mut(range).ok_or_else(beyond)?),
        Work::Write(data) => Work::Write(data.get(range).ok_or_else(beyond)?),
        Work::Zeros(_) => Work::Zeros(length),
        Work::Discard(_) => Work::Discard(length),
        Work::Flush => Work::Flush,
    })
}

/// Bytes that follow from their address alone.
fn noise(place: u64, into: &mut [u8]) {
    for (at, byte) in (place..).zip(into) {
        let mixed = (at / 8 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        *byte = (mixed ^ (mixed >> 29)).to_le_bytes()[(at % 8) as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Data, MemoryData};

    const SIZE: u64 = 1 << 20;

    /// A device of 1 MiB in memory behind a fault.
    struct Behind(MadeUp, Data);

    impl Behind {
        fn new(kind: FaultKind, from: u64, to: u64) -> Behind {
            Behind(MadeUp::of(kind, from, to).unwrap(), Data::Memory(MemoryData::new(SIZE)))
        }

        fn perform(&self, offset: u64, mut work: Work<'_>) {
            let mut honestly =
                |at: u64, work: &mut Work<'_>| work.apply(&self.1, at).map_err(Refusal::from);
            self.0.perform(offset, &mut work, &mut honestly).unwrap();
        }

        fn write(&self, offset: u64, length: usize, byte: u8) {
            self.perform(offset, Work::Write(&vec![byte; length]));
        }

        fn read(&self, offset: u64, length: usize) -> Vec<u8> {
            let mut read = vec![0x77; length];
            self.perform(offset, Work::Read(&mut read));
            read
        }
    }

    #[test]
    fn a_wrap_splits_a_request_at_each_turn() {
        let device = Behind::new(FaultKind::Wrap, 4096, SIZE);
        device.write(4096 - 512, 1024, 3);
        assert_eq!(device.read(0, 512), [3; 512]);
        assert_eq!(device.read(4096 - 512, 512), [3; 512]);
        assert_eq!(device.read(512, 512), [0; 512]);
        assert_eq!(device.read(8 * 4096 - 512, 1024), [3; 1024]);
    }

    #[test]
    fn what_is_lost_reads_as_it_is_set_and_what_is_outside_is_kept() {
        for (loses, first) in [(Loses::Zeros, 0), (Loses::Ones, 0xff), (Loses::Old, 0)] {
            let device = Behind::new(FaultKind::Lose(loses), 1024, 2048);
            device.write(512, 2048, 5);
            assert_eq!(device.read(512, 512), [5; 512]);
            assert_eq!(device.read(1024, 1024), [first; 1024], "{loses:?}");
            assert_eq!(device.read(2048, 512), [5; 512]);
        }
        let device = Behind::new(FaultKind::Lose(Loses::Noise), 1024, 2048);
        let noise = device.read(1024, 1024);
        assert_eq!(noise, device.read(1024, 1024));
        assert_ne!(noise[..8], noise[8..16]);
    }

    #[test]
    fn one_bit_of_each_sector_is_flipped_within_the_range() {
        let device = Behind::new(FaultKind::Flip, 512, 1536);
        let read = device.read(0, 2048);
        let wrong: Vec<usize> = (0..2048).filter(|at| read[*at] != 0).collect();
        assert_eq!(wrong, [512, 1024]);
    }
}
