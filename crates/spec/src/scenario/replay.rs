//! The test that replays a trace.

use flashlag_units::{Bytes, Nanos, Text};
use serde::{Deserialize, Serialize};

use super::fault::ScenarioFault;
use crate::words::{ReplayKind, ReplayLevel, ReplayPace};

/// A replayed trace: its system calls on files of flashlag's own, or its block requests. Each kind
/// of operation is a separate phase in the run file: `NAME_read`, `NAME_write`, `NAME_sync`,
/// `NAME_names`, `NAME_discard`, and `NAME_save` for recognised SQLite transactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The beginning of the names of its phases in the run file.
    pub name: String,
    /// The file with the trace, in any form that `flashlag trace --from` reads.
    // The content of the file decides what is done, not its path.
    #[serde(skip_serializing)]
    pub trace: String,
    /// Whether to replay a trace that was only partly understood: a part of it can't be read, was
    /// lost, or moves data in a way that no event describes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// SHA-256 of that file, once it has been read.
    #[serde(default, skip_deserializing)]
    #[cfg_attr(feature = "json-schema", schemars(skip))]
    pub sha256: Option<String>,
    /// What was learned about the trace when it was read.
    #[serde(skip)]
    pub facts: Option<ReplayFacts>,
    /// What to replay: system calls if the trace has any, else block requests.
    #[serde(default, rename = "as")]
    pub level: ReplayAs,
    /// When operations begin: at the trace's own times, or each as soon as its thread is free.
    #[serde(default)]
    pub pace: ReplayPace,
    /// With `pace = "own"`: the speed as a factor, 0.001 to 1000.
    #[serde(default = "once")]
    pub speed: f64,
    /// The largest size of a file and of the block addresses of a replay: larger offsets wrap
    /// around within it. 1 MiB to 1 TiB.
    #[serde(default = "gigabyte")]
    pub span: Text<Bytes>,
    /// Ends after this many operations.
    #[serde(default)]
    pub ops: Option<u64>,
    /// Replays only this much of the trace's time.
    #[serde(default)]
    pub time: Option<Text<Nanos>>,
    /// For block requests: the most in flight, 1 to 256.
    #[serde(default = "thirty_two")]
    #[cfg_attr(feature = "json-schema", schemars(range(min = 1, max = 256)))]
    pub queue_depth: u32,
    /// For block requests: whether the page cache is bypassed.
    #[serde(default = "super::pace::yes")]
    pub direct: bool,
}

/// The cost of a replay, derived from its trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayFacts {
    /// The layer.
    pub level: ReplayLevel,
    /// Bytes that are written before the first operation.
    pub laid_out: Bytes,
    /// Space that the files need at most.
    pub room: Bytes,
    /// Bytes that the operations write.
    pub written: Bytes,
    /// When the last operation of the trace is due, counted from the first.
    pub lasts: Nanos,
    /// Number of operations.
    pub ops: u64,
}

/// What is replayed of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplayAs {
    /// System calls if the trace has any, else block requests.
    #[default]
    Auto,
    /// System calls.
    Calls,
    /// Block requests.
    Blocks,
}

impl ReplayAs {
    /// The layer, if the scenario names it.
    pub fn level(self) -> Option<ReplayLevel> {
        match self {
            ReplayAs::Auto => None,
            ReplayAs::Calls => Some(ReplayLevel::Calls),
            ReplayAs::Blocks => Some(ReplayLevel::Blocks),
        }
    }
}

fn once() -> f64 {
    1.0
}

fn gigabyte() -> Text<Bytes> {
    Text(Bytes::from_mb(1000))
}

fn thirty_two() -> u32 {
    32
}

impl Replay {
    /// The name of the phase of a kind of operation.
    pub fn phase_name(&self, kind: ReplayKind) -> String {
        format!("{}_{}", self.name, kind.name())
    }

    /// The names that its phases can have: without operations of a kind, there is no such phase.
    pub fn phase_names(&self) -> Vec<String> {
        ReplayKind::ALL.into_iter().map(|kind| self.phase_name(kind)).collect()
    }

