//! A watch on a phone, as seen from this machine: it is begun there and goes on alone; what it found
//! is fetched now and then.

use std::path::Path;
use std::time::Duration;

use crate::error::PhoneError;
use crate::folder::Folder;
use crate::place::{LOOK, Place};
use crate::protocol::{Answer, WatchOrder, Watched};
use crate::transport::Transport;

/// Timeout of the watch's start and end, both of which wait for the phone's storage.
const CHANGE: Duration = Duration::from_secs(60);

/// A watch on a phone.
pub struct WatchOnPhone(Place);

impl WatchOnPhone {
    /// The watch of a phone.
    pub fn new(transport: Box<dyn Transport>) -> WatchOnPhone {
        WatchOnPhone(Place { transport, folder: Folder::of_watch() })
    }

    /// The phone, and the watch's folder there.
    pub fn place(&self) -> &Place {
        &self.0
    }

    /// What the phone says of its watch; `None` if there is none.
    ///
    /// # Errors
    /// The phone can't be reached, or the program there is of another version.
    pub fn state(&self) -> Result<Option<Watched>, PhoneError> {
        let program = self.0.folder.program();
        let has_program =
            |names: &Vec<String>| names.iter().any(|name| self.0.folder.of(name) == program);
        match self.0.names()?.filter(has_program) {
            Some(_) => self.ask("watched", LOOK).map(Some),
            None => Ok(None),
        }
    }

    /// Puts flashlag on the phone and begins a watch there. A history that is there already goes on.
    ///
    /// # Errors
    /// The phone can't be reached, is watched already, has no room, or can't be watched; then nothing
    /// new is left there.
    pub fn begin(&self, program: &Path, order: &WatchOrder) -> Result<Watched, PhoneError> {
        let names = self.0.names()?;
        self.0.only_ours(names.iter().flatten())?;
        let path = self.0.folder.path();
        if names.is_none() {
            self.0.must(&format!("making the folder {path}"), &["mkdir", path])?;
        }
        let begun = self
            .0
            .install(program, &order.program)
            .and_then(|()| self.0.give(order))
            .and_then(|()| self.ask("watch", CHANGE));
        if begun.is_err() && names.is_none() {
            // The first error is the one to report.
            let _ = self.0.remove();
        }
        begun
    }

    /// The history so far.
    ///
    /// # Errors
    /// The phone can't be reached, or there is no history.
    pub fn history(&self) -> Result<Vec<u8>, PhoneError> {
        self.0.contents(&self.0.folder.history())
    }

    /// Whether the phone has the folder of a watch.
    ///
    /// # Errors
    /// The phone can't be reached.
    pub fn is_there(&self) -> Result<bool, PhoneError> {
        Ok(self.0.names()?.is_some())
    }

    /// Ends the watch; its history stays.
    ///
    /// # Errors
    /// The phone can't be reached, or the watch does not end.
    pub fn end(&self) -> Result<Watched, PhoneError> {
        self.ask("unwatch", CHANGE)
    }

    fn ask(&self, question: &str, limit: Duration) -> Result<Watched, PhoneError> {
        match self.0.ask(question, limit)? {
            Answer::Watched(watched) => Ok(*watched),
            other => Err(PhoneError::Answer(other.name().to_owned())),
        }
    }
}
