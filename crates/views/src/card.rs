//! Whether a card is what it says it is, in words.

use flashlag_schema::{CardCheck, CardHolds, CardStretch, CardVerdict, Run};
use flashlag_spec::Reading;
use flashlag_units::Bytes;

use crate::format;

/// What a run says of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardAnswer {
    /// The verdict, as a sentence: `Fake: about 8.0 GB of the 63.9 GB that it claims are there.`
    pub sentence: String,
    /// What follows from it, in sentences; may be empty.
    pub more: String,
    /// What was done and found: a name and a sentence of each.
    pub facts: Vec<(&'static str, String)>,
}

/// What a run says of each card that it asked.
pub fn cards(run: &Run) -> Vec<CardAnswer> {
    run.cards.iter().map(answer).collect()
}

fn answer(check: &CardCheck) -> CardAnswer {
    CardAnswer { sentence: sentence(check), more: more(check), facts: facts(check) }
}

fn sentence(check: &CardCheck) -> String {
    let CardCheck { claimed_bytes, written_bytes, checked_bytes, span_bytes, .. } = check;
    match check.verdict {
        CardVerdict::Genuine => {
            format!("Genuine: every one of {written_bytes} was read back as it was written.")
        }
        CardVerdict::NothingFound => format!(
            "No fake found: each of {} over {span_bytes} was read back as it was written.",
            places(check)
        ),
        CardVerdict::Fake { .. } if check.quick => {
            format!("Fake: it holds less than the {claimed_bytes} that it claims.")
        }
        CardVerdict::Fake { holds_bytes } => {
            format!("Fake: about {holds_bytes} of the {claimed_bytes} that it claims are there.")
        }
        CardVerdict::KeepsOld if check.lost.old.plus(old_places(check)) > Bytes::ZERO => {
            "Keeps old data: it accepts writes, and still has what was there before.".to_owned()
        }
        CardVerdict::KeepsOld => {
            "Stores nothing: it accepts writes, and none of what was written is there.".to_owned()
        }
        CardVerdict::ReadOnly => {
            format!("Read-only: it refused every write after {written_bytes} of {span_bytes}.")
        }
        CardVerdict::Damaged => format!(
            "Damaged: {} of {checked_bytes} did not hold what was written.",
            check.lost.total().plus(Bytes(check.rewritten.lost << 20)).plus(old_places(check))
        ),
        CardVerdict::Unproven => {
            "Not proven: what was read did not come from the card itself.".to_owned()
        }
        CardVerdict::Unfinished if check.is_written => {
            format!("Not proven yet: {written_bytes} are written, {checked_bytes} were read back.")
        }
        CardVerdict::Unfinished => {
            format!("Not proven yet: {written_bytes} of {span_bytes} are written.")
        }
    }
}

fn old_places(check: &CardCheck) -> Bytes {
    Bytes(check.rewritten.old << 20)
}

fn places(check: &CardCheck) -> String {
    format!("{} places", format::count(u64::from(check.files)))
}

fn more(check: &CardCheck) -> String {
    let copy =
        "What is stored on it may be lost already: copy what can still be read, and do not use it.";
    match check.verdict {
        CardVerdict::Genuine | CardVerdict::Unfinished => String::new(),
        CardVerdict::NothingFound => {
            "Damage between these places would not be seen, nor a card that loses only some addresses: --set \
             quick=false proves every byte."
                .to_owned()
        }
        CardVerdict::Fake { .. } if check.quick => {
            format!("How much it holds, --set quick=false says. {copy}")
        }
        CardVerdict::Fake { .. } => format!("{} {copy}", how_fake(check)),
        CardVerdict::Damaged => format!("{} {copy}", what_is_lost(check)),
        CardVerdict::KeepsOld | CardVerdict::ReadOnly => {
            let why = check.refused.as_ref().map(|error| format!("The first refusal: {error}. "));
            format!("{}{copy}", why.unwrap_or_default())
        }
        CardVerdict::Unproven => {
            "Take it out and put it in again before it is read: --set take_out=true, then --resume.".to_owned()
        }
    }
}

fn how_fake(check: &CardCheck) -> String {
    match check.repeats_after {
        Some(distance) if check.lost.other_address > Bytes::ZERO => {
            format!("What is written {distance} further on overwrites what is there.")
        }
        _ => {
            let reads = check.stretches.iter().max_by_key(|stretch| stretch.length);
            let reads = reads.map_or("something else", |stretch| held(stretch.holds));
            format!("What is written behind that is gone, and reads as {reads}.")
        }
    }
}

