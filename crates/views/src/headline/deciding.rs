use flashlag_explain::{LagVerdict, Subjects};
use flashlag_schema::{Run, State};

use crate::worst::worst;

/// The test that a run's headline decides by, in all its stages: the same for a comparison and for
/// runs made one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deciding {
    /// Its name in the scenario.
    pub test: String,
    /// The stage that has to be judged for there to be a verdict.
    pub state: State,
    /// Its row's title, without a stage.
    pub title: String,
}

/// What that test is like in one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    pub state: State,
    /// `None` where a failed check covers it, or nothing was measured.
    pub verdict: Option<LagVerdict>,
}

impl Deciding {
    /// `None` of a run without saves and durable writes.
    pub fn of(run: &Run) -> Option<Deciding> {
        let main = Subjects::of(run).main?;
        let title = crate::naming::row_title(run, main);
        Some(Deciding { test: main.name.clone(), state: main.state, title })
    }

    /// The worst of the test's stages; `None` where the one that has to be cannot be judged.
    pub fn verdict(&self, stages: &[Stage]) -> Option<LagVerdict> {
        let mut of_main = stages.iter().filter(|stage| stage.state == self.state);
        let judged = of_main.any(|stage| stage.verdict.is_some());
        worst(stages.iter().filter_map(|stage| stage.verdict)).filter(|_| judged)
    }

    /// What a headline says of saves beside another writer: those in the same stage.
    pub fn is_beside(&self, name: &str, state: State) -> bool {
        name != self.test && state == self.state
    }
}
