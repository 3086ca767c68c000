//! The `adb` program.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

use crate::connected::{Connected, Connection};
use crate::error::PhoneError;
use crate::identity::printable;
use crate::quote::ShellCommand;
use crate::transport::{Held, PhoneLines, ShellAnswer, Transport};

/// The environment variable with the path of the adb program, which other tools use, too.
const VARIABLE: &str = "ADB";
/// Timeout of a short adb command.
const QUESTION: Duration = Duration::from_secs(15);
/// Timeout of copying a file of some megabytes over a slow cable.
const COPY: Duration = Duration::from_secs(300);
/// The first version of adb (2014) whose shell and file transfer work as needed here.
const OLDEST: (u32, u32, u32) = (1, 0, 32);
/// Printed after a command's output, before its exit status: before Android 7, phones do not pass
/// on the status themselves.
const STATUS: &str = "flashlag-status:";
/// Most output of a program to keep.
const LONGEST: u64 = 64 << 20;

/// The adb program of this machine, whose server is running.
#[derive(Clone, Debug)]
pub struct Adb {
    program: PathBuf,
}

/// A program that ended.
struct Done {
    status: ExitStatus,
    output: String,
    errors: String,
}

impl Adb {
    /// Finds the program, checks its version and starts its server.
    pub fn find() -> Result<Adb, PhoneError> {
        let program =
            std::env::var_os(VARIABLE).map_or_else(|| PathBuf::from("adb"), PathBuf::from);
        let adb = Adb { program };
        let version = adb.ask(&["version"], QUESTION)?.output;
        check_version(&version)?;
        // Starts the server separately, since a new server keeps the descriptors that it inherits.
        let started = adb.ask(&["start-server"], QUESTION)?;
        if started.status.success() { Ok(adb) } else { Err(refused("start-server", &started)) }
    }

    /// The phones that are connected.
    pub fn connected(&self) -> Result<Vec<Connected>, PhoneError> {
        let done = self.ask(&["devices", "-l"], QUESTION)?;
        if done.status.success() {
            Ok(Connected::list(&done.output))
        } else {
            Err(refused("devices", &done))
        }
    }

    /// The way to one phone.
    pub fn phone(&self, serial: &str) -> impl Transport + use<> {
        AdbPhone { adb: self.clone(), serial: serial.to_owned() }
    }

    fn ask(&self, words: &[&str], limit: Duration) -> Result<Done, PhoneError> {
        self.run(self.command(words), words.first().copied().unwrap_or_default(), limit)
    }

    fn command(&self, words: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).stdin(Stdio::null());
        command
    }

    /// Runs the program with a timeout. Its output goes to files, since a server that the program
    /// starts would keep a pipe open.
    fn run(&self, mut command: Command, action: &str, limit: Duration) -> Result<Done, PhoneError> {
        let temporary = || {
            let made = tempfile::tempfile();
            made.map_err(PhoneError::file("make a temporary file in", std::env::temp_dir()))
        };
        let (mut output, mut errors) = (temporary()?, temporary()?);
        let copy = |file: &File| {
            file.try_clone().map_err(PhoneError::file("open a file in", std::env::temp_dir()))
        };
        command.stdout(copy(&output)?).stderr(copy(&errors)?);
        let mut child = command.spawn().map_err(|source| self.not_started(source))?;
        let waited = child.wait_timeout(limit);
        let Ok(Some(status)) = waited else {
            end(&mut child);
            return Err(PhoneError::Late { action: action.to_owned(), limit });
        };
        Ok(Done { status, output: text_of(&mut output), errors: text_of(&mut errors) })
    }

    fn not_started(&self, source: std::io::Error) -> PhoneError {
        match source.kind() {
            std::io::ErrorKind::NotFound => PhoneError::NoAdb,
            _ => PhoneError::Start { program: self.program.clone(), source },
        }
    }
}

