//! Whether the storage is good enough for the purpose of the scenario, and for others whose tests it made too.

use flashlag_schema::Run;

use super::model::{Block, Section, Term};
use crate::require::{Required, good_enough, other_purposes};

/// The section; `None` if the scenario requires nothing.
pub(super) fn section(run: &Run) -> Option<Section> {
    let answer = good_enough(run)?;
    Some(Section {
        id: "good-enough",
        name: "Good enough?",
        heading: answer.heading,
        side: Vec::new(),
        blocks: vec![Block::Terms(answer.requirements.iter().map(term).collect())],
    })
}

/// What the run's figures say of other purposes; `None` if they say nothing.
pub(super) fn others(run: &Run) -> Option<Section> {
    let others = other_purposes(run);
    let heading = others.heading()?;
    let sentences: Vec<String> = others.judged.iter().map(|one| one.sentence.clone()).collect();
    let rest = others.not_measured().map(Block::Text);
    Some(Section {
        id: "purposes",
        name: "Purposes",
        heading,
        side: Vec::new(),
        blocks: [Block::List(sentences)].into_iter().chain(rest).collect(),
    })
}

fn term(required: &Required) -> Term {
    let Required { figure, measured, limit, source, verdict, unknown } = required;
    let seen = measured.as_ref().or(unknown.as_ref()).map_or("", String::as_str);
    let text = format!("{}: {seen}, {limit}", verdict.in_words());
    Term { aside: source.clone(), ..Term::new(figure.clone(), text) }
}
