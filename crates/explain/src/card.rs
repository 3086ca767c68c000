//! What a card is, by what was read back from it.

use flashlag_schema::{CardCheck, CardVerdict};
use flashlag_units::Bytes;

/// Reads that the device itself did not see, in percent, up to which they came from it.
const FROM_CACHE_AT_MOST: u64 = 5;
/// What must hold the data of other addresses, in percent, of a card whose addresses repeat.
const REPEATED_FROM: u64 = 5;
/// What must be gone, in percent, of a card that claims more than it has. Below it is damage.
const GONE_FROM: u64 = 20;
/// What is gone is gone in pieces of this size, on average. Smaller ones are damage.
const PIECE: Bytes = Bytes::from_mib(1);

/// What a card is.
///
/// A card that claims more than it has loses a large part: the data of other addresses stands in it, or it is gone
/// in large pieces. These need not be one, for filesystems lay files where they like. Everything else is damage.
pub fn card_verdict(check: &CardCheck) -> CardVerdict {
    let rewritten = check.rewritten;
    let vanished = check.lost.vanished();
    match () {
        () if check.checked_bytes == Bytes::ZERO && check.refused.is_some() => {
            CardVerdict::ReadOnly
        }
        () if check.checked_bytes == Bytes::ZERO => CardVerdict::Unproven,
        // Nothing of what was written is there, not even at the start.
        () if check.proven_bytes == Bytes::ZERO && vanished == check.checked_bytes => {
            CardVerdict::KeepsOld
        }
        () if rewritten.old > 0 && rewritten.old >= rewritten.places => CardVerdict::KeepsOld,
        () if is_fake(check) => CardVerdict::Fake { holds_bytes: holds(check) },
        () if check.lost.total() > Bytes::ZERO
            || rewritten.lost > 0
            || rewritten.old > 0
            || check.failed_writes > 0 =>
        {
            CardVerdict::Damaged
        }
        () if check.refused.is_some() => CardVerdict::ReadOnly,
        () if from_cache(check) => CardVerdict::Unproven,
        () if check.quick => CardVerdict::NothingFound,
        () => CardVerdict::Genuine,
    }
}

/// Whether what is lost is what a card loses that claims more than it has.
fn is_fake(check: &CardCheck) -> bool {
    let share = |part: Bytes, percent: u64| {
        part.0.saturating_mul(100) >= check.checked_bytes.0.saturating_mul(percent)
    };
    let repeats = check.repeats_after.is_some() && share(check.lost.other_address, REPEATED_FROM);
    let vanished = check.lost.vanished();
    // Of places, none can be larger, and one that lies across the end of what is there is gone in part.
    let piece = if check.quick { PIECE.0 / 2 } else { PIECE.0 };
    let in_pieces = vanished.0 >= piece.saturating_mul(check.stretches_seen);
    repeats || in_pieces && share(vanished, GONE_FROM)
}

/// About what a card holds that claims more: the distance after which its addresses repeat, else the share of the
/// free space that is proven, behind what lies before it.
fn holds(check: &CardCheck) -> Bytes {
    match check.repeats_after {
        Some(distance) if check.lost.other_address > Bytes::ZERO => distance,
        _ => {
            let before = check.reached.value().map_or(check.used_bytes, |reached| reached.from);
            let share = u128::from(check.span_bytes.0) * u128::from(check.proven_bytes.0)
                / u128::from(check.checked_bytes.0.max(1));
            before.plus(Bytes(u64::try_from(share).unwrap_or(u64::MAX)))
        }
    }
}

