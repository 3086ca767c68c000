use flashlag_spec::profile::{CellKind, Model};
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::address::Page;
use crate::power::WordLine;

/// Times of the dies' operations.
///
/// A program unit takes as many pages (of all planes) as it needs. MLC programs each page by
/// itself: even pages are lower pages of their word lines, odd pages upper ones. TLC and QLC
/// program the three or four pages of a word line together.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Times {
    pub(super) read: Nanos,
    pub(super) erase: Nanos,
    pub(super) suspend: Option<Nanos>,
    /// Time of a program unit that starts on an even page, and on an odd page.
    programs: [Nanos; 2],
    /// Pages per program unit.
    pages: u32,
    /// Whether the pages of a word line are programmed separately (MLC).
    apart: bool,
}

impl Times {
    pub(super) fn new(model: &Model) -> Times {
        let nand = &model.nand;
        let stripe = nand.page.0.0 * u64::from(nand.planes);
        let program = model.map.program_unit.0.0.max(model.map.unit.0.0);
        let pages = program.div_ceil(stripe) as u32;
        let lower = nand.program.0;
        let upper = nand.program_upper.map_or(lower, |upper| upper.0);
        let times = |count: u32, time: Nanos| Nanos(time.0 * u64::from(count));
        let programs = match nand.cell {
            CellKind::Slc => [times(pages, lower); 2],
            CellKind::Mlc => {
                let (more, fewer) = (pages.div_ceil(2), pages / 2);
                let even = times(more, lower).plus(times(fewer, upper));
                [even, times(fewer, lower).plus(times(more, upper))]
            }
            CellKind::Tlc => [times(pages.div_ceil(3), lower); 2],
            CellKind::Qlc => [times(pages.div_ceil(4), lower); 2],
        };
        Times {
            read: nand.read.0,
            erase: nand.erase.0,
            suspend: nand.suspend.map(|suspend| suspend.0),
            programs,
            pages,
            apart: nand.cell == CellKind::Mlc,
        }
    }

    /// Time to program a unit that starts on `page`.
    #[inline]
    pub(super) fn program(&self, page: Page) -> Nanos {
        self.programs[page.index() % 2]
    }

    /// The place on its word line of the last page of a program unit that starts on `page` at
    /// `begin`. `None` if the unit leaves no word line half programmed and can damage no earlier
    /// data.
    #[inline]
    pub(super) fn word_line(
        &self,
        page: Page,
        begin: Nanos,
        row: impl FnOnce() -> u64,
    ) -> Option<WordLine> {
        let last = page.0 + self.pages - 1;
        if !self.apart || (page.0.is_multiple_of(2) && last % 2 == 1) {
            return None;
        }
        let number = (row() << 16) | u64::from(last / 2);
        Some(if last.is_multiple_of(2) {
            WordLine::Lower(number)
        } else {
            WordLine::Upper(number, begin)
        })
    }
}
