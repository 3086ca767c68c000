//! A client's connection: its authorisation and its streams.

use std::collections::HashMap;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::cable::{Cable, End, Way};
use crate::message::{Kind, Message};
use crate::shell::{self, Request};
use crate::space::Space;
use crate::stream::{self, Inlet, Input, Link, Output};
use crate::sync;

/// How the phone answers a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// The client is authorised and may do everything.
    #[default]
    Authorised,
    /// The phone waits for its owner's permission. After a change to [`State::Authorised`], a
    /// waiting client continues.
    Unauthorised,
    /// Connections are accepted but never answered.
    Silent,
}

/// What every connection of a phone needs.
pub struct Daemon {
    pub space: Mutex<Arc<Space>>,
    pub cable: Arc<Cable>,
    pub features: Vec<String>,
    /// Paths for which commands read the model's text instead of the kernel's.
    pub paths: Vec<String>,
    pub banner: Vec<u8>,
    pub version: u32,
    pub largest: u32,
    pub state: Mutex<State>,
    pub changed: Condvar,
}

impl Daemon {
    /// The namespaces since the last boot.
    pub fn space(&self) -> MutexGuard<'_, Arc<Space>> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state of the connection.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves a connection until it ends.
pub fn serve(daemon: &Arc<Daemon>, socket: TcpStream) {
    let Some(id) = daemon.cable.plug(&socket) else { return };
    let _ = socket.set_nodelay(true);
    if let Ok(writing) = socket.try_clone() {
        let end = |socket| End { socket, cable: Arc::clone(&daemon.cable) };
        let link = Arc::new(Link::new(end(writing)));
        let mut connection = Connection {
            daemon: Arc::clone(daemon),
            link,
            streams: HashMap::new(),
            next: 0,
            welcome: false,
        };
        // An error ends the connection just as the client does by closing it.
        let _ = connection.run(&mut end(socket));
    }
    daemon.cable.unplug(id);
}

struct Connection {
    daemon: Arc<Daemon>,
    link: Arc<Link>,
    streams: HashMap<u32, Inlet>,
    next: u32,
    welcome: bool,
}

/// What an `AUTH` message carries.
const TOKEN: u32 = 1;
const SIGNATURE: u32 = 2;

impl Connection {
    fn run(&mut self, end: &mut End) -> Result<()> {
        loop {
            let message = Message::read(end, || self.link.version())?;
            if self.daemon.cable.ends_at(&message, Way::ToPhone) {
                return Err(Error::from(ErrorKind::ConnectionAborted));
            }
            if *self.daemon.state() != State::Silent {
                self.answer(message)?;
            }
        }
    }

    fn answer(&mut self, message: Message) -> Result<()> {
        match message.kind {
            Kind::Connect => {
                self.streams.clear();
                let version = message.arg0.min(self.daemon.version);
                let largest = message.arg1.min(self.daemon.largest);
                if *self.daemon.state() == State::Authorised {
                    return welcome(&self.daemon, &self.link, version, largest);
                }
                self.wait_for_leave(version, largest);
                self.challenge()
            }
            Kind::Auth if message.arg0 == SIGNATURE => self.challenge(),
            // The phone shows a public key to its owner, who may answer later.
            Kind::Auth => Ok(()),
            Kind::Open => self.open(&message),
            Kind::Write => match self.streams.get(&message.arg1) {
                Some(inlet) => {
                    inlet.data(message.payload);
                    Ok(())
                }
                None => self.link.send(&Message::new(Kind::Close, 0, message.arg0, &[])),
            },
            Kind::Okay => {
                if let Some(inlet) = self.streams.get(&message.arg1) {
                    inlet.okay();
                }
                Ok(())
            }
            Kind::Close => {
                if let Some(inlet) = self.streams.remove(&message.arg1) {
                    inlet.ends.close();
                }
                Ok(())
            }
        }
    }

    fn challenge(&self) -> Result<()> {
        let token = *b"a token of 20 bytes.";
        self.link.send(&Message::new(Kind::Auth, TOKEN, 0, &token))
    }

