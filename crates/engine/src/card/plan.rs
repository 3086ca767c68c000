use flashlag_schema::CardCheck;
use flashlag_units::Bytes;

use super::CHUNK;

/// Files of one size over the free space, each written from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardPlan {
    /// The free space that is covered.
    pub span: Bytes,
    /// The size of a file; the last may be smaller.
    pub file: Bytes,
    /// Of each file, this much is written.
    pub each: Bytes,
}

/// FAT has no file of 4 GiB; and after an interruption a file is written anew.
const LARGEST: Bytes = Bytes::from_mib(1024);

impl CardPlan {
    /// All of `room`.
    pub fn all(room: Bytes) -> CardPlan {
        let file = Bytes(room.0 / 64).round_down(CHUNK).max(CHUNK).min(LARGEST);
        CardPlan { span: room.round_down(CHUNK), file, each: file }
    }

    /// Places spread over `room`: as many as asked for, or more where a file would be too large.
    pub fn places(room: Bytes, places: u32) -> CardPlan {
        let file = Bytes(room.0 / u64::from(places.max(1))).round_down(CHUNK);
        let file = file.max(CHUNK).min(LARGEST);
        CardPlan { span: room.round_down(file), file, each: CHUNK }
    }

    /// The plan that a check was begun with.
    pub fn of(check: &CardCheck) -> CardPlan {
        let (file, each) = (check.file_bytes.max(CHUNK), check.each_bytes.max(CHUNK));
        CardPlan { span: check.span_bytes, file, each }
    }

    /// Number of files.
    pub fn files(&self) -> u32 {
        u32::try_from(self.span.0.div_ceil(self.file.0)).unwrap_or(u32::MAX)
    }

    /// What is written of a file.
    pub fn length(&self, file: u32) -> Bytes {
        self.span.saturating_minus(self.address(file)).min(self.each)
    }

    /// The address of the first byte of a file.
    pub fn address(&self, file: u32) -> Bytes {
        Bytes(u64::from(file).saturating_mul(self.file.0))
    }

    /// Everything that is written.
    pub fn written(&self) -> Bytes {
        let whole = u64::from(self.files()).saturating_sub(1);
        let last = self.length(self.files().saturating_sub(1));
        Bytes(whole.saturating_mul(self.each.0)).plus(last)
    }

    /// The chunks of a file, by their offset in it.
    pub(super) fn chunks(&self, file: u32) -> impl Iterator<Item = Bytes> + use<> {
        (0..self.length(file).0 / CHUNK.0).map(|chunk| Bytes(chunk * CHUNK.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: fn(u64) -> Bytes = Bytes::from_mib;

    #[test]
    fn all_of_the_room_is_written_in_whole_mebibytes_and_in_files_that_fat_has() {
        let plan = CardPlan::all(MIB(200).plus(Bytes(5)));
        assert_eq!((plan.files(), plan.file, plan.written()), (67, MIB(3), MIB(200)));
        assert_eq!((plan.length(65), plan.length(66), plan.length(67)), (MIB(3), MIB(2), MIB(0)));
        assert_eq!(CardPlan::all(MIB(1 << 20)).file, MIB(1024));
        assert_eq!(CardPlan::all(Bytes(5)).files(), 0);
        assert_eq!(CardPlan::all(Bytes(5)).written(), MIB(0));
    }

    #[test]
    fn places_are_spread_over_the_room_as_many_as_asked_for_or_as_there_is_room() {
        let plan = CardPlan::places(MIB(1000), 100);
        assert_eq!((plan.files(), plan.file, plan.written()), (100, MIB(10), MIB(100)));
        assert_eq!(CardPlan::places(MIB(20), 100).files(), 20);
        let large = CardPlan::places(MIB(1 << 20), 256);
        assert_eq!((large.files(), large.file), (1024, MIB(1024)));
        assert_eq!(CardPlan::places(Bytes(7), 100).files(), 0);
    }
}
