//! A relay in front of those versions of nbdkit that end when a client dies.
//!
//! nbdkit 1.32.4 and 1.32.5 (Debian 12), and 1.33.3 to 1.33.9, close their half of a connection
//! when a reply can't be sent, or when a request is truncated. If another thread then replies to
//! that client, an assertion fails (`raw_send_socket: Assertion 'sock >= 0'`) and ends the server
//! for all clients; nbdkit's commit 9d82aa4f fixes it. The relay prevents both causes: it reads
//! every reply even if the client is gone, and passes on only whole messages. So nbdkit sees each
//! client leave in good order.
//!
//! With TLS there is no need for a relay, since nbdkit then does not take the socket away from its
//! threads.

mod framing;
mod pump;

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{Shutdown, SocketFlags, accept_with, shutdown, sockopt};

use crate::error::ServeError;
use crate::listen::Listen;

/// A relay thread has its buffer on the heap, and little on its stack.
const STACK: usize = 128 << 10;
/// How long to wait if the system has no resources for another client.
const PAUSE: Duration = Duration::from_millis(20);

/// A socket that clients connect to.
#[derive(Debug)]
pub struct Relay {
    listener: OwnedFd,
    listen: Listen,
}

/// A running relay. Dropping it ends it.
#[derive(Debug)]
pub struct Relaying {
    listener: Arc<OwnedFd>,
    listen: Listen,
    ends: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Relay {
    /// Binds the address; clients wait until [`Relay::begin`].
    pub fn bind(listen: &Listen) -> Result<Relay, ServeError> {
        let bound = match listen {
            Listen::Unix(path) => UnixListener::bind(path).map(OwnedFd::from),
            Listen::Tcp(address, port) => TcpListener::bind((*address, *port)).map(OwnedFd::from),
        };
        let refuse = |error: io::Error| {
            let name = PathBuf::from(listen.to_string());
            ServeError::file("listen on", &name, &error, "choose another with --listen")
        };
        Ok(Relay { listener: bound.map_err(refuse)?, listen: listen.clone() })
    }

    /// Starts to pass on what clients send to the server at a socket.
    pub fn begin(self, server: &Path) -> io::Result<Relaying> {
        let listener = Arc::new(self.listener);
        let ends = Arc::new(AtomicBool::new(false));
        let theirs = Accepting {
            listener: Arc::clone(&listener),
            server: server.to_owned(),
            ends: Arc::clone(&ends),
            clients: Vec::new(),
        };
        let accepting = named("relay").spawn(move || theirs.accept())?;
        Ok(Relaying { listener, listen: self.listen, ends, accepting: Some(accepting) })
    }
}

impl Drop for Relaying {
    /// Removes the socket and joins the threads: nbdkit unloads their code with the plugin.
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts clients.
        let _ = shutdown(&*self.listener, Shutdown::Both);
        let _ = self.accepting.take().map(JoinHandle::join);
        if let Listen::Unix(path) = &self.listen {
            // Somebody else may have removed it already.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned()).stack_size(STACK)
}

/// A client and its connection to the server.
struct Served {
    client: Arc<OwnedFd>,
    server: Arc<OwnedFd>,
    thread: JoinHandle<()>,
}

struct Accepting {
    listener: Arc<OwnedFd>,
    server: PathBuf,
    ends: Arc<AtomicBool>,
    clients: Vec<Served>,
}

impl Accepting {
    fn accept(mut self) {
        while !self.ends.load(Ordering::Relaxed) {
            match accept_with(&*self.listener, SocketFlags::CLOEXEC) {
                Ok(client) => {
                    self.clients.retain(|served| !served.thread.is_finished());
                    // If there is no room for a client, its connection is closed.
                    if let Ok(served) = self.serve(client) {
                        self.clients.push(served);
                    }
                }
                // Gone before it was served.
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => thread::sleep(PAUSE),
            }
        }
        for served in self.clients {
            let _ = shutdown(&*served.client, Shutdown::Both);
            let _ = shutdown(&*served.server, Shutdown::Both);
            let _ = served.thread.join();
        }
    }

    fn serve(&self, client: OwnedFd) -> io::Result<Served> {
        // Send each reply at once (Nagle would delay it); a unix socket has no such delay.
        let _ = sockopt::set_tcp_nodelay(&client, true);
        let client = Arc::new(client);
        let server = Arc::new(OwnedFd::from(UnixStream::connect(&self.server)?));
        let (ours, theirs) = (Arc::clone(&client), Arc::clone(&server));
        let both = move || {
            let (from, to) = (Arc::clone(&theirs), Arc::clone(&ours));
            match named("relay-replies").spawn(move || pump::replies(&from, &to)) {
                Ok(replies) => {
                    pump::requests(&ours, &theirs);
                    // That thread ends when the server has sent all replies.
                    let _ = replies.join();
                }
                Err(_) => drop(shutdown(&*ours, Shutdown::Both)),
            }
        };
        let thread = named("relay-requests").spawn(both)?;
        Ok(Served { client, server, thread })
    }
}