    /// The speed in thousandths, since no time is computed with floating point.
    pub fn per_mille(&self) -> u64 {
        (self.speed * 1000.0).round().max(1.0) as u64
    }

    /// When an operation of the trace is due, counted from the start; `None` flat out.
    pub fn due(&self, at: Nanos) -> Option<Nanos> {
        if self.pace == ReplayPace::Flat {
            return None;
        }
        let due = u128::from(at.0) * 1000 / u128::from(self.per_mille());
        Some(Nanos(u64::try_from(due).unwrap_or(u64::MAX)))
    }
}

/// Checks the values of a replay.
pub(super) fn check_replay(replay: &Replay) -> Result<(), ScenarioFault> {
    let range = |key, value: String, allowed: &str| {
        Err(ScenarioFault::Range { key, value, allowed: allowed.to_owned() })
    };
    let span = replay.span.0;
    if !(Bytes::from_mib(1)..=Bytes(1 << 40)).contains(&span) {
        return range("span", span.to_string(), "1 MiB to 1 TiB");
    }
    if !(0.001..=1000.0).contains(&replay.speed) {
        return range("speed", replay.speed.to_string(), "0.001 to 1000");
    }
    if !(1..=256).contains(&replay.queue_depth) {
        return range("queue_depth", replay.queue_depth.to_string(), "1 to 256");
    }
    if replay.ops == Some(0) {
        return range("ops", "0".to_owned(), "1 or more");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scenario, Test};

    fn parsed(keys: &str) -> Result<Scenario, String> {
        let text = format!(
            "name = \"x\"\n[[replay]]\nname = \"r\"\ntrace = \"t\"\n{keys}\n[[step]]\nmeasure = [\"r\"]\n"
        );
        Scenario::parse(&text, &[]).map_err(|error| error.to_string())
    }

    fn replay(keys: &str) -> Replay {
        match parsed(keys).unwrap().tests.remove("r") {
            Some(Test::Replay(replay)) => replay,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_operation_is_due_at_its_time_by_the_speed_and_never_flat_out() {
        let at = Nanos(3_000_000_001);
        assert_eq!(replay("").due(at), Some(at));
        assert_eq!(replay("speed = 2.0").due(at), Some(Nanos(1_500_000_000)));
        assert_eq!(replay("speed = 0.001").due(Nanos(7)), Some(Nanos(7000)));
        assert_eq!(replay("speed = 0.001").due(Nanos(u64::MAX)), Some(Nanos(u64::MAX)));
        assert_eq!(replay("pace = \"flat\"").due(at), None);
    }

    #[test]
    fn what_no_replay_can_have_is_refused_with_what_is_allowed() {
        for (keys, allowed) in [
            ("span = \"1KiB\"", "1 MiB to 1 TiB"),
            ("span = \"2TiB\"", "1 MiB to 1 TiB"),
            ("speed = 0.0", "0.001 to 1000"),
            ("speed = nan", "0.001 to 1000"),
            ("queue_depth = 0", "1 to 256"),
            ("ops = 0", "1 or more"),
            ("sha256 = \"0\"", "sha256"),
            ("as = \"files\"", "calls"),
        ] {
            let refused = parsed(keys).unwrap_err();
            assert!(refused.contains(allowed), "{keys}: {refused}");
        }
        assert_eq!(replay("").phase_names().len(), 6);
    }

    #[test]
    fn the_content_of_a_trace_and_not_its_path_is_in_the_hash() {
        let hash = |path: &str, sha256: Option<&str>| {
            let mut scenario = parsed("").unwrap();
            if let Some(Test::Replay(replay)) = scenario.tests.get_mut("r") {
                (replay.trace, replay.sha256) = (path.to_owned(), sha256.map(str::to_owned));
            }
            scenario.hash()
        };
        assert_eq!(hash("a", Some("1")), hash("b", Some("1")));
        assert_ne!(hash("a", Some("1")), hash("a", Some("2")));
    }
}
