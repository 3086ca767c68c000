use std::path::Path;
use std::time::Duration;

use crate::error::PhoneError;
use crate::quote::ShellCommand;

/// The result of a command on the phone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellAnswer {
    /// The command's exit status.
    pub status: i32,
    /// Its output; on phones before Android 7, errors are part of it.
    pub output: String,
    /// What it printed as errors.
    pub errors: String,
}

impl ShellAnswer {
    /// Its errors, or without any the last line of its output.
    pub fn reason(&self) -> String {
        let errors = self.errors.trim();
        let text = if errors.is_empty() { self.output.trim() } else { errors };
        let last = text.lines().last().unwrap_or("no reason was printed");
        crate::identity::printable(last)
    }
}

/// The lines that a command on the phone prints, as they arrive.
pub trait PhoneLines: Send {
    /// The next line, without its newline; `None` once the command has ended or the phone is gone.
    fn next_line(&mut self) -> Option<String>;
}

/// A command on the phone that runs until this value is dropped, which closes its input.
pub trait Held: PhoneLines + std::fmt::Debug {}

/// The way to one phone.
pub trait Transport: Send + Sync {
    /// The phone's serial number or address.
    fn serial(&self) -> &str;

    /// Runs a command in the phone's shell.
    ///
    /// # Errors
    /// The phone can't be reached, or the command takes longer than the limit. A command that fails
    /// is not an error.
    fn shell(&self, command: &ShellCommand, limit: Duration) -> Result<ShellAnswer, PhoneError>;

    /// Starts a command and follows what it prints.
    fn follow(&self, command: &ShellCommand) -> Result<Box<dyn PhoneLines>, PhoneError>;

    /// Starts a command whose input stays open until the value is dropped, this process ends or the
    /// cable is pulled.
    fn hold(&self, command: &ShellCommand) -> Result<Box<dyn Held>, PhoneError>;

    /// Copies a file to the phone.
    fn push(&self, from: &Path, to: &str) -> Result<(), PhoneError>;

    /// Copies a file from the phone.
    fn pull(&self, from: &str, to: &Path) -> Result<(), PhoneError>;

    /// Whether the phone is usable now. Reconnects a network phone if necessary.
    fn is_there(&self) -> bool;
}