    /// Authorises the client when the owner allows it.
    fn wait_for_leave(&mut self, version: u32, largest: u32) {
        if std::mem::replace(&mut self.welcome, true) {
            return;
        }
        let (daemon, link) = (Arc::clone(&self.daemon), Arc::downgrade(&self.link));
        thread::spawn(move || {
            let mut state = daemon.state();
            while *state != State::Authorised && link.strong_count() > 0 {
                let waited = daemon.changed.wait_timeout(state, std::time::Duration::from_secs(1));
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            drop(state);
            if let Some(link) = link.upgrade() {
                let _ = welcome(&daemon, &link, version, largest);
            }
        });
    }

    fn open(&mut self, message: &Message) -> Result<()> {
        let theirs = message.arg0;
        if *self.daemon.state() != State::Authorised {
            return self.link.send(&Message::new(Kind::Close, 0, theirs, &[]));
        }
        let name = message.payload.split(|byte| *byte == 0).next().unwrap_or_default();
        let Some(service) = Service::of(&String::from_utf8_lossy(name), &self.daemon.paths) else {
            return self.link.send(&Message::new(Kind::Close, 0, theirs, &[]));
        };
        self.next += 1;
        let (inlet, input, output) = stream::open(&self.link, self.next, theirs)?;
        self.streams.insert(self.next, inlet);
        let daemon = Arc::clone(&self.daemon);
        thread::spawn(move || service.run(&daemon, input, output));
        Ok(())
    }
}

fn welcome(daemon: &Daemon, link: &Link, version: u32, largest: u32) -> Result<()> {
    let banner = Message::new(Kind::Connect, daemon.version, daemon.largest, &daemon.banner);
    link.agree(version, largest as usize);
    link.send(&banner)
}

/// A command in which these paths are replaced by those of the model's texts.
fn of_model(command: &str, paths: &[String]) -> String {
    let continues = |c: char| c.is_alphanumeric() || "/_.-".contains(c);
    let mut command = command.to_owned();
    for path in paths {
        let mut done = String::new();
        let mut rest = command.as_str();
        while let Some(at) = rest.find(path.as_str()) {
            let (before, after) = (&rest[..at], &rest[at + path.len()..]);
            let whole = !before.ends_with(continues) && !after.starts_with(continues);
            done.push_str(before);
            if whole {
                done.push_str("/.phone");
            }
            done.push_str(path);
            if whole {
                done.push_str(".txt");
            }
            rest = after;
        }
        command = done + rest;
    }
    command
}

/// What a client can open.
enum Service {
    Shell(Request),
    Sync,
    /// A port of the phone, which is a port of this machine.
    Port(u16),
    /// One sentence.
    Says(&'static str),
}

impl Service {
    fn of(name: &str, paths: &[String]) -> Option<Service> {
        if let Some(mut request) = Request::of(name) {
            request.command = of_model(&request.command, paths);
            return Some(Service::Shell(request));
        }
        if let Some(port) = name.strip_prefix("tcp:") {
            return port.parse().ok().map(Service::Port);
        }
        match name {
            "sync:" => Some(Service::Sync),
            "root:" => Some(Service::Says("adbd cannot run as root in production builds\n")),
            "unroot:" => Some(Service::Says("adbd not running as root\n")),
            _ => None,
        }
    }

    fn run(self, daemon: &Arc<Daemon>, input: Input, mut output: Output) {
        let space = Arc::clone(&daemon.space());
        match self {
            Service::Shell(request) => shell::serve(&space, &request, input, output),
            Service::Sync => sync::serve(&space, &daemon.features, input, output),
            Service::Port(port) => forward(port, input, output),
            Service::Says(sentence) => {
                let _ = output.write_all(sentence.as_bytes());
                output.close();
            }
        }
    }
}

fn forward(port: u16, mut input: Input, mut output: Output) {
    let Ok(socket) = TcpStream::connect(("127.0.0.1", port)) else { return output.close() };
    let Ok(mut reading) = socket.try_clone() else { return output.close() };
    let mut writing = socket;
    let feeding = thread::spawn(move || {
        let _ = std::io::copy(&mut input, &mut writing);
        let _ = writing.shutdown(std::net::Shutdown::Both);
    });
    let mut buffer = vec![0; 16 << 10];
    while let Ok(length @ 1..) = reading.read(&mut buffer) {
        if output.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    output.close();
    let _ = feeding.join();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_paths_of_the_model_are_replaced_and_no_parts_of_others() {
        let paths = ["/proc/mounts".to_owned(), "/sys/a".to_owned()];
        let replaced =
            of_model("cat /proc/mounts;cat '/sys/a' /proc/mounts2 x/proc/mounts", &paths);
        let expected =
            "cat /.phone/proc/mounts.txt;cat '/.phone/sys/a.txt' /proc/mounts2 x/proc/mounts";
        assert_eq!(replaced, expected);
    }
}
