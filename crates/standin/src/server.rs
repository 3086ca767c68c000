//! A separate adb server, so that tests do not affect each other.

use std::io::{Error, ErrorKind, Result};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use tempfile::TempDir;

use crate::phone::Phone;
use crate::space::pid;

/// Timeout of the client.
const PATIENCE: Duration = Duration::from_secs(30);

/// An adb server on its own port. Dropping it ends it.
pub struct AdbServer {
    port: u16,
    home: TempDir,
    adb: PathBuf,
}

impl AdbServer {
    /// Starts a server with its own home folder, and so with its own keys.
    pub fn start() -> Result<AdbServer> {
        let adb = flashlag_need::find("adb").ok_or_else(|| Error::other("there is no adb"))?;
        let home = tempfile::Builder::new().prefix("flashlag-adb").tempdir()?;
        let mut server = AdbServer { port: 0, home, adb };
        let mut said = Vec::new();
        // Another program may take a free port before adb binds it.
        for _ in 0..5 {
            server.port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            let started = server.run(&["start-server"])?;
            if started.status.success() {
                return Ok(server);
            }
            said = started.stderr;
        }
        // There is nothing to end: the port belongs to another program.
        server.port = 0;
        Err(Error::other(String::from_utf8_lossy(&said).into_owned()))
    }

    /// The port, for `ANDROID_ADB_SERVER_PORT`.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The variables that make any adb use this server.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        let home = self.home.path().display().to_string();
        [
            ("ANDROID_ADB_SERVER_PORT", self.port.to_string()),
            ("HOME", home.clone()),
            ("TMPDIR", home),
            ("ADB_MDNS", "0".to_owned()),
        ]
    }

    /// The client, which uses this server.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.adb);
        command.envs(self.variables()).env_remove("ANDROID_SERIAL").env_remove("ADB_TRACE");
        command.stdin(Stdio::null());
        command
    }

    /// Runs the client with these arguments until it exits.
    ///
    /// # Errors
    /// The client can't be started; [`ErrorKind::TimedOut`] if it hangs for 30 seconds.
    pub fn run(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = self.command();
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn()?;
        let client = pid(child.id());
        let (ended, end) = channel();
        let waiting = thread::spawn(move || ended.send(child.wait_with_output()));
        if let Ok(output) = end.recv_timeout(PATIENCE) {
            return output;
        }
        if let Some(client) = client {
            let _ = kill_process(client, Signal::KILL);
        }
        let _ = waiting.join();
        Err(Error::new(ErrorKind::TimedOut, format!("adb {} hangs", arguments.join(" "))))
    }

    /// Runs a command on a phone.
    pub fn shell(&self, serial: &str, command: &str) -> Result<Output> {
        self.run(&["-s", serial, "shell", command])
    }

    /// Connects to a phone; returns its serial number for `adb -s`.
    pub fn connect(&self, phone: &Phone) -> Result<String> {
        let serial = phone.address().to_string();
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let said = self.run(&["connect", &serial])?;
            let state = self.run(&["-s", &serial, "get-state"])?;
            if state.stdout.starts_with(b"device") {
                return Ok(serial);
            }
            // A dead connection would block a new one.
            let _ = self.run(&["disconnect", &serial])?;
            if Instant::now() > until {
                let texts = [said.stdout, state.stdout, state.stderr].concat();
                return Err(Error::other(String::from_utf8_lossy(&texts).into_owned()));
            }
        }
    }
}

impl Drop for AdbServer {
    fn drop(&mut self) {
        if self.port != 0 {
            let _ = self.run(&["kill-server"]);
        }
    }
}
