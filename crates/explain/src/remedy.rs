//! Makes a finding according to the row of its kind.

use flashlag_schema::finding::{Effect, Fact, Finding, FindingId, Pair, Severity, Shown};
use flashlag_spec::Reading;

/// A finding with its usual remedy.
pub fn finding(
    id: FindingId,
    severity: Severity,
    source: &str,
    evidence: Vec<Fact>,
    effect: Reading<Effect>,
) -> Finding {
    let row = id.row();
    let commands = match (effect.value(), row.shown) {
        (None, Some(Shown::Runs { pair, .. })) => commands(pair),
        _ => Vec::new(),
    };
    let (action, risk, source) = (row.action, row.risk, source.to_owned());
    Finding { id, severity, evidence, effect, action, risk, commands, source }
}

/// Two runs that show what a finding costs, with what was found and without, and their comparison.
fn commands(pair: Pair) -> Vec<String> {
    let run = |at: &str, name: &str| format!("flashlag run quick --on {at} -o {name}.json");
    let mut commands = match pair {
        Pair::On(with, without) => vec![run(with, "with"), run(without, "without")],
        Pair::Between(change) => vec![run("DIR", "with"), change.to_owned(), run("DIR", "without")],
    };
    commands.push("flashlag compare with.json without.json".to_owned());
    commands
}
