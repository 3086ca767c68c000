//! The kernel's letters for the kind of a block request (`blk_fill_rwbs`): an operation among
//! flags.

use flashlag_schema::trace::{BlockFlags, BlockOperation};

/// What `WS`, `FWFSM`, `RA`, `DS`, `FF` and so on mean; `None` for anything else, such as zone
/// commands.
pub(super) fn rwbs(text: &str) -> Option<(BlockOperation, BlockFlags)> {
    if !(1..=8).contains(&text.len()) {
        return None;
    }
    let mut flags = BlockFlags::default();
    let mut letters = text.chars().peekable();
    let first = letters.next()?;
    // `F` before another operation is a preflush; alone it is a flush request.
    let preflush = first == 'F' && letters.peek().is_some_and(|next| "WDRFN".contains(*next));
    let operation = if preflush { letters.next()? } else { first };
    flags.preflush = preflush;
    let operation = match operation {
        'R' => BlockOperation::Read,
        'W' => BlockOperation::Write,
        'D' => BlockOperation::Discard,
        'F' => BlockOperation::Flush,
        // A flush without data (`FN`).
        'N' if preflush => BlockOperation::Flush,
        _ => return None,
    };
    if operation == BlockOperation::Flush {
        flags.preflush = false;
    }
    for letter in letters {
        match letter {
            'F' => flags.fua = true,
            'A' => flags.ahead = operation == BlockOperation::Read,
            'S' => flags.sync = true,
            'M' => flags.meta = true,
            // Before Linux 2.6.37 a barrier: a flush before and after.
            'B' => (flags.preflush, flags.fua) = (true, true),
            // A discard that also erases.
            'E' if operation == BlockOperation::Discard => {}
            _ => return None,
        }
    }
    Some((operation, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_before_a_write_is_no_flush_and_a_letter_that_is_not_known_is_refused() {
        let of = |text: &str| rwbs(text).unwrap();
        assert_eq!(of("W"), (BlockOperation::Write, BlockFlags::default()));
        let journal = BlockFlags { sync: true, preflush: true, fua: true, ..BlockFlags::default() };
        assert_eq!(of("FWFS"), (BlockOperation::Write, journal));
        assert_eq!(of("WBS"), (BlockOperation::Write, journal));
        let fua = BlockFlags { preflush: false, ..journal };
        assert_eq!(of("WFS"), (BlockOperation::Write, fua));
        for flush in ["F", "FF", "FN"] {
            assert_eq!(of(flush), (BlockOperation::Flush, BlockFlags::default()), "{flush}");
        }
        assert_eq!(of("FS").0, BlockOperation::Flush);
        assert!(of("RA").1.ahead && of("RSM").1.meta);
        // The phone of the MOST traces marks writes this way, too: no write is read-ahead.
        assert!(!of("WAS").1.ahead);
        assert_eq!(of("DE").0, BlockOperation::Discard);
        for not in ["", "N", "X", "ZR", "WX", "kworker", "A"] {
            assert_eq!(rwbs(not), None, "{not}");
        }
    }
}
