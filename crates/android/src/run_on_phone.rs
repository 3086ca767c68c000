//! A run on a phone, as seen from this machine: what it copies there, starts, follows and removes.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flashlag_schema::Run;
use flashlag_schema::finding::Explained;

use crate::claim;
use crate::error::PhoneError;
use crate::folder::{Folder, host_of};
use crate::identity::printable;
use crate::place::{LOOK, Place};
use crate::protocol::{Answer, Line, PhoneOrder, Prepared, RunState, SUBCOMMAND};
use crate::quote::ShellCommand;
use crate::transport::{Held, Transport};
use crate::version;

/// Timeout of the checks before a run, which remove the files of killed runs.
const PREPARE: Duration = Duration::from_secs(300);
/// How long to watch a host that prepares a run before the phone counts as taken, and how often.
const PATIENCE: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(200);

/// A run on a phone.
pub struct RunOnPhone {
    place: Place,
    /// Keeps the folder claimed by this host, from before its run until everything is removed.
    claim: Mutex<Option<Box<dyn Held>>>,
    /// The names that were in the folder when it was last searched for a run.
    judged: Mutex<Option<Vec<String>>>,
}

/// What was received from a run.
#[derive(Debug)]
pub enum Heard {
    Line(Box<Line>),
    /// Nothing, for now.
    Nothing,
    /// The end of the stream: the run ended, or the phone is gone.
    Gone,
}

/// A run that is followed.
#[derive(Debug)]
pub struct Following(Receiver<Line>);

impl Following {
    /// Waits for the next line.
    pub fn hear(&self, limit: Duration) -> Heard {
        match self.0.recv_timeout(limit) {
            Ok(line) => Heard::Line(Box::new(line)),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::Gone,
        }
    }
}

impl RunOnPhone {
    /// The run of a phone.
    pub fn new(transport: Box<dyn Transport>) -> RunOnPhone {
        RunOnPhone {
            place: Place { transport, folder: Folder::default() },
            claim: Mutex::default(),
            judged: Mutex::default(),
        }
    }

    /// The phone, and the run's folder there.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The run that the phone has, and its state; `None` if there is no run.
    ///
    /// # Errors
    /// The phone can't be reached, another host is putting a run there right now, or the run is of
    /// a version that this one can't read.
    pub fn found(&self) -> Result<Option<(PhoneOrder, RunState)>, PhoneError> {
        let until = Instant::now() + PATIENCE;
        let mut had_host = false;
        loop {
            let names = self.place.names()?;
            *self.judged() = names.clone();
            let Some(names) = names else {
                // That run has been fetched in the meantime; the next command finds the phone free.
                return if had_host { Err(self.taken()) } else { Ok(None) };
            };
            let found = self.found_among(&names)?;
            let is_under_way =
                found.as_ref().is_some_and(|(_, state)| *state == RunState::UnderWay);
            if is_under_way || self.has_claim() {
                return Ok(found);
            }
            let has_host = claim::host_is_there(self.place.transport(), &names)?;
            had_host |= has_host;
            if !has_host && !names.is_empty() {
                return Ok(found);
            }
            if Instant::now() > until {
                return if has_host { Err(self.taken()) } else { Ok(found) };
            }
            // That run may start soon; its host may be about to disappear because the cable was
            // pulled; or the host has just created the folder and is about to mark it.
            std::thread::sleep(AGAIN);
        }
    }

    /// The run in a folder with these names.
    fn found_among(&self, names: &[String]) -> Result<Option<(PhoneOrder, RunState)>, PhoneError> {
        let path = self.place.folder.order();
        if !names.iter().any(|name| self.place.folder.of(name) == path) {
            return Ok(None);
        }
        let read = self.place.shell(&["cat", &path], LOOK)?;
        let order =
            read.output.lines().find_map(|line| serde_json::from_slice(line.as_bytes()).ok());
        let Some(order) = order.filter(|_| read.status == 0) else {
            return match read.output.lines().find_map(version::of_order) {
                Some(there) => Err(PhoneError::OtherOrder(there)),
                // Copying it to the phone was interrupted.
                None => Ok(None),
            };
        };
        Ok(Some((order, self.state()?)))
    }

    /// Claims the phone's folder, as [`RunOnPhone::found`] has found it, until everything is
    /// removed or this value is dropped. Returns whether the folder existed.
    ///
    /// # Errors
    /// The phone can't be reached, another host was faster, or the folder has files that are not
    /// flashlag's.
    pub fn claim(&self) -> Result<bool, PhoneError> {
        let names = self.judged().clone();
        self.place.only_ours(names.iter().flatten())?;
        let held = claim::take(self.place.transport(), &self.place.folder, names.as_deref())?;
        let Some(held) = held else { return Err(self.not_claimed()?) };
        *self.claim.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
        Ok(names.is_some())
    }

