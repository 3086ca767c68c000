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

/// A test of a run or of one side, with its verdict.
#[derive(Clone, Copy, Debug)]
pub struct Tested<'a> {
    /// Its name in the scenario.
    pub test: &'a str,
    pub state: State,
    /// `None` where a failed check covers it, or nothing was measured.
    pub verdict: Option<LagVerdict>,
    /// Whether it is saves beside another writer.
    pub busy: bool,
}

/// What a run is like by the test that decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The worst of its stages.
    pub alone: LagVerdict,
    /// Saves beside another writer in the same stage, where they are worse.
    pub busy: Option<LagVerdict>,
    /// The test's stages with their verdicts, as they were given.
    pub stages: Vec<(State, Option<LagVerdict>)>,
}

impl Deciding {
    /// `None` of a run without saves and durable writes.
    pub fn of(run: &Run) -> Option<Deciding> {
        let main = Subjects::of(run).main?;
        let title = crate::naming::row_title(run, main);
        Some(Deciding { test: main.name.clone(), state: main.state, title })
    }

    /// Of all tests that were measured; `None` where the stage that has to be judged cannot be.
    pub fn judge(&self, tests: &[Tested<'_>]) -> Option<Decided> {
        let own = || tests.iter().filter(|tested| tested.test == self.test);
        let mut needed = own().filter(|tested| tested.state == self.state);
        if !needed.any(|tested| tested.verdict.is_some()) {
            return None;
        }
        let alone = worst(own().filter_map(|tested| tested.verdict))?;
        let beside = tests
            .iter()
            .filter(|tested| tested.busy && tested.test != self.test && tested.state == self.state);
        let busy = worst(beside.filter_map(|tested| tested.verdict));
        let stages = own().map(|tested| (tested.state, tested.verdict)).collect();
        Some(Decided { alone, busy: busy.filter(|busy| *busy > alone), stages })
    }
}
