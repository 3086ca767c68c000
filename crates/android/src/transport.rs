use std::path::Path;
use std::time::Duration;

use crate::error::PhoneError;
use crate::quote::ShellCommand;

/// The answer of a command on the phone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellAnswer {
    /// The command's exit status.
    pub status: i32,
    /// What it printed; on phones before Android 7 the errors are part of it.
    pub output: String,
    /// What it printed as errors.
    pub errors: String,
}

impl ShellAnswer {
    /// The errors, or else the last line that was printed.
    pub fn reason(&self) -> String {
        let errors = self.errors.trim();
        let text = if errors.is_empty() { self.output.trim() } else { errors };
        let last = text.lines().last().unwrap_or("no reason was printed");
        crate::identity::printable(last)
    }
}

/// The lines that a command on the phone prints, as they come.
pub trait PhoneLines: Send {
    /// The next line, without its end; `None` once the command ended or the phone is gone.
    fn next_line(&mut self) -> Option<String>;
}

/// A command on the phone that lasts as long as this value: its input ends with it.
pub trait Held: PhoneLines + std::fmt::Debug {}

/// The way to one phone.
pub trait Transport: Send + Sync {
    /// The phone's serial number or address.
    fn serial(&self) -> &str;

    /// Runs a command in the phone's shell.
    ///
    /// # Errors
    /// The phone can't be reached, or the command takes longer than the limit. A command that fails
    /// is an answer.
    fn shell(&self, command: &ShellCommand, limit: Duration) -> Result<ShellAnswer, PhoneError>;

    /// Starts a command and follows what it prints.
    fn follow(&self, command: &ShellCommand) -> Result<Box<dyn PhoneLines>, PhoneError>;

    /// Starts a command whose input stays open until the value is dropped, or this process or the cable is
    /// gone.
    fn hold(&self, command: &ShellCommand) -> Result<Box<dyn Held>, PhoneError>;

    /// Copies a file to the phone.
    fn push(&self, from: &Path, to: &str) -> Result<(), PhoneError>;

    /// Copies a file from the phone.
    fn pull(&self, from: &str, to: &Path) -> Result<(), PhoneError>;

    /// Whether the phone can be used now. A phone of the network is connected again where that is
    /// needed.
    fn is_there(&self) -> bool;
}
