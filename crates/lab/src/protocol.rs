//! The protocol between host and guest: one message a line, as JSON.
//!
//! At each edge of a phase the guest sends [`Report::Sample`] and waits for [`Order::Sampled`], so that
//! the device's counters belong to that edge.

use std::io::{BufRead, Read, Write};

use flashlag_schema::scenario::{JournalMode, Synchronous};
use flashlag_schema::target::Cipher;
use flashlag_schema::{DeviceCount, Phase, Run};
use flashlag_units::{Bytes, Nanos};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::layer::Layer;

/// The name of the port.
pub const PORT: &str = "flashlag";
/// The guest's file with its [`Setup`].
pub const SETUP: &str = "/flashlag.json";
/// The longest message: a run file of many hours is a few megabytes.
const LONGEST: u64 = 256 << 20;

/// The guest's setup, done before its first order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Modules in the order in which they load: paths in the guest.
    pub modules: Vec<String>,
    /// Filesystems to mount.
    pub mounts: Vec<Mount>,
    /// Whether SQLite commits by F2FS's atomic writes.
    pub atomic: bool,
}

/// A filesystem to mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The disk's serial number.
    pub serial: String,
    /// The kernel's name of the filesystem.
    pub filesystem: String,
    /// Mount options.
    pub options: String,
    /// The mount point of the uppermost layer.
    pub at: String,
    /// Layers above the filesystem, lowest first.
    pub above: Vec<Layer>,
    /// The cipher below the filesystem.
    pub encrypt: Option<Cipher>,
    /// The program that makes the filesystem, and its options, if the guest has to make it.
    pub make: Vec<String>,
}

/// A scenario to run, as text: it is parsed again where it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOrder {
    /// The scenario's file.
    pub scenario: String,
    /// Keys and values of `--set`.
    pub settings: Vec<(String, String)>,
    /// The seed of every random choice.
    pub seed: u64,
    /// The space that a fill leaves.
    pub leave: Bytes,
    /// The most that may be written.
    pub budget: Option<Bytes>,
    /// Whether every byte is read back.
    pub verify: bool,
    /// The directory to measure, below a mount of the setup.
    pub at: String,
    /// Whether files lie in that directory itself, not in one that the run makes there.
    pub rootdir: bool,
    /// The target as the user named it.
    pub target: String,
    /// The command line.
    pub command: Vec<String>,
    /// Whether each test is reduced to the least, for the software's floor.
    pub floor: bool,
}

/// Saves to be made one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveOrder {
    /// The journal mode.
    pub journal: JournalMode,
    /// How a commit is made durable.
    pub synchronous: Synchronous,
    /// The number of saves.
    pub saves: u64,
    /// The seed of their contents.
    pub seed: u64,
    /// The directory of the database.
    pub directory: String,
}

/// The state of the database after a power cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashCheck {
    /// Why the filesystem could not be mounted; `None` if it could.
    pub unmountable: Option<String>,
    /// The damage of the database, or that the database is missing; `None` if it is whole.
    pub damage: Option<String>,
    /// Rows in the database.
    pub rows: Option<u64>,
}

/// Messages from the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Run a scenario.
    Run(Box<RunOrder>),
    /// The device's counters, in answer to [`Report::Sample`].
    Sampled(DeviceCount),
    /// Make saves, and report each acknowledged save.
    Save(SaveOrder),
    /// Mount a crash image, check its database and unmount it again.
    Check {
        /// The image's filesystem.
        mount: Mount,
        /// Directory of the database.
        directory: String,
    },
    /// End the run under way.
    Stop,
    /// Unmount and switch off.
    PowerOff,
}

/// Messages from the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The guest is set up.
    Ready {
        /// The guest's kernel, as `uname` reports it.
        kernel: String,
    },
    /// A sign of life.
    Alive,
    /// The guest waits for the device's counters.
    Sample {
        /// The types of the F2FS segments: a digit for each.
        segments: Option<String>,
    },
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
    /// The phase that begins next fills the storage.
    Filling {
        /// The storage's size, if known.
        storage: Option<Bytes>,
    },
    /// A phase has ended.
    PhaseFinished {
        /// The phase.
        phase: Box<Phase>,
    },
    /// A message for the user.
    Note {
        /// The message.
        text: String,
    },
    /// A run has ended, completely or not.
    Ran {
        /// The run.
        run: Box<Run>,
    },
    /// Saves were acknowledged.
    Acknowledged {
        /// The number of saves.
        saves: u64,
    },
    /// All saves are done, and everything is unmounted.
    Saved,
    /// The state of the database after a power cut.
    Checked(CrashCheck),
    /// An order failed.
    Failed {
        /// What failed, why, and what to try.
        error: String,
    },
    /// Every filesystem is unmounted, and the machine powers off.
    Off,
}

/// Writes a message.
///
/// # Errors
/// The other end is gone.
pub fn send(writer: &mut dyn Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line)?;
    writer.flush()
}

/// Reads a message; `None` if the other end is gone.
///
/// # Errors
/// The text is no message or is too long, or the port can't be read.
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
        let note = Report::Note { text: "two\nlines \"quoted\"".to_owned() };
        send(&mut wire, &note).unwrap();
        send(&mut wire, &Report::Alive).unwrap();
        assert_eq!(wire.iter().filter(|byte| **byte == b'\n').count(), 2);
        let mut reader = wire.as_slice();
        assert_eq!(receive(&mut reader).unwrap(), Some(note));
        assert_eq!(receive(&mut reader).unwrap(), Some(Report::Alive));
        assert_eq!(receive::<Report>(&mut reader).unwrap(), None);
    }

    #[test]
    fn half_a_message_is_an_error_and_no_message() {
        let mut reader = &b"{\"report\":\"alive\"}"[..];
        assert!(receive::<Report>(&mut reader).is_err());
    }

    proptest! {
        #[test]
        fn garbage_is_an_error_and_nothing_worse(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
            let mut reader = bytes.as_slice();
            prop_assert!(receive::<Report>(&mut reader).is_err());
        }
    }
}
