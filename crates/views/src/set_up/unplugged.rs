//! Drives that can be pulled out: what an fsync promises there, and what is lost.

use flashlag_schema::internals::{
    FilesystemInternals, Internals, PortableFormat, Unplugged, Unsynced,
};
use flashlag_schema::{Environment, Run};
use flashlag_units::Bytes;

use crate::card::cards;
use crate::format;

/// Whether a drive that can be pulled out holds what it claims, which only writing and reading it shows; `None` for
/// any other.
pub(crate) fn true_size(environment: &Environment, run: Option<&Run>) -> Option<String> {
    environment.internals.as_ref()?.unplugged.as_ref()?;
    let asked = run.and_then(|run| cards(run).pop());
    Some(asked.map_or_else(
        || "not known: `flashlag run card` writes all that is free, and reads it back".to_owned(),
        |answer| answer.sentence,
    ))
}

/// What an fsync writes before it returns.
pub(crate) fn promise(format: PortableFormat, by_fuse: bool) -> &'static str {
    match (format, by_fuse) {
        (_, true) => "an fsync writes all that the daemon changed, and flushes",
        (PortableFormat::Fat, false) => {
            "an fsync writes the file, its entry and the table, and flushes"
        }
        (PortableFormat::Exfat, false) => {
            "an fsync writes the file and all changed metadata, and flushes"
        }
        (PortableFormat::Ntfs, false) => "an fsync writes the file and its record, and flushes",
    }
}

/// What who pulls the drive out loses.
pub(crate) fn lost(unplugged: &Unplugged, internals: &Internals) -> String {
    let unsynced = match internals.filesystem.value() {
        Some(FilesystemInternals::Portable { unsynced, .. }) => *unsynced,
        _ => Unsynced::Later,
    };
    let because = &unplugged.because;
    let what = match (unsynced, unplugged.stays_ns.value()) {
        (Unsynced::AtOnce, _) => {
            return format!("{because}: what a call has written is on it, by the option sync");
        }
        (Unsynced::AtClose, _) => "loses what was written to files still open".to_owned(),
        (Unsynced::Later, Some(stays)) => {
            let stays = format::time(*stays);
            format!("loses what was not synced: that of the last {stays}, more if it is slow")
        }
        (Unsynced::Later, None) => "loses what was not synced".to_owned(),
    };
    let bytes = |bytes: &Bytes, when: &str| {
        let of = if unplugged.of_all_storage { " for all storage" } else { "" };
        format!("; {} wait{of} {when}", format::size(*bytes))
    };
    let (before, after) =
        (unplugged.unwritten_bytes.value(), unplugged.unwritten_at_end_bytes.value());
    let waits = match (before, after) {
        (_, Some(after)) => bytes(after, "at the end"),
        (Some(before), None) => bytes(before, "now"),
        (None, None) => String::new(),
    };
    format!("{because}: who pulls it out {what}{waits}")
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{CardCheck, CardVerdict};
    use flashlag_spec::Reading;
    use flashlag_testing::sample;

    use super::*;

    #[test]
    fn the_true_size_is_not_known_until_a_card_was_asked_and_only_of_what_can_be_pulled_out() {
        let mut run = sample::quick();
        assert_eq!(true_size(&run.environment, Some(&run)), None, "a disk that stays in");
        let unplugged = Unplugged {
            because: "it is an SD card".to_owned(),
            stays_ns: Reading::unavailable("not read"),
            unwritten_bytes: Reading::unavailable("not read"),
            unwritten_at_end_bytes: Reading::unavailable("not read"),
            of_all_storage: false,
        };
        run.environment.internals =
            Some(Internals { unplugged: Some(unplugged), ..Internals::default() });
        let said = |run: &Run| true_size(&run.environment, Some(run)).unwrap();
        assert!(said(&run).starts_with("not known: `flashlag run card`"), "{}", said(&run));
        assert!(
            true_size(&run.environment, None).is_some_and(|text| text.starts_with("not known"))
        );
        let fake = CardVerdict::Fake { holds_bytes: Bytes(8_000_000_000) };
        run.cards.push(CardCheck { verdict: fake, ..CardCheck::default() });
        assert!(said(&run).starts_with("Fake: about 8"), "{}", said(&run));
    }
}