/// Kills a program. An error means that it has already exited.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn text_of(file: &mut File) -> String {
    let mut bytes = Vec::new();
    // Output that can't be read is treated as absent.
    let _ = file.rewind().and_then(|()| file.take(LONGEST).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn refused(action: &str, done: &Done) -> PhoneError {
    let text = if done.errors.trim().is_empty() { &done.output } else { &done.errors };
    let reason = reason_in(text).unwrap_or_else(|| format!("it failed ({})", done.status));
    PhoneError::Adb { action: action.to_owned(), reason }
}

/// The command's exit status is missing: adb ended before the phone had answered, whatever adb's
/// own status is.
fn cut_short(done: &Done) -> PhoneError {
    let reason = reason_in(&done.errors).unwrap_or_else(|| {
        "the connection ended before the phone's answer did: was the cable pulled, or did the phone restart?"
            .to_owned()
    });
    PhoneError::Adb { action: "shell".to_owned(), reason }
}

/// The line of adb's output with the reason: the last line with an error, or without one the last
/// line. Lines with a star are about the server; after a failed copy, the last line says how much
/// was copied.
fn reason_in(text: &str) -> Option<String> {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('*'))
        .collect();
    let says_why = |line: &&&str| line.contains("error") || line.contains("failed");
    lines.iter().rev().find(says_why).or(lines.last()).map(|line| printable(line))
}

/// `Android Debug Bridge version 1.0.41`.
fn check_version(text: &str) -> Result<(), PhoneError> {
    let line = text.lines().next().unwrap_or_default();
    let found = line.rsplit(' ').next().unwrap_or_default();
    let mut numbers = found.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    if (next(), next(), next()) < OLDEST {
        Err(PhoneError::OldAdb { found: printable(line) })
    } else {
        Ok(())
    }
}

/// A phone that adb reaches.
#[derive(Debug)]
struct AdbPhone {
    adb: Adb,
    serial: String,
}

impl AdbPhone {
    fn ask(&self, words: &[&str], limit: Duration) -> Result<Done, PhoneError> {
        self.adb.run(self.command(words), words.first().copied().unwrap_or_default(), limit)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.adb.command(&["-s", &self.serial]);
        command.args(words);
        command
    }

    fn lines(&self, mut adb: Command) -> Result<AdbLines, PhoneError> {
        let mut child = adb.spawn().map_err(|source| self.adb.not_started(source))?;
        let output = child.stdout.take().map(BufReader::new);
        let input = child.stdin.take();
        Ok(AdbLines { child, output, _input: input })
    }

    fn copied(&self, words: &[&str]) -> Result<(), PhoneError> {
        let done = self.ask(words, COPY)?;
        if done.status.success() {
            Ok(())
        } else {
            Err(refused(words.first().copied().unwrap_or_default(), &done))
        }
    }
}

impl Transport for AdbPhone {
    fn serial(&self) -> &str {
        &self.serial
    }

    fn shell(&self, command: &ShellCommand, limit: Duration) -> Result<ShellAnswer, PhoneError> {
        let text = format!("{command}; echo {STATUS}$?");
        let done = self.ask(&["shell", &text], limit)?;
        // Old phones put a terminal in between, which ends lines by two characters.
        let output = done.output.replace('\r', "");
        let (printed, status) = output.rsplit_once(STATUS).ok_or_else(|| cut_short(&done))?;
        let status = status.trim().parse().map_err(|_| cut_short(&done))?;
        let errors = done.errors.replace('\r', "");
        Ok(ShellAnswer { status, output: printed.to_owned(), errors })
    }

    fn follow(&self, command: &ShellCommand) -> Result<Box<dyn PhoneLines>, PhoneError> {
        let mut adb = self.command(&["shell", command.text()]);
        adb.stdout(Stdio::piped()).stderr(Stdio::null());
        Ok(Box::new(self.lines(adb)?))
    }

    fn hold(&self, command: &ShellCommand) -> Result<Box<dyn Held>, PhoneError> {
        let mut adb = self.command(&["shell", &format!("{{ {command}; }} 2>&1")]);
        adb.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Ok(Box::new(self.lines(adb)?))
    }

    fn push(&self, from: &Path, to: &str) -> Result<(), PhoneError> {
        self.copied(&["push", &from.to_string_lossy(), to])
    }

    fn pull(&self, from: &str, to: &Path) -> Result<(), PhoneError> {
        self.copied(&["pull", from, &to.to_string_lossy()])
    }

