//! The protocol between host and guest: one message a line, as JSON.
//!
//! The guest asks before it goes on where a moment matters: it says [`Report::Sample`] at the edge of
//! a phase and waits for [`Order::Sampled`], so that what the device counted belongs to that edge.

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
/// Where the guest finds what it shall set up.
pub const SETUP: &str = "/flashlag.json";
/// No message is longer: a run file of many hours is a few megabytes.
const LONGEST: u64 = 256 << 20;

/// The guest's setup, done before its first order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Modules in the order in which they load: paths in the guest.
    pub modules: Vec<String>,
    /// Filesystems to mount.
    pub mounts: Vec<Mount>,
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
    /// What lies on it, from below.
    pub above: Vec<Layer>,
    /// Encryption below it.
    pub encrypt: Option<Cipher>,
    /// The program that makes the filesystem, and its options, where the guest has to.
    pub make: Vec<String>,
}

/// A scenario to run, as text: it is parsed again where it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOrder {
    /// The scenario's file.
    pub scenario: String,
    /// What `--set` said.
    pub settings: Vec<(String, String)>,
    /// What every random choice follows from.
    pub seed: u64,
    /// The space that a fill leaves.
    pub leave: Bytes,
    /// The most that may be written.
    pub budget: Option<Bytes>,
    /// Whether every byte is read back.
    pub verify: bool,
    /// Where: a mount of the setup.
    pub at: String,
    /// The target as it was typed.
    pub target: String,
    /// The command line.
    pub command: Vec<String>,
    /// The least that is asked of each test: for the software's floor.
    pub floor: bool,
}

/// Saves to be made one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveOrder {
    /// In which journal mode.
    pub journal: JournalMode,
    /// How a commit is made durable.
    pub synchronous: Synchronous,
    /// The number of saves.
    pub saves: u64,
    /// The seed of their contents.
    pub seed: u64,
    /// Where the database is made.
    pub directory: String,
}

/// The state of the database after a power cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashCheck {
    /// Why it could not be mounted.
    pub unmountable: Option<String>,
    /// The damage of the database, or that it is missing.
    pub damage: Option<String>,
    /// Rows in it.
    pub rows: Option<u64>,
}

/// From the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Run a scenario.
    Run(Box<RunOrder>),
    /// The device's counters at the guest's request.
    Sampled(DeviceCount),
    /// Save so often, and say after each save that it is acknowledged.
    Save(SaveOrder),
    /// Mount what a power cut left, look at the database in it, and unmount it again.
    Check {
        /// What.
        mount: Mount,
        /// Where the database is below it.
        directory: String,
    },
    /// End the run under way.
    Stop,
    /// Unmount and switch off.
    PowerOff,
}

/// From the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// It is set up.
    Ready {
        /// `uname`.
        kernel: String,
    },
    /// It is alive.
    Alive,
    /// It waits for the device's counts.
    Sample {
        /// The types of the F2FS segments: a digit for each.
        segments: Option<String>,
    },
    /// Something is about to happen that is no phase.
    Preparing {
        /// What.
        text: String,
    },
    /// A phase begins.
    PhaseStarted {
        /// Its label.
        label: String,
        /// How long it will take, where that is known.
        expected: Option<Nanos>,
        /// The bytes to move, if known.
        limit: Option<Bytes>,
    },
    /// The run's bytes written so far.
    Wrote {
        /// All of it.
        bytes: Bytes,
    },
    /// The phase that begins next fills the storage.
    Filling {
        /// The storage's size, if known.
        storage: Option<Bytes>,
    },
    /// A phase has ended.
    PhaseFinished {
        /// It.
        phase: Box<Phase>,
    },
    /// Something the user should know.
    Note {
        /// It.
        text: String,
    },
    /// A run has ended, however.
    Ran {
        /// It.
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
    /// Something could not be done: what, why, and what to try.
    Failed {
        /// In words.
        error: String,
    },
    /// All data is written, and all that can be is unmounted.
    Off,
}

/// Writes a message.
///
/// # Errors
/// The other side is gone.
pub fn send(writer: &mut dyn Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line)?;
    writer.flush()
}

/// Reads a message; `None` where the other side is gone.
///
/// # Errors
/// What came is no message, is endless, or can't be read.
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
