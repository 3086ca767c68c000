use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flashlag_schema::DeviceStats;

use super::{Answer, Command, CutMoment, CutReport, Fault, Reply};
use crate::error::ServeError;

/// A device answers at once but where it stores gigabytes.
const PATIENCE: Duration = Duration::from_secs(120);
/// The longest answer.
const LONGEST: u64 = 16 << 20;
const ADVICE: &str = "does a device run there? `flashlag device PROFILE` says its control socket";

/// A connection to a running device.
#[derive(Debug)]
pub struct Control {
    stream: BufReader<UnixStream>,
    path: PathBuf,
}

impl Control {
    /// Connects to a device's control socket.
    ///
    /// # Errors
    /// Where nobody listens there.
    pub fn connect(path: &Path) -> Result<Control, ServeError> {
        let refuse = |error: io::Error| ServeError::file("connect to", path, &error, ADVICE);
        let stream = UnixStream::connect(path).map_err(refuse)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(refuse)?;
        Ok(Control { stream: BufReader::new(stream), path: path.to_owned() })
    }

    /// Tells the device something, and waits for its answer.
    ///
    /// # Errors
    /// Where it refuses, or does not answer.
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
        Ok(serde_json::from_slice(&reply)?)
    }

    /// How the device is.
    ///
    /// # Errors
    /// As [`Control::ask`].
    pub fn stat(&mut self) -> Result<DeviceStats, ServeError> {
        match self.ask(&Command::Stat)? {
            Answer::Stats(stats) => Ok(*stats),
            other => Err(unexpected(&other)),
        }
    }

    /// Cuts the power now; says what that took.
    ///
    /// # Errors
    /// As [`Control::ask`].
    pub fn cut_now(&mut self, stay_off: bool) -> Result<CutReport, ServeError> {
        match self.ask(&Command::Cut { moment: CutMoment::Now, stay_off })? {
            Answer::Cut(report) => Ok(report),
            other => Err(unexpected(&other)),
        }
    }

    /// Makes the device go wrong.
    ///
    /// # Errors
    /// As [`Control::ask`].
    pub fn fault(&mut self, fault: Fault) -> Result<(), ServeError> {
        self.ask(&Command::Fault(fault)).map(drop)
    }
}

fn unexpected(answer: &Answer) -> ServeError {
    ServeError::Refused(format!("an answer to something else: {answer:?}"))
}