    fn is_there(&self) -> bool {
        let ready = || {
            let connected = self.adb.connected().unwrap_or_default();
            connected
                .iter()
                .any(|phone| phone.serial == self.serial && phone.connection == Connection::Ready)
        };
        if ready() {
            return true;
        }
        if !is_an_address(&self.serial) {
            return false;
        }
        // The server drops a network phone that does not come back within some seconds. An offline
        // entry must be removed before it can be connected again.
        let _ = self.adb.ask(&["disconnect", &self.serial], QUESTION);
        let _ = self.adb.ask(&["connect", &self.serial], QUESTION);
        ready()
    }
}

/// `HOST:PORT`.
fn is_an_address(serial: &str) -> bool {
    serial.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

/// The output of `adb shell`, line by line. Dropping it ends the program.
#[derive(Debug)]
struct AdbLines {
    child: Child,
    output: Option<BufReader<ChildStdout>>,
    /// The command lasts as long as this is open.
    _input: Option<ChildStdin>,
}

impl Held for AdbLines {}

impl PhoneLines for AdbLines {
    fn next_line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let read = self.output.as_mut()?.take(LONGEST).read_until(b'\n', &mut line).ok()?;
        // A line without a newline was cut off when the cable was pulled.
        if read == 0 || line.pop() != Some(b'\n') {
            return None;
        }
        let line = String::from_utf8_lossy(&line);
        Some(line.strip_suffix('\r').unwrap_or(&line).to_owned())
    }
}

impl Drop for AdbLines {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adb_from_before_2014_is_too_old() {
        assert!(
            check_version("Android Debug Bridge version 1.0.41\nVersion 29.0.6-debian\n").is_ok()
        );
        assert!(check_version("Android Debug Bridge version 1.0.32").is_ok());
        assert!(check_version("Android Debug Bridge version 2.0.0").is_ok());
        for old in ["Android Debug Bridge version 1.0.31", "", "what is this"] {
            let error = check_version(old).unwrap_err().to_string();
            assert!(error.contains("too old"), "{error}");
        }
    }

    #[test]
    fn a_serial_number_with_a_port_is_an_address() {
        assert!(is_an_address("192.168.1.7:5555") && is_an_address("[fe80::1]:5555"));
        assert!(!is_an_address("0A1B2C") && !is_an_address("adb-1._adb-tls-connect._tcp"));
    }

    #[test]
    fn the_reason_of_a_failed_copy_is_the_line_about_the_error() {
        let full = "a: 0 files pushed. 297.9 MB/s\nadb: error: failed to copy 'a': remote No space left \
                    on device\na: 0 files pushed, 0 skipped.\n";
        assert!(reason_in(full).unwrap().ends_with("No space left on device"));
        let server = "* daemon not running\nadb: device offline\n";
        assert_eq!(reason_in(server).as_deref(), Some("adb: device offline"));
        assert_eq!(reason_in("* daemon started\n"), None);
    }

    #[test]
    fn a_missing_adb_says_how_to_get_it_and_one_that_hangs_is_ended() {
        let none = Adb { program: "/nowhere/adb".into() };
        assert!(matches!(none.ask(&["version"], QUESTION), Err(PhoneError::NoAdb)));
        let slow = Adb { program: "sleep".into() };
        let late = slow.ask(&["1000"], Duration::from_millis(50));
        assert!(matches!(late, Err(PhoneError::Late { .. })));
        let fails = Adb { program: "cat".into() };
        let done = fails.ask(&["/nowhere/file"], QUESTION).unwrap();
        assert!(refused("cat", &done).to_string().contains("No such file"));
    }

    #[test]
    fn an_answer_that_the_cable_cut_off_is_no_success() {
        let silent = Adb { program: "true".into() }.ask(&[], QUESTION).unwrap();
        let said = cut_short(&silent).to_string();
        assert!(said.contains("the connection ended before") && !said.contains("status"), "{said}");
        // The beginning of an answer is not a reason either.
        let begun = Adb { program: "echo".into() }.ask(&["[ro.product"], QUESTION).unwrap();
        assert_eq!(cut_short(&begun).to_string(), said);
    }
}
