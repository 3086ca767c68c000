//! What a run reports while it runs.

use std::sync::Arc;

use flashlag_schema::Phase;
use flashlag_stats::live::Live;
use flashlag_units::{Bytes, Nanos};

/// Progress of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// Work outside of all phases begins: "writing the file under test".
    Preparing(&'a str),
    /// A phase begins.
    PhaseStarted {
        /// The phase's label.
        label: &'a str,
        /// Its duration, if known.
        expected: Option<Nanos>,
        /// The bytes that it will move, if known.
        limit: Option<Bytes>,
        /// Its progress, to be read by another thread.
        live: &'a Arc<Live>,
    },
    /// Bytes written by the run so far, preparations and background writers included: reported
    /// before and after each phase.
    Wrote(Bytes),
    /// The progress of a writer that runs in parallel to the next phase.
    Beside(&'a Arc<Live>),
    /// The next phase fills storage of this size, if the size is known.
    Filling(Option<Bytes>),
    /// A phase has ended and is stored.
    PhaseFinished(&'a Phase),
    /// A message for the user.
    Note(&'a str),
}

/// Receives a run's events, on the measuring thread and between phases only.
pub trait Observer {
    /// Receives one event.
    fn event(&mut self, event: Event<'_>);
}
