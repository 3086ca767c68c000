//! Reads the traces that a scenario replays.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use flashlag_schema::trace::TraceSource;
use flashlag_spec::replay::ReplayStream;
use flashlag_spec::scenario::{Replay, Scenario, Test};
use flashlag_trace::ImportError;
use flashlag_trace::replay_stream;
use flashlag_units::{IntoOrder, count};
use sha2::{Digest, Sha256};

use crate::error::RunError;
use crate::request::{Replays, Request};

impl Request {
    /// The same request with the operations of every trace that its scenario replays.
    ///
    /// # Errors
    /// A trace that is not given, can't be read or has nothing to replay.
    pub(crate) fn with_traces(mut self) -> Result<Request, RunError> {
        for test in self.scenario.tests.values() {
            if let Test::Replay(replay) = test
                && !self.replays.contains_key(&replay.name)
            {
                let stream = Arc::new(read(replay, &self.scenario)?);
                self.replays.insert(replay.name.clone(), stream);
            }
        }
        take_facts(&mut self.scenario, &self.replays);
        Ok(self)
    }
}

/// Adds the data of traces to the tests that replay them: a run's hash and cost follow from it.
pub(crate) fn take_facts(scenario: &mut Scenario, replays: &Replays) {
    for test in scenario.tests.values_mut() {
        if let Test::Replay(replay) = test
            && let Some(stream) = replays.get(&replay.name)
        {
            replay.sha256 = Some(stream.sha256.clone());
            replay.facts = Some(stream.facts());
        }
    }
}

/// Operations as they are sent to a guest or a phone.
pub(crate) fn sent(replays: &Replays) -> BTreeMap<String, ReplayStream> {
    replays.iter().map(|(name, stream)| (name.clone(), (**stream).clone())).into_map()
}

/// Operations as received from the machine that requests the run; those that refer to unknown tests
/// are dropped, and their tests fail.
pub(crate) fn received(replays: &BTreeMap<String, ReplayStream>) -> Replays {
    let whole = replays.iter().filter(|(_, stream)| stream.is_whole());
    whole.map(|(name, stream)| (name.clone(), Arc::new(stream.clone()))).into_map()
}

fn read(replay: &Replay, scenario: &Scenario) -> Result<ReplayStream, RunError> {
    let path = PathBuf::from(&replay.trace);
    let refuse = |reason: String| RunError::Trace { path: path.clone(), reason };
    if replay.trace.is_empty() {
        return Err(RunError::NoTrace {
            scenario: scenario.name.clone(),
            test: replay.name.clone(),
        });
    }
    let open = || File::open(&path).map_err(|error| refuse(error.to_string()));
    let sha256 = sha256_of(open()?).map_err(|error| refuse(error.to_string()))?;
    let imported = flashlag_trace::import(open()?, None).map_err(|error| match error {
        ImportError::Table(error) => refuse(format!(
            "{error}. Make a trace of it first: \
             `flashlag trace --from FILE --columns LIST -o FILE.jsonl`"
        )),
        error => refuse(error.to_string()),
    })?;
    if let Some(missing) = missing(&imported.trace.source).filter(|_| !replay.partial) {
        return Err(refuse(missing));
    }
    replay_stream(&imported.trace, &sha256, replay).map_err(|error| refuse(error.to_string()))
}

/// Why a trace is only half understood; `None` if all its lines are events, or none concerns
/// storage.
fn missing(source: &TraceSource) -> Option<String> {
    let parts = [
        (source.damaged, "lines that can't be read"),
        (source.lost.unwrap_or(0), "events lost while recording"),
        (source.left_out, "calls or requests left out"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{what}: {}", count(*number)))
        .chain(source.cut_off.then(|| "its end is missing".to_owned()))
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "it is only half understood ({}), and a replay would lack that part. \
             `flashlag trace --from FILE` says what is missing; --set partial=true replays the rest",
            parts.join("; ")
        )
    })
}

fn sha256_of(mut file: File) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => digest.update(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
