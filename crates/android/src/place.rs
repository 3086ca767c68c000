//! A folder of flashlag's on a phone, and the way there: what a run and a watch do alike.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::claim;
use crate::error::PhoneError;
use crate::folder::Folder;
use crate::identity::{Identity, printable};
use crate::protocol::{Answer, SUBCOMMAND};
use crate::quote::ShellCommand;
use crate::transport::{ShellAnswer, Transport};
use crate::version;

/// Timeout of a command that only reads.
pub(crate) const LOOK: Duration = Duration::from_secs(20);

/// A folder on a phone.
pub struct Place {
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) folder: Folder,
}

impl Place {
    /// The way to the phone.
    pub fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    /// The phone's own identification.
    pub fn identity(&self) -> Result<Identity, PhoneError> {
        Identity::of(&self.shell(&["getprop"], LOOK)?.output)
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

    /// The names in the folder; `None` if there is no folder.
    pub(crate) fn names(&self) -> Result<Option<Vec<String>>, PhoneError> {
        claim::names(self.transport(), &self.folder)
    }

    /// Refuses file names that flashlag does not use.
    pub(crate) fn only_ours<'a>(
        &self,
        names: impl Iterator<Item = &'a String>,
    ) -> Result<(), PhoneError> {
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
    pub(crate) fn remove_files<'a>(
        &self,
        names: impl Iterator<Item = &'a String>,
    ) -> Result<(), PhoneError> {
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

    /// The contents of a file on the phone.
    pub(crate) fn contents(&self, from: &str) -> Result<Vec<u8>, PhoneError> {
        let folder = tempfile::tempdir();
        let folder = folder.map_err(PhoneError::file("make a folder in", std::env::temp_dir()))?;
        let here = folder.path().join("file");
        self.transport.pull(from, &here)?;
        std::fs::read(&here).map_err(PhoneError::file("read", &here))
    }

    /// Puts an order into the folder.
    pub(crate) fn give(&self, order: &impl Serialize) -> Result<(), PhoneError> {
        let mut line = Vec::new();
        let sent = flashlag_schema::remote::send(&mut line, order);
        sent.map_err(PhoneError::file("write", self.folder.order()))?;
        self.put(&line, &self.folder.order())
    }

    /// Writes a file with these contents on the phone.
    pub(crate) fn put(&self, contents: &[u8], to: &str) -> Result<(), PhoneError> {
        let made = tempfile::NamedTempFile::new();
        let file = made.map_err(PhoneError::file("make a file in", std::env::temp_dir()))?;
        let written = std::fs::write(file.path(), contents);
        written.map_err(PhoneError::file("write", file.path()))?;
        self.transport.push(file.path(), to)
    }

    /// Whether there is a file of that path.
    pub(crate) fn exists(&self, path: &str) -> Result<bool, PhoneError> {
        // `[` is part of every shell that Android has had; `test` and `stat` are not.
        Ok(self.shell(&["[", "-e", path, "]"], LOOK)?.status == 0)
    }

    /// Runs a command in the phone's shell.
    pub(crate) fn shell(&self, words: &[&str], limit: Duration) -> Result<ShellAnswer, PhoneError> {
        self.transport.shell(&ShellCommand::of(words), limit)
    }

    /// As [`Place::shell`], for a command that has to end well: `what` it does, as a noun.
    pub(crate) fn must(&self, what: &str, words: &[&str]) -> Result<(), PhoneError> {
        let answer = self.shell(words, LOOK)?;
        match answer.status {
            0 => Ok(()),
            _ => Err(PhoneError::Command { what: what.to_owned(), reason: answer.reason() }),
        }
    }

    /// Asks the phone's end.
    pub(crate) fn ask(&self, question: &str, limit: Duration) -> Result<Answer, PhoneError> {
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
