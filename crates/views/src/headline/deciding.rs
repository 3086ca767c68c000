use flashlag_explain::{LagVerdict, Subjects};
use flashlag_schema::Run;
use flashlag_spec::State;

use crate::worst::worst;

/// The test that decides the verdict of a run, in all its stages; the same in comparisons and repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deciding {
    /// Its name in the scenario.
    pub test: String,
    /// The stage without which there is no verdict.
    pub state: State,
    /// Its row's title, without a stage.
    pub title: String,
}

/// A test of a run or of one side, with its verdict.
#[derive(Clone, Debug)]
pub struct TestVerdict<'a> {
    /// Its name in the scenario.
    pub test: &'a str,
    pub state: State,
    /// `None` if a failed check covers it, or nothing was measured.
    pub verdict: Option<LagVerdict>,
    /// What distinguishes it from the deciding test, within a sentence: `beside another writer`,
    /// `in WAL save`.
    pub circumstances: String,
}

/// The verdict of a run by the deciding test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidingVerdict {
    /// The worst of its stages.
    pub alone: LagVerdict,
    /// The worst of all other tests with its circumstances, if it is worse.
    pub worse: Option<(LagVerdict, String)>,
    /// The stages of the test with their verdicts, in the given order.
    pub stages: Vec<(State, Option<LagVerdict>)>,
}

impl Deciding {
    /// The deciding test; `None` for a run without saves and durable writes.
    pub fn of(run: &Run) -> Option<Deciding> {
        let main = Subjects::of(run).main?;
        let title = crate::naming::test_name(run, main);
        Some(Deciding { test: main.name.clone(), state: main.state, title })
    }

    /// The verdict over all measured tests; `None` if the required stage cannot be judged.
    pub fn judge(&self, tests: &[TestVerdict<'_>]) -> Option<DecidingVerdict> {
        let own = || tests.iter().filter(|tested| tested.test == self.test);
        let mut needed = own().filter(|tested| tested.state == self.state);
        if !needed.any(|tested| tested.verdict.is_some()) {
            return None;
        }
        let alone = worst(own().filter_map(|tested| tested.verdict))?;
        let others = tests.iter().filter(|tested| tested.test != self.test);
        let others = others.filter_map(|tested| Some((tested.verdict?, &tested.circumstances)));
        let worse = others.filter(|(verdict, _)| *verdict > alone);
        // Of equally bad verdicts, the first is kept.
        let worse = worse.reduce(|worst, next| if next.0 > worst.0 { next } else { worst });
        let stages = own().map(|tested| (tested.state, tested.verdict)).collect();
        let worse = worse.map(|(verdict, circumstances)| (verdict, circumstances.clone()));
        Some(DecidingVerdict { alone, worse, stages })
    }
}
