//! Messages between the program that orders a run and the program that makes it elsewhere, in a
//! guest or on a phone: one message per line, as JSON.

use std::collections::BTreeMap;
use std::io::{BufRead, Read, Write};

use flashlag_spec::replay::ReplayStream;
use flashlag_units::{Bytes, Nanos};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{ConditionLimits, Phase};

/// The longest message: a run file of many hours is a few megabytes.
const LONGEST: u64 = 256 << 20;

/// A scenario to run, as text: it is parsed again where the scenario runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrder {
    /// The scenario's file.
    pub scenario: String,
    /// Keys and values of `--set`.
    pub settings: Vec<(String, String)>,
    /// The seed of every random choice.
    pub seed: u64,
    /// The space that a fill leaves free; `None` for the default of the storage.
    pub leave: Option<Bytes>,
    /// The most that may be written.
    pub budget: Option<Bytes>,
    /// Whether every byte is read back.
    pub verify: bool,
    /// Limits of charge and heat.
    pub limits: ConditionLimits,
    /// The directory to measure.
    pub at: String,
    /// Whether files are made in that directory itself, not in one that the run creates there.
    pub rootdir: bool,
    /// The target as the user named it.
    pub target: String,
    /// The command line.
    pub command: Vec<String>,
    /// Whether each test is reduced to a minimum, for the software's floor.
    pub floor: bool,
    /// The operations of the traces that the scenario replays, by the name of the test.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replays: BTreeMap<String, ReplayStream>,
}

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "progress", rename_all = "snake_case")]
pub enum Progress {
    /// Work outside of all phases begins.
    Preparing {
        /// A description of the work.
        text: String,
    },
    /// A phase begins.
    PhaseStarted {
        /// The phase's label.
        label: String,
        /// The phase's duration, if known.
        expected: Option<Nanos>,
        /// The bytes to move, if known.
        limit: Option<Bytes>,
    },
    /// Bytes written by the run so far.
    Wrote {
        /// The bytes since the run began.
        bytes: Bytes,
    },
    /// The next phase fills the storage.
    Filling {
        /// The storage's size, if known.
        storage: Option<Bytes>,
    },
    /// A phase has ended.
    PhaseFinished {
        #[serde(with = "as_text")]
        phase: Box<Phase>,
    },
    /// A message for the user.
    Note {
        /// The message.
        text: String,
    },
    /// The progress of the current phase.
    Live(LiveReading),
}

/// A reading of a phase's progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveReading {
    /// Time since the phase began.
    pub elapsed_ns: Nanos,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Bytes written, if known to be more than the phase moved.
    pub written: Bytes,
    /// Used bytes of the storage, in a fill.
    pub filled: Option<Bytes>,
    /// The longest wait of the latest interval.
    pub recent_ns: Nanos,
    /// Histogram buckets that hold a latency.
    pub index: Vec<u32>,
    /// The number of latencies in each of them.
    pub count: Vec<u64>,
}

/// A run or a phase within a message, as JSON in a string: the code that reads run files also reads
/// it; a tagged message would need a second copy of that code (350 kB of program). For the same reason
/// all JSON is read by `from_slice`, and none by `from_str`.
pub mod as_text {
    use serde::de::{DeserializeOwned, Error as _};
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a value as a string.
    pub fn serialize<T: Serialize, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serde_json::to_string(value).map_err(S::Error::custom)?.serialize(serializer)
    }

    /// Reads a value from a string.
    pub fn deserialize<'a, T: DeserializeOwned, D: Deserializer<'a>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        serde_json::from_slice(String::deserialize(deserializer)?.as_bytes())
            .map_err(D::Error::custom)
    }
}

/// Writes a message.
pub fn send(writer: &mut dyn Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line)?;
    writer.flush()
}

/// Reads a message; `None` if the other end is gone.
pub fn receive<T: DeserializeOwned>(reader: &mut impl BufRead) -> std::io::Result<Option<T>> {
    let mut line = Vec::new();
    let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(std::io::Error::other("a message without an end"));
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_is_a_line_and_comes_as_it_went() {
        let mut wire = Vec::new();
        let note = Progress::Note { text: "two\nlines \"quoted\"".to_owned() };
        send(&mut wire, &note).unwrap();
        let live = Progress::Live(LiveReading { bytes: Bytes(5), ..LiveReading::default() });
        send(&mut wire, &live).unwrap();
        assert_eq!(wire.iter().filter(|byte| **byte == b'\n').count(), 2);
        let mut reader = wire.as_slice();
        assert_eq!(receive(&mut reader).unwrap(), Some(note));
        assert_eq!(receive(&mut reader).unwrap(), Some(live));
        assert_eq!(receive::<Progress>(&mut reader).unwrap(), None);
    }

    #[test]
    fn half_a_message_is_an_error_and_no_message() {
        let mut reader = &b"{\"progress\":\"note\",\"text\":\"\"}"[..];
        assert!(receive::<Progress>(&mut reader).is_err());
    }

    proptest! {
        #[test]
        fn garbage_is_an_error_and_nothing_worse(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
            let mut reader = bytes.as_slice();
            prop_assert!(receive::<Progress>(&mut reader).is_err());
        }
    }
}
