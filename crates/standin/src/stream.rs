//! One stream of a connection: bytes in both directions, each message acknowledged.

use std::io::{Error, ErrorKind, PipeReader, PipeWriter, Read, Result, Write, pipe};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cable::{End, Way};
use crate::message::{CHECKSUM, Kind, Message};

/// The connection that its streams share for sending.
pub struct Link {
    end: Mutex<End>,
    version: AtomicU32,
    largest: AtomicUsize,
}

impl Link {
    /// Until [`Link::agree`], payloads have checksums and are small.
    pub fn new(end: End) -> Link {
        let (version, largest) = (AtomicU32::new(CHECKSUM), AtomicUsize::new(4096));
        Link { end: Mutex::new(end), version, largest }
    }

    /// Sets the version and the payload size that both sides support.
    pub fn agree(&self, version: u32, largest: usize) {
        self.version.store(version, Ordering::SeqCst);
        self.largest.store(largest, Ordering::SeqCst);
    }

    /// The version of the protocol that both ends agreed on.
    pub fn version(&self) -> u32 {
        self.version.load(Ordering::SeqCst)
    }

    fn largest(&self) -> usize {
        self.largest.load(Ordering::SeqCst)
    }

    /// Sends a message whole.
    pub fn send(&self, message: &Message) -> Result<()> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if end.cable.ends_at(message, Way::FromPhone) {
            return Err(gone());
        }
        end.send(&message.encode(self.version()))
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::BrokenPipe, "the stream is closed")
}

/// The two numbers of a stream, and whether its close was sent.
pub struct Ends {
    link: Arc<Link>,
    ours: u32,
    theirs: u32,
    closed: AtomicBool,
}

impl Ends {
    fn send(&self, kind: Kind, payload: &[u8]) -> Result<()> {
        self.link.send(&Message::new(kind, self.ours, self.theirs, payload))
    }

    /// Sends the stream's close, once.
    pub fn close(&self) {
        if !self.closed.swap(true, Ordering::SeqCst) {
            // If the connection is gone, no close is needed.
            let _ = self.send(Kind::Close, &[]);
        }
    }
}

/// The connection's side of a stream: the message reader puts received data here.
pub struct Inlet {
    pub ends: Arc<Ends>,
    data: Sender<Vec<u8>>,
    okays: Sender<()>,
    _open: PipeWriter,
}

impl Inlet {
    /// Hands bytes to the service.
    pub fn data(&self, bytes: Vec<u8>) {
        // A service that has ended reads no more.
        let _ = self.data.send(bytes);
    }

    /// Tells the service that its bytes have arrived.
    pub fn okay(&self) {
        let _ = self.okays.send(());
    }
}

/// Data from the client. Ends when the stream or the connection does.
pub struct Input {
    ends: Arc<Ends>,
    data: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    read: usize,
}

/// Data for the client. Each message waits until the client is ready for the next.
pub struct Output {
    ends: Arc<Ends>,
    okays: Receiver<()>,
    gone: Arc<PipeReader>,
}

/// Opens a stream and informs the client. Returns the message reader's side, the input and the
/// output.
pub fn open(link: &Arc<Link>, ours: u32, theirs: u32) -> Result<(Inlet, Input, Output)> {
    let link = Arc::clone(link);
    let ends = Arc::new(Ends { link, ours, theirs, closed: AtomicBool::new(false) });
    let (gone, open) = pipe()?;
    ends.send(Kind::Okay, &[])?;
    let (data_in, data) = channel();
    let (okays_in, okays) = channel();
    let inlet = Inlet { ends: Arc::clone(&ends), data: data_in, okays: okays_in, _open: open };
    let input = Input { ends: Arc::clone(&ends), data, rest: Vec::new(), read: 0 };
    Ok((inlet, input, Output { ends, okays, gone: Arc::new(gone) }))
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        while self.read == self.rest.len() {
            let Ok(next) = self.data.recv() else { return Ok(0) };
            (self.rest, self.read) = (next, 0);
            self.ends.send(Kind::Okay, &[])?;
        }
        let length = into.len().min(self.rest.len() - self.read);
        into[..length].copy_from_slice(&self.rest[self.read..self.read + length]);
        self.read += length;
        Ok(length)
    }
}

impl Output {
    /// A pipe that reaches its end when the client or the connection is gone.
    pub fn gone(&self) -> Arc<PipeReader> {
        Arc::clone(&self.gone)
    }

    /// Ends the stream.
    pub fn close(&self) {
        self.ends.close();
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let length = bytes.len().min(self.ends.link.largest());
        self.ends.send(Kind::Write, &bytes[..length])?;
        self.okays.recv().map_err(|_| gone())?;
        Ok(length)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
