//! The two directions of one client's connection.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use super::framing::Framing;

/// Bytes to read from a socket at a time.
const STEP: usize = 256 << 10;

/// Passes a client's whole messages on to the server until the client is gone. The server then sees
/// the stream end between two messages, and replies to all it has.
pub(super) fn requests(client: &OwnedFd, server: &OwnedFd) {
    // An error ends only this client.
    let _ = pass_requests(client, server);
    let _ = shutdown(server, Shutdown::Write);
}

fn pass_requests(client: &OwnedFd, server: &OwnedFd) -> io::Result<()> {
    let mut framing = Framing::new();
    let mut held = vec![0; STEP];
    let mut filled = 0;
    loop {
        let room = held.get_mut(filled..).unwrap_or_default();
        match received(client, room)? {
            0 => return Ok(()),
            bytes => filled += bytes,
        }
        let next = loop {
            let sent = held.get(..filled).unwrap_or_default();
            let whole = framing.whole(sent).map_err(io::Error::other)?;
            if whole.bytes == 0 {
                break whole.next;
            }
            send_all(server, sent.get(..whole.bytes).unwrap_or_default())?;
            held.copy_within(whole.bytes..filled, 0);
            filled -= whole.bytes;
        };
        // A large write grows the buffer while its data arrives; the next small message shrinks it
        // again.
        let wanted = (filled + STEP).min(next).max(STEP);
        if wanted > held.len() || next <= STEP {
            held.resize(wanted.max(filled), 0);
            held.shrink_to(STEP);
        }
    }
}

/// Passes the server's replies on to the client. If the client is gone, still reads the replies
/// until there are no more, so that the server does not notice.
pub(super) fn replies(server: &OwnedFd, client: &OwnedFd) {
    let mut held = vec![0; STEP];
    let mut is_there = true;
    while let Ok(bytes @ 1..) = received(server, &mut held) {
        let answers = held.get(..bytes).unwrap_or_default();
        if is_there && send_all(client, answers).is_err() {
            is_there = false;
            // Take no further requests of a client that does not read its replies.
            let _ = shutdown(client, Shutdown::Both);
        }
    }
    let _ = shutdown(client, Shutdown::Both);
}

fn received(from: &OwnedFd, into: &mut [u8]) -> Result<usize, Errno> {
    retry_on_intr(|| recv(from, &mut *into, RecvFlags::empty())).map(|(_, bytes)| bytes)
}

fn send_all(to: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let sent = retry_on_intr(|| send(to, bytes, SendFlags::NOSIGNAL))?;
        bytes = bytes.get(sent..).unwrap_or_default();
    }
    Ok(())
}
