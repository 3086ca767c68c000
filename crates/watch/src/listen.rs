//! Answers over HTTP: one page after another, nothing is written, and no connection is kept.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Threads that answer, so that one slow reader keeps nobody else waiting.
const THREADS: usize = 2;
/// The longest head of a request.
const HEAD: usize = 8192;
/// Most fields of a head.
const FIELDS: usize = 64;
/// How long a request may take to arrive, and each piece of an answer to go.
const PATIENCE: Duration = Duration::from_secs(2);

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP's status: 200, 404, …
    pub status: u16,
    /// The type of what follows.
    pub kind: &'static str,
    /// A browser asks again after this many seconds.
    pub again_s: Option<u32>,
    pub body: String,
}

impl Answer {
    /// A line of text that says why there is nothing else.
    pub fn refusal(status: u16, reason: &str) -> Answer {
        let kind = "text/plain; charset=utf-8";
        Answer { status, kind, again_s: None, body: format!("{reason}\n") }
    }
}

/// A socket that nobody answers at yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    at: SocketAddr,
}

impl Listener {
    /// Opens the socket; with port 0 the system chooses one.
    ///
    /// # Errors
    /// The address is not this machine's, or in use.
    pub fn bind(at: SocketAddr) -> io::Result<Listener> {
        let socket = TcpListener::bind(at)?;
        let at = socket.local_addr()?;
        Ok(Listener { socket, at })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// Answers from now on, in threads of its own, until the process ends: `answer` is given the path of a request.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn serve(self, answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> io::Result<()> {
        let answer = Arc::new(answer);
        let is_loopback = self.at.ip().is_loopback();
        for _ in 0..THREADS {
            let (socket, answer) = (self.socket.try_clone()?, Arc::clone(&answer));
            std::thread::Builder::new().name("listen".to_owned()).spawn(move || {
                loop {
                    match socket.accept() {
                        // A client that goes away has no answer to miss.
                        Ok((mut stream, _)) => {
                            let _ = talk(&mut stream, is_loopback, &*answer);
                        }
                        // No descriptor is free, or the like: later there may be one.
                        Err(_) => std::thread::sleep(PATIENCE),
                    }
                }
            })?;
        }
        Ok(())
    }
}

fn talk(
    stream: &mut TcpStream,
    is_loopback: bool,
    answer: &dyn Fn(&str) -> Answer,
) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let Some(head) = head(stream)? else { return Ok(()) };
    let (answer, with_body) = match asked(&head, is_loopback) {
        Ok(asked) => (answer(&asked.path), asked.with_body),
        Err(refused) => (refused, true),
    };
    let again = answer.again_s.map_or(String::new(), |seconds| format!("Refresh: {seconds}\r\n"));
    let begin = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{again}Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        answer.status,
        reason(answer.status),
        answer.kind,
        answer.body.len(),
    );
    stream.write_all(begin.as_bytes())?;
    if with_body {
        stream.write_all(answer.body.as_bytes())?;
    }
    if answer.status == 400 {
        leave(stream)?;
    }
    stream.flush()
}

/// Reads what is left of a request that was not read whole: closed before that, the connection would be reset, and the
/// answer lost.
fn leave(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(PATIENCE / 4))?;
    let mut piece = [0u8; HEAD];
    for _ in 0..8 {
        if stream.read(&mut piece)? == 0 {
            break;
        }
    }
    Ok(())
}

/// The bytes up to the empty line; `None` if they do not come in time.
fn head(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut piece = [0u8; 1024];
    while head.len() < HEAD {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Ok(None);
        }
        head.extend_from_slice(piece.get(..count).unwrap_or_default());
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(Some(head));
        }
    }
    Ok(Some(head))
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    path: String,
    with_body: bool,
}

/// Reads the head of a request; an answer if it is refused.
fn asked(head: &[u8], is_loopback: bool) -> Result<Asked, Answer> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let is_whole = request.parse(head).is_ok_and(|status| status.is_complete());
    let (Some(method), Some(target), true) = (request.method, request.path, is_whole) else {
        return Err(Answer::refusal(400, "this is no request of HTTP/1.1"));
    };
    let with_body = match method {
        "GET" => true,
        "HEAD" => false,
        _ => return Err(Answer::refusal(405, "GET and HEAD alone: nothing can be changed here")),
    };
    let host = request.headers.iter().find(|field| field.name.eq_ignore_ascii_case("host"));
    let host = host.and_then(|field| std::str::from_utf8(field.value).ok());
    // Another site's page may have made its own name mean this machine.
    if is_loopback && !host.is_none_or(is_this_machine) {
        return Err(Answer::refusal(403, "ask by the address 127.0.0.1 or the name localhost"));
    }
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Ok(Asked { path, with_body })
}

/// Whether the host of a request is an address, or localhost.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Service Unavailable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> u16 {
        asked(text.as_bytes(), true).map_or_else(|answer| answer.status, |_| 200)
    }

    #[test]
    fn only_get_and_head_from_this_machines_own_names_are_answered() {
        let with = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        for host in ["127.0.0.1:9178", "localhost", "LOCALHOST:1", "[::1]:9178", "10.1.2.3"] {
            assert_eq!(status(&with(host)), 200, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:9178", "[::1.evil]", ""] {
            assert_eq!(status(&with(host)), 403, "{host}");
        }
        assert_eq!(status("GET / HTTP/1.0\r\n\r\n"), 200);
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            assert_eq!(status(&format!("{method} / HTTP/1.1\r\nHost: localhost\r\n\r\n")), 405);
        }
        for text in ["", "GET /", "\0\0\0\0", "GET / HTTP/1.1\r\nHost", "GET / HTTP/9.9\r\n\r\n"] {
            assert_eq!(status(text), 400, "{text:?}");
        }
        let asked = asked(b"HEAD /metrics?x=1 HTTP/1.1\r\nHost: [::1]\r\n\r\n", true).unwrap();
        assert_eq!(asked, Asked { path: "/metrics".to_owned(), with_body: false });
    }

    #[test]
    fn answers_go_out_whole_and_a_silent_client_keeps_nobody_waiting() {
        let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let at = listener.address();
        let page = |path: &str| match path {
            "/" => Answer {
                status: 200,
                kind: "text/html",
                again_s: Some(60),
                body: "ü".repeat(100_000),
            },
            _ => Answer::refusal(404, "no such page"),
        };
        listener.serve(page).unwrap();
        let silent = TcpStream::connect(at).unwrap();
        let ask = |text: &str| {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).unwrap();
            said
        };
        let began = Instant::now();
        let said = ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("Content-Length: 200000\r\nRefresh: 60"), "{head}");
        assert_eq!(body.len(), 200_000);
        assert!(ask("HEAD / HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
        assert!(ask("GET /x HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(HEAD));
        assert!(ask(&long).starts_with("HTTP/1.1 400"));
        drop(silent);
    }
}