fn held(holds: CardHolds) -> &'static str {
    match holds {
        CardHolds::Zeros => "zeros",
        CardHolds::Ones => "ones (0xff)",
        CardHolds::OtherAddress => "the data of another address",
        CardHolds::Old => "what was there before",
        CardHolds::Flipped => "what was written with flipped bits",
        CardHolds::Foreign => "something else",
        CardHolds::Unreadable => "an error",
    }
}

/// `Bits are flipped in 8.2 kB; 4.1 kB can not be read.`
fn what_is_lost(check: &CardCheck) -> String {
    let lost = &check.lost;
    let parts = [
        (lost.unreadable, "can not be read"),
        (lost.flipped, "have flipped bits"),
        (lost.blank, "are blank"),
        (lost.other_address, "hold the data of another address"),
        (lost.old.plus(old_places(check)), "hold what was there before"),
        (lost.foreign.plus(Bytes(check.rewritten.lost << 20)), "hold something else"),
    ];
    let found = parts.iter().filter(|(bytes, _)| *bytes > Bytes::ZERO);
    let mut words: Vec<String> = found.map(|(bytes, what)| format!("{bytes} {what}")).collect();
    if check.failed_writes > 0 {
        words.push(format!(
            "{} failed",
            format::plural(check.failed_writes as usize, "write", "writes")
        ));
    }
    format!("{}.", words.join("; "))
}

fn facts(check: &CardCheck) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Written", written(check)), ("Read back", read(check))];
    let rewritten = check.rewritten;
    let all = rewritten.places + rewritten.old + rewritten.lost;
    if all > 0 {
        let text = format!(
            "{} of {} that were written once more held the new data.",
            format::count(rewritten.places),
            format::plural(all as usize, "place", "places")
        );
        facts.push(("Written again", text));
    }
    if let Reading::Value(reach) = &check.reached {
        let text = format!("from {} to {} of the filesystem.", reach.from, reach.to);
        facts.push(("Where it lay", text));
    } else if check.quick && check.verdict != CardVerdict::Unfinished {
        let text = "not known: this filesystem does not say where its files lie (no FIEMAP).";
        facts.push(("Where it lay", text.to_owned()));
    }
    if check.stretches_seen > 0 {
        facts.push(("What was found", stretches(check)));
    }
    facts
}

fn written(check: &CardCheck) -> String {
    let CardCheck { written_bytes, span_bytes, claimed_bytes, used_bytes, .. } = check;
    let what = if check.quick {
        format!("{} of 1 MiB over {span_bytes} of free space", places(check))
    } else {
        format!("{written_bytes} of {span_bytes} of free space")
    };
    let used = format!("{used_bytes} were in use and are not tested");
    format!("{what}; the filesystem has {claimed_bytes}, of which {used}.")
}

fn read(check: &CardCheck) -> String {
    let CardCheck { proven_bytes, checked_bytes, .. } = check;
    let way = if check.direct {
        "past the page cache"
    } else {
        "after it was dropped from the page cache"
    };
    let again = if check.resumed { ", by a process that did not write it" } else { "" };
    let seen = match &check.cached_bytes {
        Reading::Value(Bytes::ZERO) => "the device counted all of these reads".to_owned(),
        Reading::Value(cached) => format!("the device did not see {cached} of these reads"),
        Reading::Unavailable { unavailable } => {
            format!("what the device counted is not known ({unavailable})")
        }
    };
    format!("{proven_bytes} of {checked_bytes} as written, read {way}{again}; {seen}.")
}

/// The first stretches; addresses count from the start of the test's data.
fn stretches(check: &CardCheck) -> String {
    const SHOWN: usize = 5;
    let shown = check.stretches.iter().take(SHOWN).map(stretch);
    let mut text = shown.collect::<Vec<_>>().join("; ");
    let more = check.stretches_seen.saturating_sub(SHOWN as u64);
    if more > 0 {
        text += &format!("; and {} more", format::plural(more as usize, "stretch", "stretches"));
    }
    text + "."
}

fn stretch(stretch: &CardStretch) -> String {
    let CardStretch { offset, length, holds, from, bits } = stretch;
    let what = match (holds, from, bits) {
        (CardHolds::OtherAddress, Some(from), _) => format!("the data of byte {}", from.0),
        (CardHolds::Flipped, _, Some(bits)) => {
            format!(
                "what was written with {}",
                format::plural(*bits as usize, "flipped bit", "flipped bits")
            )
        }
        (holds, ..) => held(*holds).to_owned(),
    };
    format!("{length} at byte {} hold {what}", offset.0)
}
