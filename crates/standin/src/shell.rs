//! The services that start a command: `shell:`, `shell,v2,...:` and `exec:`.

use std::io::{PipeReader, Read, Result, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::process::{Signal, kill_process};
use rustix::pty::OpenptFlags;

use crate::space::{Space, child_of, pid};
use crate::stream::{Input, Output};

/// How to run a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Whether output comes in packets, with an exit code and a separate standard error.
    pub packets: bool,
    /// Whether input and output are a terminal.
    pub terminal: bool,
    pub term: Option<String>,
    /// Empty for an interactive shell.
    pub command: String,
}

impl Request {
    /// The request in a service's name; `None` if it is another service.
    pub fn of(service: &str) -> Option<Request> {
        if let Some(command) = service.strip_prefix("exec:") {
            return Some(Request { command: command.to_owned(), ..Request::default() });
        }
        let rest = service.strip_prefix("shell")?;
        let (arguments, command) = rest.split_once(':')?;
        let mut request = Request { command: command.to_owned(), ..Request::default() };
        // adbd's default is a terminal.
        request.terminal = true;
        for argument in arguments.split(',') {
            match argument {
                "v2" => request.packets = true,
                "raw" => request.terminal = false,
                "pty" => request.terminal = true,
                other => {
                    let term = other.strip_prefix("TERM=").map(str::to_owned);
                    request.term = term.or(request.term);
                }
            }
        }
        Some(request)
    }
}

mod packet {
    pub const STDIN: u8 = 0;
    pub const STDOUT: u8 = 1;
    pub const STDERR: u8 = 2;
    pub const EXIT: u8 = 3;
    pub const CLOSE_STDIN: u8 = 4;
}

/// Sends both outputs of a command through one stream.
struct Sink {
    output: Mutex<Output>,
    packets: bool,
}

impl Sink {
    fn send(&self, kind: u8, bytes: &[u8]) -> Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.packets {
            return output.write_all(bytes);
        }
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
        let packet = [&[kind], length.as_slice(), bytes].concat();
        output.write_all(&packet)
    }

    fn close(&self) {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).close();
    }
}

/// What a command reads from and writes to.
struct Ends {
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: Option<OwnedFd>,
}

/// Runs a command until its outputs end or the client is gone.
pub fn serve(space: &Arc<Space>, request: &Request, input: Input, output: Output) {
    let gone = output.gone();
    let sink = Arc::new(Sink { output: Mutex::new(output), packets: request.packets });
    let (mut child, ends) = match start(space, request) {
        Ok(started) => started,
        Err(error) => {
            let _ = sink.send(packet::STDERR, format!("error: {error}\n").as_bytes());
            return sink.close();
        }
    };
    let outputs = [(packet::STDOUT, Some(ends.stdout)), (packet::STDERR, ends.stderr)];
    let pumps: Vec<JoinHandle<()>> = outputs
        .into_iter()
        .filter_map(|(kind, from)| Some((kind, from?)))
        .map(|(kind, from)| {
            let (sink, gone) = (Arc::clone(&sink), Arc::clone(&gone));
            thread::spawn(move || pump(&sink, kind, from, &gone))
        })
        .collect();
    let (packets, stdin) = (request.packets, ends.stdin);
    thread::spawn(move || feed(input, stdin, packets));
    for pump in pumps {
        let _ = pump.join();
    }
    // As adbd does when the client leaves before the command has ended.
    if packets
        && is_gone(&gone)
        && let Some(shell) = child_of(child.id()).and_then(pid)
    {
        let _ = kill_process(shell, Signal::HUP);
    }
    if let Ok(status) = child.wait()
        && packets
    {
        let _ = sink.send(packet::EXIT, &[code(status)]);
    }
    sink.close();
}

fn is_gone(gone: &PipeReader) -> bool {
    let mut waits = [PollFd::from_borrowed_fd(gone.as_fd(), PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut waits, Some(&now)).is_ok_and(|ready| ready > 0)
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code & 0xff).ok()).unwrap_or(255)
}

