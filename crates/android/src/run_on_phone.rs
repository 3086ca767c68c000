//! A run on a phone, as seen from this machine: what it copies there, starts, follows and removes.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flashlag_schema::Run;
use flashlag_schema::finding::Explained;

use crate::claim;
use crate::error::PhoneError;
use crate::folder::{Folder, host_of};
use crate::identity::{Identity, printable};
use crate::protocol::{Answer, Line, PhoneOrder, Prepared, RunState, SUBCOMMAND};
use crate::quote::ShellCommand;
use crate::transport::{Held, ShellAnswer, Transport};
use crate::version;

/// Timeout of a command that only reads.
const LOOK: Duration = Duration::from_secs(20);
/// Timeout of the checks before a run, which remove the files of killed runs.
const PREPARE: Duration = Duration::from_secs(300);
/// How long to watch a host that prepares a run before the phone counts as taken, and how often.
const PATIENCE: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(200);

/// A run on a phone.
pub struct RunOnPhone {
    transport: Box<dyn Transport>,
    folder: Folder,
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
            transport,
            folder: Folder::default(),
            claim: Mutex::default(),
            judged: Mutex::default(),
        }
    }

    /// The way to the phone.
    pub fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    /// The phone's own identification.
    pub fn identity(&self) -> Result<Identity, PhoneError> {
        Identity::of(&self.shell(&["getprop"], LOOK)?.output)
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
            let names = self.names()?;
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
            let has_host = claim::host_is_there(self.transport(), &names)?;
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
        let path = self.folder.order();
        if !names.iter().any(|name| self.folder.of(name) == path) {
            return Ok(None);
        }
        let read = self.shell(&["cat", &path], LOOK)?;
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
        self.only_ours(names.iter().flatten())?;
        let held = claim::take(self.transport(), &self.folder, names.as_deref())?;
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
        match self.names()? {
            Some(_) => Ok(self.taken()),
            None => Ok(PhoneError::Command {
                what: format!("making the folder {}", self.folder.path()),
                reason: "the phone's shell did not say why".to_owned(),
            }),
        }
    }

    /// Removes what an earlier run left in the folder, which stays claimed.
    ///
    /// # Errors
    /// The phone can't be reached, or something is left.
    pub fn empty(&self) -> Result<(), PhoneError> {
        let Some(names) = self.names()? else { return Ok(()) };
        let left = |name: &&String| host_of(name).is_none();
        self.remove_files(names.iter().filter(left))
    }

    fn taken(&self) -> PhoneError {
        PhoneError::Taken { serial: self.transport.serial().to_owned() }
    }

    fn names(&self) -> Result<Option<Vec<String>>, PhoneError> {
        claim::names(self.transport(), &self.folder)
    }

    /// Refuses file names that flashlag does not use.
    fn only_ours<'a>(&self, names: impl Iterator<Item = &'a String>) -> Result<(), PhoneError> {
        let foreign = names.filter(|name| !self.folder.has(name));
        self.nothing_of(foreign.map(|name| printable(name)).collect())
    }

    fn nothing_of(&self, names: Vec<String>) -> Result<(), PhoneError> {
        if names.is_empty() {
            return Ok(());
        }
        let (folder, serial) = (self.folder.path().to_owned(), self.transport.serial().to_owned());
        Err(PhoneError::Foreign { folder, names, serial })
    }

    /// First restores the phone's settings, then removes those files that are flashlag's.
    fn remove_files<'a>(&self, names: impl Iterator<Item = &'a String>) -> Result<(), PhoneError> {
        let ours = names.filter(|name| self.folder.has(name));
        let files: Vec<String> = ours.map(|name| self.folder.of(name)).collect();
        if files.contains(&self.folder.awake()) {
            self.ask("sleep", LOOK)?;
        }
        if files.is_empty() {
            return Ok(());
        }
        let mut words = vec!["rm", "-f"];
        words.extend(files.iter().map(String::as_str));
        // The error names what is left, so the exit status does not matter.
        self.shell(&words, LOOK).map(drop)
    }

    /// The state of the run in the phone's folder.
    pub fn state(&self) -> Result<RunState, PhoneError> {
        match self.ask("state", LOOK) {
            Ok(Answer::State(state)) => Ok(state),
            Err(error) if error.is_of_the_cable() => Err(error),
            // A program that was not copied completely has started nothing.
            _ => Ok(RunState::Dead),
        }
    }

    /// Whether the phone has a run file that can be continued.
    pub fn has_run_file(&self) -> Result<bool, PhoneError> {
        self.exists(&self.folder.run())
    }

    /// Copies the program into the folder and runs it to get its version. `here` is the version and
    /// commit of this end.
    ///
    /// # Errors
    /// The phone can't be reached, has no room, or does not run the program, or the program is of
    /// another version.
    pub fn install(&self, program: &Path, here: &str) -> Result<(), PhoneError> {
        let there = self.folder.program();
        self.transport.push(program, &there)?;
        self.must("making the program executable", &["chmod", "755", &there])?;
        match self.ask("hello", LOOK) {
            Ok(Answer::Hello { program: there, format }) => {
                version::same(program, &there, format, here)
            }
            Ok(other) => Err(PhoneError::Answer(other.name().to_owned())),
            Err(PhoneError::Answer(text)) => Err(PhoneError::DoesNotRun(text)),
            Err(error) => Err(error),
        }
    }

    /// Puts the order into the folder.
    pub fn give(&self, order: &PhoneOrder) -> Result<(), PhoneError> {
        let mut line = Vec::new();
        let sent = flashlag_schema::remote::send(&mut line, order);
        sent.map_err(PhoneError::file("write", self.folder.order()))?;
        self.put(&line, &self.folder.order())
    }

    /// Copies an earlier run into the folder, to be continued.
    pub fn bring(&self, earlier: &Run) -> Result<(), PhoneError> {
        self.put(earlier.to_json().as_bytes(), &self.folder.run())
    }

    /// Makes the phone check that the run is possible, and compute its cost.
    pub fn prepare(&self) -> Result<Prepared, PhoneError> {
        match self.ask("prepare", PREPARE)? {
            Answer::Prepared(prepared) => Ok(*prepared),
            other => Err(PhoneError::Answer(other.name().to_owned())),
        }
    }

    /// Starts the run, detached from this machine.
    pub fn start(&self) -> Result<(), PhoneError> {
        match self.ask("start", PREPARE)? {
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
        self.ask("stop", LOOK).map(drop)
    }

    /// Follows the run from the step after that number.
    pub fn follow(&self, after: u64) -> Result<Following, PhoneError> {
        let number = after.to_string();
        let words = [&*self.folder.program(), SUBCOMMAND, "follow", self.folder.path(), &number];
        let mut lines = self.transport.follow(&ShellCommand::of(&words))?;
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
        let folder = tempfile::tempdir();
        let folder = folder.map_err(PhoneError::file("make a folder in", std::env::temp_dir()))?;
        let here = folder.path().join("run.json");
        self.transport.pull(&self.folder.run(), &here)?;
        let text = std::fs::read_to_string(&here).map_err(PhoneError::file("read", &here))?;
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
        let words = [&*self.folder.program(), "explain", "--json", directory];
        let answer = self.shell(&words, LOOK)?;
        if answer.status != 0 {
            let what = format!("explaining {directory}");
            return Err(PhoneError::Command { what, reason: answer.reason() });
        }
        // A shell may print messages of its own before the answer.
        let from = answer.output.find('{').unwrap_or_default();
        serde_json::from_slice(&answer.output.as_bytes()[from..])
            .map_err(|error| PhoneError::Answer(printable(&error.to_string())))
    }

    /// Makes flashlag on the phone remove the files that killed runs left in a directory.
    ///
    /// # Errors
    /// The phone can't be reached, or something is left.
    pub fn sweep(&self, directory: &str) -> Result<(), PhoneError> {
        let words = [&*self.folder.program(), "clean", directory];
        self.must(&format!("removing flashlag's files in {directory}"), &words)
    }

    /// Removes everything that was copied to the phone. Returns whether there was anything.
    ///
    /// # Errors
    /// The phone can't be reached, or something is left: files that are not flashlag's stay.
    pub fn remove(&self) -> Result<bool, PhoneError> {
        let path = self.folder.path();
        let Some(names) = self.names()? else { return Ok(false) };
        self.remove_files(names.iter())?;
        let removed = self.shell(&["rmdir", path], LOOK)?;
        self.release();
        if removed.status == 0 {
            return Ok(true);
        }
        match self.names()? {
            // Somebody else removed it meanwhile.
            None => Ok(true),
            Some(left) => {
                self.nothing_of(left.iter().map(|name| printable(name)).collect())?;
                let what = format!("removing the folder {path}");
                Err(PhoneError::Command { what, reason: removed.reason() })
            }
        }
    }

    /// Writes a file with these contents on the phone.
    fn put(&self, contents: &[u8], to: &str) -> Result<(), PhoneError> {
        let made = tempfile::NamedTempFile::new();
        let file = made.map_err(PhoneError::file("make a file in", std::env::temp_dir()))?;
        let written = std::fs::write(file.path(), contents);
        written.map_err(PhoneError::file("write", file.path()))?;
        self.transport.push(file.path(), to)
    }

    fn exists(&self, path: &str) -> Result<bool, PhoneError> {
        // `[` is part of every shell that Android has had; `test` and `stat` are not.
        Ok(self.shell(&["[", "-e", path, "]"], LOOK)?.status == 0)
    }

    fn shell(&self, words: &[&str], limit: Duration) -> Result<ShellAnswer, PhoneError> {
        self.transport.shell(&ShellCommand::of(words), limit)
    }

    fn must(&self, what: &str, words: &[&str]) -> Result<(), PhoneError> {
        let answer = self.shell(words, LOOK)?;
        match answer.status {
            0 => Ok(()),
            _ => Err(PhoneError::Command { what: what.to_owned(), reason: answer.reason() }),
        }
    }

    /// Asks the phone's end.
    fn ask(&self, question: &str, limit: Duration) -> Result<Answer, PhoneError> {
        let program = self.folder.program();
        let answer = self.shell(&[&program, SUBCOMMAND, question, self.folder.path()], limit)?;
        let parsed = answer
            .output
            .lines()
            .rev()
            .find_map(|line| serde_json::from_slice(line.as_bytes()).ok());
        match parsed {
            Some(Answer::Failed { error }) => Err(PhoneError::Reported(error)),
            Some(answer) => Ok(answer),
            None => Err(PhoneError::Answer(printable(&answer.reason()))),
        }
    }
}