/// Whether reads may have come from a page cache: one that was filled after the card was put in again had to be
/// filled from it.
fn from_cache(check: &CardCheck) -> bool {
    match check.cached_bytes.value() {
        Some(cached) => {
            cached.0.saturating_mul(100) > check.checked_bytes.0.saturating_mul(FROM_CACHE_AT_MOST)
        }
        None => !check.direct && !check.resumed,
    }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{CardLost, CardReach, CardRewritten};
    use flashlag_spec::Reading;

    use super::*;

    const MIB: fn(u64) -> Bytes = Bytes::from_mib;

    /// A card of 64 MiB of which all was read, with so much proven, as far as the loss began.
    fn card(proven: u64, lost: CardLost) -> CardCheck {
        CardCheck {
            checked_bytes: MIB(64),
            written_bytes: MIB(64),
            proven_bytes: MIB(proven),
            span_bytes: MIB(64),
            stretches_seen: u64::from(proven < 64),
            lost,
            direct: true,
            cached_bytes: Reading::Value(Bytes::ZERO),
            rewritten: CardRewritten { places: 64, old: 0, lost: 0 },
            ..CardCheck::default()
        }
    }

    #[test]
    fn what_was_read_back_from_the_device_is_genuine_and_from_a_cache_it_is_no_proof() {
        let genuine = card(64, CardLost::default());
        assert_eq!(card_verdict(&genuine), CardVerdict::Genuine);
        let quick = CardCheck { quick: true, ..genuine.clone() };
        assert_eq!(card_verdict(&quick), CardVerdict::NothingFound);
        let cached = |mib| CardCheck { cached_bytes: Reading::Value(MIB(mib)), ..genuine.clone() };
        assert_eq!(card_verdict(&cached(3)), CardVerdict::Genuine);
        assert_eq!(card_verdict(&cached(4)), CardVerdict::Unproven);
        let unknown = CardCheck {
            cached_bytes: Reading::unavailable("no counters"),
            direct: false,
            ..genuine
        };
        assert_eq!(card_verdict(&unknown), CardVerdict::Unproven);
        let again = CardCheck { resumed: true, ..unknown };
        assert_eq!(card_verdict(&again), CardVerdict::Genuine);
    }

    #[test]
    fn a_wrap_holds_as_much_as_lies_between_equal_addresses() {
        let lost = CardLost { other_address: MIB(48), ..CardLost::default() };
        let wraps = CardCheck { repeats_after: Some(MIB(16)), ..card(16, lost) };
        assert_eq!(card_verdict(&wraps), CardVerdict::Fake { holds_bytes: MIB(16) });
    }

    #[test]
    fn each_kind_of_loss_is_damage_by_itself() {
        let whole = card(64, CardLost::default());
        let rewritten = |old, lost| CardRewritten { places: 64, old, lost };
        for damaged in [
            CardCheck {
                lost: CardLost { flipped: Bytes(512), ..CardLost::default() },
                ..whole.clone()
            },
            CardCheck { rewritten: rewritten(0, 1), ..whole.clone() },
            CardCheck { rewritten: rewritten(1, 0), ..whole.clone() },
            CardCheck { failed_writes: 1, ..whole.clone() },
        ] {
            assert_eq!(card_verdict(&damaged), CardVerdict::Damaged, "{damaged:?}");
        }
        let all_old = CardCheck { rewritten: rewritten(64, 0), ..whole };
        assert_eq!(card_verdict(&all_old), CardVerdict::KeepsOld);
    }

    #[test]
    fn of_places_one_may_lie_across_the_end_of_what_is_there() {
        let places = |blank: Bytes, stretches_seen| {
            let lost = CardLost { blank, ..CardLost::default() };
            let proven = MIB(16).saturating_minus(blank);
            card_verdict(&CardCheck {
                quick: true,
                checked_bytes: MIB(16),
                written_bytes: MIB(16),
                proven_bytes: proven,
                stretches_seen,
                ..card(0, lost)
            })
        };
        // Eleven places, and a tenth of another.
        let gone = places(MIB(11).plus(Bytes(100 << 10)), 12);
        assert!(matches!(gone, CardVerdict::Fake { .. }), "{gone:?}");
        // Holes of a quarter of each of them are damage.
        assert_eq!(places(MIB(4), 16), CardVerdict::Damaged);
    }

    #[test]
    fn what_is_gone_in_large_pieces_was_never_there_and_small_holes_are_damage() {
        let lost = CardLost { blank: MIB(40), ..CardLost::default() };
        let gone = CardCheck { used_bytes: MIB(2), stretches_seen: 3, ..card(24, lost) };
        assert_eq!(card_verdict(&gone), CardVerdict::Fake { holds_bytes: MIB(26) });
        let reached = Reading::Value(CardReach { from: MIB(5), to: MIB(70) });
        let behind = CardCheck { reached, ..gone.clone() };
        assert_eq!(card_verdict(&behind), CardVerdict::Fake { holds_bytes: MIB(29) });
        let holes = CardCheck { stretches_seen: 41, ..gone };
        assert_eq!(card_verdict(&holes), CardVerdict::Damaged);
        let few = CardLost { blank: MIB(12), ..CardLost::default() };
        assert_eq!(card_verdict(&card(52, few)), CardVerdict::Damaged);
        let bits = CardLost { flipped: Bytes(512), ..CardLost::default() };
        assert_eq!(card_verdict(&card(63, bits)), CardVerdict::Damaged);
        // One address in a hundred is a fault of addressing, and no claim.
        let few = CardLost { other_address: Bytes(1 << 19), ..CardLost::default() };
        let few = CardCheck { repeats_after: Some(MIB(9)), ..card(63, few) };
        assert_eq!(card_verdict(&few), CardVerdict::Damaged);
    }

    #[test]
    fn a_card_that_stores_nothing_more_keeps_old_data_or_refuses_the_new() {
        let rewritten = CardRewritten { places: 0, old: 64, lost: 0 };
        let stale = CardCheck { rewritten, ..card(64, CardLost::default()) };
        assert_eq!(card_verdict(&stale), CardVerdict::KeepsOld);
        let lost = CardLost { old: MIB(64), ..CardLost::default() };
        let nothing = CardCheck { rewritten: CardRewritten::default(), ..card(0, lost) };
        assert_eq!(card_verdict(&nothing), CardVerdict::KeepsOld);
        let refused = CardCheck { refused: Some("EROFS".to_owned()), ..CardCheck::default() };
        assert_eq!(card_verdict(&refused), CardVerdict::ReadOnly);
        let later = CardCheck { refused: Some("EIO".to_owned()), ..card(64, CardLost::default()) };
        assert_eq!(card_verdict(&later), CardVerdict::ReadOnly);
        assert_eq!(card_verdict(&CardCheck::default()), CardVerdict::Unproven);
    }
}
