//! Whether a card is what it says it is.

use flashlag_schema::Run;

use super::model::{Block, Section, Term};
use crate::card::cards;

/// The section; `None` if no card was asked.
pub(super) fn section(run: &Run) -> Option<Section> {
    let answers = cards(run);
    let heading = answers.first()?.sentence.trim_end_matches('.').to_owned();
    let facts = answers.into_iter().flat_map(|answer| answer.facts);
    Some(Section {
        id: "card",
        name: "What it says",
        heading,
        side: vec![
            "Each sector was written with its own address, the number of this run and a checksum, so that what \
             stands in its place says where it came from. Addresses are bytes from the start of the test’s data."
                .to_owned(),
        ],
        blocks: vec![Block::Terms(facts.map(|(name, text)| Term::new(name, text)).collect())],
    })
}
