//! Writes the history in a thread of its own, which may wait for the storage as long as it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use flashlag_schema::history::{Incident, Span};
use flashlag_units::{Bytes, Nanos};

use crate::book::{Book, BookError};
use crate::error::WatchError;
use crate::patience::ends;

/// Messages that wait for the storage: hours of incidents.
const QUEUE: usize = 256;

/// What is to be written.
#[derive(Debug)]
pub enum Note {
    /// A part of an hour; then hours and days that are over at this second are joined.
    Part(Box<Span>, u64),
    Incident(Box<Incident>),
}

/// The thread, and the way to it.
#[derive(Debug)]
pub struct Writer {
    to: Option<SyncSender<Note>>,
    thread: Option<JoinHandle<()>>,
    done: Receiver<Result<Nanos, BookError>>,
    written: Arc<AtomicU64>,
    least: Bytes,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(mut book: Book) -> Result<Writer, WatchError> {
        let (to, notes) = sync_channel::<Note>(QUEUE);
        let (report, done) = channel();
        let written = Arc::new(AtomicU64::new(book.written().0));
        let least = book.least();
        let count = Arc::clone(&written);
        let thread = std::thread::Builder::new().name("history".to_owned()).spawn(move || {
            for note in notes {
                let put = put(&mut book, &note);
                count.store(book.written().0, Ordering::Relaxed);
                // The reader may have ended.
                let _ = match (put, note) {
                    (Err(error), _) => report.send(Err(error)),
                    (Ok(()), Note::Part(span, _)) => report.send(Ok(span.watched_ns)),
                    (Ok(()), Note::Incident(_)) => Ok(()),
                };
            }
        });
        let thread = Some(thread.map_err(WatchError::Thread)?);
        Ok(Writer { to: Some(to), thread, done, written, least })
    }

    /// Hands a note over; returns it if too many wait already.
    pub fn send(&self, note: Note) -> Option<Note> {
        let to = self.to.as_ref()?;
        match to.try_send(note) {
            Ok(()) => None,
            Err(TrySendError::Full(note) | TrySendError::Disconnected(note)) => Some(note),
        }
    }

    /// The parts that became durable since the last call, each with the time that was watched in it, and what could
    /// not be written.
    pub fn done(&self) -> impl Iterator<Item = Result<Nanos, BookError>> + '_ {
        self.done.try_iter()
    }

    /// Bytes written since the start.
    pub fn written(&self) -> Bytes {
        Bytes(self.written.load(Ordering::Relaxed))
    }

    /// The least that a note costs.
    pub fn least(&self) -> Bytes {
        self.least
    }

    /// Waits for at most this long until all is written; false if the storage takes longer.
    pub fn end(&mut self, patience: Duration) -> bool {
        self.to = None;
        ends(self.thread.as_ref(), patience)
    }
}

pub(crate) fn put(book: &mut Book, note: &Note) -> Result<(), BookError> {
    match note {
        Note::Part(span, now_s) => {
            book.minutes(span)?;
            book.tidy(*now_s)
        }
        Note::Incident(incident) => book.incident(incident),
    }
}