    fn judged(&self) -> MutexGuard<'_, Option<Vec<String>>> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_claim(&self) -> bool {
        self.claim.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Why the folder could not be claimed.
    fn not_claimed(&self) -> Result<PhoneError, PhoneError> {
        match self.place.names()? {
            Some(_) => Ok(self.taken()),
            None => Ok(PhoneError::Command {
                what: format!("making the folder {}", self.place.folder.path()),
                reason: "the phone's shell did not say why".to_owned(),
            }),
        }
    }

    /// Removes what an earlier run left in the folder, which stays claimed.
    ///
    /// # Errors
    /// The phone can't be reached, or something is left.
    pub fn empty(&self) -> Result<(), PhoneError> {
        let Some(names) = self.place.names()? else { return Ok(()) };
        let left = |name: &&String| host_of(name).is_none();
        self.place.remove_files(names.iter().filter(left))
    }

    fn taken(&self) -> PhoneError {
        PhoneError::Taken { serial: self.place.transport.serial().to_owned() }
    }

    /// The state of the run in the phone's folder.
    pub fn state(&self) -> Result<RunState, PhoneError> {
        match self.place.ask("state", LOOK) {
            Ok(Answer::State(state)) => Ok(state),
            Err(error) if error.is_of_the_cable() => Err(error),
            // A program that was not copied completely has started nothing.
            _ => Ok(RunState::Dead),
        }
    }

    /// Whether the phone has a run file that can be continued.
    pub fn has_run_file(&self) -> Result<bool, PhoneError> {
        self.place.exists(&self.place.folder.run())
    }

    /// Puts the order into the folder.
    pub fn give(&self, order: &PhoneOrder) -> Result<(), PhoneError> {
        self.place.give(order)
    }

    /// Copies an earlier run into the folder, to be continued.
    pub fn bring(&self, earlier: &Run) -> Result<(), PhoneError> {
        self.place.put(earlier.to_json().as_bytes(), &self.place.folder.run())
    }

    /// Makes the phone check that the run is possible, and compute its cost.
    pub fn prepare(&self) -> Result<Prepared, PhoneError> {
        match self.place.ask("prepare", PREPARE)? {
            Answer::Prepared(prepared) => Ok(*prepared),
            other => Err(PhoneError::Answer(other.name().to_owned())),
        }
    }

    /// Starts the run, detached from this machine.
    pub fn start(&self) -> Result<(), PhoneError> {
        match self.place.ask("start", PREPARE)? {
            Answer::Started => Ok(()),
            other => Err(PhoneError::Answer(other.name().to_owned())),
        }
    }

    /// Ends the claim.
    pub fn release(&self) {
        drop(self.claim.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Orders the run to end; its result can then be fetched.
    pub fn stop(&self) -> Result<(), PhoneError> {
        self.place.ask("stop", LOOK).map(drop)
    }

    /// Follows the run from the step after that number.
    pub fn follow(&self, after: u64) -> Result<Following, PhoneError> {
        let number = after.to_string();
        let folder = &self.place.folder;
        let words = [&*folder.program(), SUBCOMMAND, "follow", folder.path(), &number];
        let mut lines = self.place.transport.follow(&ShellCommand::of(&words))?;
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            while let Some(line) = lines.next_line() {
                // A line that is not of the protocol is a message of the shell.
                let Ok(line) = serde_json::from_slice(line.as_bytes()) else { continue };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Following(receiver))
    }

    /// Takes the run file.
    pub fn take(&self) -> Result<Run, PhoneError> {
        let bytes = self.place.contents(&self.place.folder.run())?;
        let text =
            String::from_utf8(bytes).map_err(|error| PhoneError::Result(error.to_string()))?;
        let refuse = |error: flashlag_schema::RunFileError| PhoneError::Result(error.to_string());
        let wrong = flashlag_schema::verify::verify_text(&text).map_err(refuse)?;
        match wrong.first() {
            Some(first) => Err(PhoneError::Result(first.to_string())),
            None => Run::from_json(&text).map_err(refuse),
        }
    }

    /// Makes flashlag on the phone explain the storage below a directory.
    ///
    /// # Errors
    /// The phone can't be reached, the directory can't be examined, or the answer is of another
    /// version.
    pub fn explain(&self, directory: &str) -> Result<Explained, PhoneError> {
        let words = [&*self.place.folder.program(), "explain", "--json", directory];
        let answer = self.place.shell(&words, LOOK)?;
        if answer.status != 0 {
            let what = format!("explaining {directory}");
            return Err(PhoneError::Command { what, reason: answer.reason() });
        }
        // A shell may print messages of its own before the answer.
        let from = answer.output.find('{').unwrap_or_default();
        serde_json::from_slice(&answer.output.as_bytes()[from..])
            .map_err(|error| PhoneError::Answer(printable(&error.to_string())))
    }

    /// Removes everything that was copied to the phone. Returns whether there was anything.
    ///
    /// # Errors
    /// As [`Place::remove`].
    pub fn remove(&self) -> Result<bool, PhoneError> {
        let removed = self.place.remove();
        if !removed.as_ref().is_err_and(PhoneError::is_of_the_cable) {
            self.release();
        }
        removed
    }
}
