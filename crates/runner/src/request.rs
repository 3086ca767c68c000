//! What a run is asked to do, and what it tells while it runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_lab::protocol::DeviceCount;
use flashlag_schema::scenario::Scenario;
use flashlag_schema::{Phase, Run};
use flashlag_stats::live::Live;
use flashlag_units::{Bytes, Nanos};

use crate::output::RunFile;

/// A run to be made.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is done.
    pub scenario: Scenario,
    /// The target as it was typed.
    pub target: String,
    /// The directory that is measured.
    pub directory: PathBuf,
    /// What every random choice follows from.
    pub seed: u64,
    /// What a fill spares; `None` for the default of real storage.
    pub leave: Option<Bytes>,
    /// The most that may be written.
    pub budget: Option<Bytes>,
    /// Whether every byte is read back and proved.
    pub verify: bool,
    /// What the user calls the device under test.
    pub label: Option<String>,
    /// The command line, as typed.
    pub command: Vec<String>,
    /// Where the run file goes.
    pub output: Arc<RunFile>,
    /// An earlier run of the same scenario, to go on with.
    pub resume: Option<Box<Run>>,
    /// Set from outside when the run has to end.
    pub stop: Arc<AtomicBool>,
}

/// What a run tells while it runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something is about to happen that is no phase: "writing the test file".
    Preparing(&'a str),
    /// A phase begins.
    PhaseStarted {
        /// Its label.
        label: &'a str,
        /// How long it will take, where that is known.
        expected: Option<Nanos>,
        /// How much it will move, where that is known.
        limit: Option<Bytes>,
        /// Its progress, to be read by another thread.
        live: &'a Arc<Live>,
    },
    /// What the run has written up to now, preparations and background writers included: before and
    /// after each phase.
    Wrote(Bytes),
    /// A writer beside the phase that begins next.
    Beside(&'a Arc<Live>),
    /// The phase that begins next fills storage of this size, where that is known.
    Filling(Option<Bytes>),
    /// A phase has ended and is stored.
    PhaseFinished(&'a Phase),
    /// Something the user should know.
    Note(&'a str),
}

/// Takes events. Called on the measuring thread, between phases only.
pub trait Observer {
    /// Takes one event.
    fn event(&mut self, event: Event<'_>);

    /// What the device itself counted by now, where there is somebody to ask: at both edges of each
    /// phase.
    fn device_count(&mut self) -> Option<DeviceCount> {
        None
    }
}
