use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flashlag_schema::DeviceStats;
use flashlag_units::printable_line;

use super::{Answer, Command, Fault, Reply};
use crate::error::ServeError;

/// The longest wait for an answer. Only storing gigabytes takes long.
const PATIENCE: Duration = Duration::from_secs(120);
/// The longest answer.
const LONGEST: u64 = 16 << 20;
const ADVICE: &str = "does a device run there? `flashlag device PROFILE` prints its control socket";

/// A connection to a running device.
#[derive(Debug)]
pub struct Control {
    stream: BufReader<UnixStream>,
    path: PathBuf,
}

impl Control {
    /// Connects to a device's control socket.
    pub fn connect(path: &Path) -> Result<Control, ServeError> {
        let refuse = |error: io::Error| ServeError::file("connect to", path, &error, ADVICE);
        check_owner(path).map_err(refuse)?;
        let stream = UnixStream::connect(path).map_err(refuse)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(refuse)?;
        Ok(Control { stream: BufReader::new(stream), path: path.to_owned() })
    }

    /// Sends a command and waits for the answer.
    pub fn ask(&mut self, command: &Command) -> Result<Answer, ServeError> {
        match self.exchange(command) {
            Ok(Reply::Ok(answer)) => Ok(answer),
            Ok(Reply::Error(reason)) => Err(ServeError::Refused(reason)),
            Err(error) => Err(ServeError::file("ask", &self.path, &error, ADVICE)),
        }
    }

    fn exchange(&mut self, command: &Command) -> io::Result<Reply> {
        let mut line = serde_json::to_vec(command)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        let mut reply = Vec::new();
        (&mut self.stream).take(LONGEST).read_until(b'\n', &mut reply)?;
        if reply.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut reply: serde_json::Value = serde_json::from_slice(&reply)?;
        make_printable(&mut reply);
        Ok(serde_json::from_value(reply)?)
    }

    /// The device's statistics.
    pub fn stat(&mut self) -> Result<DeviceStats, ServeError> {
        match self.ask(&Command::Stat)? {
            Answer::Stats(stats) => Ok(*stats),
            other => Err(other.unexpected()),
        }
    }

    /// Sets a fault.
    pub fn fault(&mut self, fault: Fault) -> Result<(), ServeError> {
        self.ask(&Command::Fault(fault)).map(drop)
    }
}

/// Refuses a socket of another user, since anybody can make one in a public folder. Sockets of root
/// are allowed, as far as their permissions go.
fn check_owner(socket: &Path) -> io::Result<()> {
    match std::fs::metadata(socket)?.uid() {
        owner if is_trusted(owner) => Ok(()),
        owner => {
            let reason = format!("it is user {owner}'s, and neither this user's nor root's");
            Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
        }
    }
}

/// Whether a device of that user is trusted: the user's own, or root's.
fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

/// Strings of a reply are printed: remove control characters, which could act on the terminal.
fn make_printable(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = printable_line(text),
        serde_json::Value::Array(all) => all.iter_mut().for_each(make_printable),
        serde_json::Value::Object(all) => all.values_mut().for_each(make_printable),
        _ => {}
    }
}

impl Answer {
    /// The error for an answer that belongs to another command than the one asked.
    pub fn unexpected(&self) -> ServeError {
        ServeError::Refused(format!("an answer to another command: `{}`", self.name()))
    }
}