fn start(space: &Space, request: &Request) -> Result<(Child, Ends)> {
    // A new session, as adbd makes one.
    let mut command = space.tool("setsid");
    let terminal = if request.terminal { Some(Terminal::new()?) } else { None };
    if let Some(terminal) = &terminal {
        // A terminal that the first process of a session opens becomes the session's controlling
        // terminal.
        command.args(["/system/bin/sh", "-c", "exec <>$0 >&0 2>&1; umask 0; exec \"$@\""]);
        command.arg(&terminal.name);
    } else {
        // A new file gives all users its owner's permissions.
        command.args(["/system/bin/sh", "-c", "umask 0; exec \"$@\"", "sh"]);
    }
    if let Some(term) = &request.term {
        command.env("TERM", term);
    }
    command.arg("/system/bin/sh");
    if request.command.is_empty() {
        command.arg("-");
    } else {
        command.arg("-c").arg(&request.command);
    }
    match terminal {
        Some(terminal) => terminal.start(command),
        None => on_pipes(command, request.packets),
    }
}

fn on_pipes(mut command: Command, apart: bool) -> Result<(Child, Ends)> {
    let (stdin_read, stdin) = pipe()?;
    let (stdout, stdout_write) = pipe()?;
    command.stdin(stdin_read);
    let stderr = if apart {
        let (stderr, stderr_write) = pipe()?;
        command.stderr(stderr_write);
        Some(stderr.into())
    } else {
        command.stderr(stdout_write.try_clone()?);
        None
    };
    command.stdout(stdout_write);
    let child = command.spawn()?;
    Ok((child, Ends { stdin: Some(stdin.into()), stdout: stdout.into(), stderr }))
}

/// A new pseudoterminal.
struct Terminal {
    main: OwnedFd,
    other: OwnedFd,
    name: String,
}

impl Terminal {
    fn new() -> Result<Terminal> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let main = rustix::pty::openpt(flags)?;
        rustix::pty::grantpt(&main)?;
        rustix::pty::unlockpt(&main)?;
        let name = rustix::pty::ptsname(&main, Vec::new())?.to_string_lossy().into_owned();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let other = rustix::fs::open(&name, flags, rustix::fs::Mode::empty())?;
        let user = rustix::fs::Uid::from_raw(crate::space::SHELL);
        rustix::fs::fchown(&other, Some(user), None)?;
        Ok(Terminal { main, other, name })
    }

    fn start(self, mut command: Command) -> Result<(Child, Ends)> {
        command.stdin(Stdio::from(self.other.try_clone()?));
        command.stdout(Stdio::from(self.other.try_clone()?)).stderr(Stdio::from(self.other));
        let child = command.spawn()?;
        Ok((child, Ends { stdin: Some(self.main.try_clone()?), stdout: self.main, stderr: None }))
    }
}

/// Sends what a command writes, until the command ends or the client is gone.
fn pump(sink: &Sink, kind: u8, from: OwnedFd, gone: &PipeReader) {
    let mut from = std::fs::File::from(from);
    let mut buffer = vec![0; 16 << 10];
    loop {
        let mut waits = [
            PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(gone.as_fd(), PollFlags::IN),
        ];
        if poll(&mut waits, None).is_err() || !waits[1].revents().is_empty() {
            return;
        }
        // Reading from a terminal without users is an error.
        match from.read(&mut buffer) {
            Ok(length @ 1..) if sink.send(kind, &buffer[..length]).is_ok() => {}
            _ => return,
        }
    }
}

/// Passes what the client sends to the command, until the stream ends.
fn feed(mut input: Input, stdin: Option<OwnedFd>, packets: bool) {
    let mut stdin = stdin.map(std::fs::File::from);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let (kind, length) = if packets {
            let mut header = [0; 5];
            if input.read_exact(&mut header).is_err() {
                return;
            }
            let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]);
            (header[0], length as usize)
        } else {
            match input.read(&mut buffer) {
                Ok(length @ 1..) => (packet::STDIN, length),
                _ => return,
            }
        };
        if packets {
            buffer.resize(length.min(1 << 20), 0);
            if input.read_exact(&mut buffer).is_err() {
                return;
            }
        }
        match kind {
            packet::STDIN => {
                let length = length.min(buffer.len());
                let written = stdin.as_mut().map(|stdin| stdin.write_all(&buffer[..length]));
                if !matches!(written, Some(Ok(()))) {
                    stdin = None;
                }
            }
            packet::CLOSE_STDIN => stdin = None,
            _ => {}
        }
    }
}
