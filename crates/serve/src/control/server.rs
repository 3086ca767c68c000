use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Answer, Command, Reply};
use crate::error::{CommandError, ServeError, plain};

/// The longest command.
const LONGEST: u64 = 64 << 10;
/// Characters of a reason.
const LONGEST_REASON: usize = 1000;
/// Clients at a time.
const MOST_CLIENTS: usize = 16;

/// The server of a control socket, with a thread for each client.
#[derive(Debug)]
pub struct ControlServer {
    path: PathBuf,
}

impl ControlServer {
    /// Creates the socket, which must not exist yet, and starts to answer. Calls `quit` when a
    /// client asks the server to end.
    pub fn start(
        path: &Path,
        answer: impl Fn(&Command) -> Result<Answer, CommandError> + Send + Sync + 'static,
        quit: impl Fn() + Send + Sync + 'static,
    ) -> Result<ControlServer, ServeError> {
        let refuse = |error: &io::Error| {
            ServeError::file("listen on", path, error, "choose another control socket")
        };
        let listener = UnixListener::bind(path).map_err(|error| refuse(&error))?;
        let serving = Arc::new(Serving { answer, quit, clients: AtomicUsize::new(0) });
        let accepting = thread::Builder::new().name("control".to_owned());
        let accept = move || {
            for stream in listener.incoming() {
                // A client that leaves before it is served is no reason to end.
                let Ok(stream) = stream else { continue };
                Serving::begin(&serving, stream);
            }
        };
        accepting.spawn(accept).map_err(|error| refuse(&error))?;
        Ok(ControlServer { path: path.to_owned() })
    }
}

impl Drop for ControlServer {
    /// Removes the socket. The threads end with the process.
    fn drop(&mut self) {
        // Somebody else may have removed it already.
        let _ = std::fs::remove_file(&self.path);
    }
}

struct Serving<A, Q> {
    answer: A,
    quit: Q,
    clients: AtomicUsize,
}

impl<A, Q> Serving<A, Q>
where
    A: Fn(&Command) -> Result<Answer, CommandError> + Send + Sync + 'static,
    Q: Fn() + Send + Sync + 'static,
{
    fn begin(serving: &Arc<Serving<A, Q>>, mut stream: UnixStream) {
        if serving.clients.fetch_add(1, Ordering::Relaxed) >= MOST_CLIENTS {
            serving.clients.fetch_sub(1, Ordering::Relaxed);
            let reason = format!("{MOST_CLIENTS} clients are connected: wait until one leaves");
            // It does not matter whether the client still receives that.
            let _ = send(&mut stream, &Reply::Error(reason));
            return;
        }
        let theirs = Arc::clone(serving);
        let client = thread::Builder::new().name("control-client".to_owned());
        let spawned = client.spawn(move || {
            // An error here means that the client left.
            let _ = theirs.converse(stream);
            theirs.clients.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            serving.clients.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Serves the client until it leaves, or sends more than any command has.
    fn converse(&self, stream: UnixStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            (&mut stream).take(LONGEST).read_until(b'\n', &mut line)?;
            if line.is_empty() {
                return Ok(());
            }
            if line.last() != Some(&b'\n') && line.len() as u64 >= LONGEST {
                let reason = format!("a line of more than {LONGEST} bytes is no command");
                return send(stream.get_mut(), &Reply::Error(reason));
            }
            let command: Result<Command, _> = serde_json::from_slice(&line);
            let reply = match &command {
                Ok(command) => match (self.answer)(command) {
                    Ok(answer) => Reply::Ok(answer),
                    Err(error) => Reply::Error(bounded(&error.to_string())),
                },
                Err(error) => Reply::Error(format!(
                    "no command: {}; write a line of JSON such as {{\"do\":\"stat\"}}",
                    bounded(&error.to_string())
                )),
            };
            send(stream.get_mut(), &reply)?;
            if matches!(command, Ok(Command::Quit)) {
                (self.quit)();
            }
        }
    }
}

/// A reason that can be printed: replaces control characters and cuts a client's own text.
fn bounded(reason: &str) -> String {
    plain(&reason.chars().take(LONGEST_REASON).collect::<String>())
}

fn send(stream: &mut UnixStream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    stream.write_all(&line)
}
