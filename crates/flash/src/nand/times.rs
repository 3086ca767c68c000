use flashlag_schema::profile::{CellKind, Model};
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::address::Page;
use crate::power::WordLine;

/// What the operations take.
///
/// A program unit is as many pages (of all planes) as hold it. Of MLC each page is programmed by
/// itself, the even ones of a block as lower and the odd ones as upper pages of their word lines;
/// of TLC and QLC all three or four pages of a word line take one program together.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Times {
    pub(super) read: Nanos,
    pub(super) erase: Nanos,
    pub(super) suspend: Option<Nanos>,
    /// Of a program unit that begins on an even page, and on an odd one.
    programs: [Nanos; 2],
    /// Pages of a program unit.
    pages: u32,
    /// Whether the pages of a word line are programmed apart.
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

    /// Programming a unit that begins on that page.
    #[inline]
    pub(super) fn program(&self, page: Page) -> Nanos {
        self.programs[page.index() % 2]
    }

    /// Where on its word line the last page of such a unit is, whose program began at `begin`;
    /// nowhere where the unit leaves no word line half done and damages none that others wrote.
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
