//! The served device, from the host's side: starts it, reads its counters, classifies its requests.

use std::path::{Path, PathBuf};

use flashlag_device::{Clock, MonotonicClock};
use flashlag_lab::{LabError, Layout};
use flashlag_schema::{BlockKinds, DeviceCount, SlowRequest};
use flashlag_serve::{Answer, Command, Control, Launch, Listen, RecordKind, Recording, Running};
use flashlag_serve::{ServeError, Settings, TimeScale};
use flashlag_units::{Bytes, Nanos};

use crate::target::Pace;

/// Limit of a recording between two edges: the writes of a fill are counted, not classified.
const RECORDED_AT_MOST: Bytes = Bytes::from_mib(512);

/// Limit of the recording of a whole run, for power cuts.
const ALL_AT_MOST: Bytes = Bytes::from_mib(4096);

/// A request that takes longer may be a part of a stall.
const SLOW: Nanos = Nanos::from_millis(10);

/// A served device with its control connection and the recording of its requests.
#[derive(Debug)]
pub(super) struct DeviceWatch {
    /// The server, which ends with this value.
    device: Running,
    control: Control,
    layout: Option<Layout>,
    recordings: PathBuf,
    recording: Option<PathBuf>,
    made: u32,
    kinds: Option<BlockKinds>,
    pace: Pace,
    /// Labels of fills.
    fills: Vec<String>,
    /// Edges left in the current fill.
    edges: u32,
    now: TimeScale,
}

/// Number of edges of a phase at which counters are read: its beginning and its end.
const EDGES: u32 = 2;

pub(super) fn refuse(error: ServeError) -> LabError {
    LabError::Device(error.into())
}

/// Starts a server.
pub(super) fn start(settings: Settings) -> Result<Running, LabError> {
    Launch::new(settings).start().map_err(refuse)
}

/// The Unix socket of a server.
pub(super) fn socket(device: &Running) -> Result<PathBuf, LabError> {
    match device.listen() {
        Listen::Unix(path) => Ok(path.clone()),
        other => Err(LabError::NoSocket(format!("{other:?}"))),
    }
}

/// Loads an image into a device.
pub(super) fn load(device: &Running, image: &Path) -> Result<(), LabError> {
    let mut control = device.control().map_err(refuse)?;
    control.ask(&Command::Load { image: image.to_owned() }).map_err(refuse).map(drop)
}

impl DeviceWatch {
    /// Connects to a device; `recordings` is a folder for recordings.
    pub fn new(
        device: Running,
        layout: Option<Layout>,
        recordings: &Path,
    ) -> Result<DeviceWatch, LabError> {
        let mut control = device.control().map_err(refuse)?;
        control.ask(&Command::KeepSlow { over_ns: SLOW }).map_err(refuse)?;
        let kinds = layout.is_some().then(BlockKinds::default);
        let recordings = recordings.to_owned();
        Ok(DeviceWatch {
            device,
            control,
            layout,
            recordings,
            recording: None,
            made: 0,
            kinds,
            pace: Pace::default(),
            fills: Vec::new(),
            edges: 0,
            now: TimeScale::default(),
        })
    }

    /// The server.
    pub fn device(&self) -> &Running {
        &self.device
    }

    /// Sets the pace, and the labels of fills, which have a pace of their own.
    pub fn paced(&mut self, pace: Pace, fills: Vec<String>) {
        (self.pace, self.fills, self.now) = (pace, fills, pace.usual);
    }

    /// Sets the pace of the phase that begins next, while the guest waits. Returns the pace.
    pub fn begins(&mut self, label: &str) -> Result<TimeScale, LabError> {
        let fill = self.fills.iter().any(|fill| fill == label);
        self.edges = if fill { EDGES } else { 0 };
        self.live(if fill { self.pace.fills } else { self.pace.usual })?;
        Ok(self.now)
    }

    fn live(&mut self, pace: TimeScale) -> Result<(), LabError> {
        if self.now != pace {
            let times = Command::TimeScale { times: pace.factor() };
            self.control.ask(&times).map_err(refuse)?;
            self.now = pace;
        }
        Ok(())
    }

    /// Records all requests with their data from now on, for power cuts. Ends the classification.
    pub fn record_all(&mut self, path: PathBuf) -> Result<(), LabError> {
        (self.layout, self.kinds) = (None, None);
        let record = Command::Record { path, data: true, limit: ALL_AT_MOST };
        self.control.ask(&record).map_err(refuse).map(drop)
    }

    /// Ends the recording of all requests.
    pub fn stop_recording(&mut self) -> Result<(), LabError> {
        match self.control.ask(&Command::RecordStop).map_err(refuse)? {
            Answer::Recorded { complete: true, .. } => Ok(()),
            Answer::Recorded { complete: false, .. } => Err(LabError::Recording(ALL_AT_MOST)),
            other => Err(refuse(other.unexpected())),
        }
    }

    /// The device's own time.
    pub fn now(&mut self) -> Result<Nanos, LabError> {
        Ok(self.control.stat().map_err(refuse)?.virtual_ns)
    }

    /// Number of flushes that reached the device.
    pub fn flushes(&mut self) -> Result<u64, LabError> {
        let host = self.control.stat().map_err(refuse)?.host;
        Ok(host.flushes + host.fua_writes)
    }

    /// The device's counters now. `segments` are F2FS's segments as the kernel prints them.
    pub fn sample(&mut self, segments: Option<&str>) -> Result<DeviceCount, LabError> {
        let asked = MonotonicClock.now();
        self.end_recording(segments)?;
        let slow = self.slow()?;
        let stats = self.control.stat().map_err(refuse)?;
        let counted_at = MonotonicClock.now();
        let programmed = stats.flash.and_then(|flash| flash.programmed_bytes);
        let mut counted = DeviceCount {
            host: stats.host,
            programmed,
            kinds: self.kinds,
            at_ns: Some(stats.virtual_ns),
            took_ns: (counted_at.saturating_since(asked), Nanos::ZERO),
            slow,
        };
        if self.edges > 0 {
            self.edges -= 1;
            if self.edges == 0 {
                self.live(self.pace.usual)?;
            }
        }
        self.begin_recording()?;
        counted.took_ns.1 = MonotonicClock.now().saturating_since(counted_at);
        Ok(counted)
    }

    /// The slow requests since the last call.
    fn slow(&mut self) -> Result<Vec<SlowRequest>, LabError> {
        match self.control.ask(&Command::Slow).map_err(refuse)? {
            Answer::Slow(slow) => Ok(slow),
            _ => Ok(Vec::new()),
        }
    }

    fn begin_recording(&mut self) -> Result<(), LabError> {
        if self.layout.is_none() {
            return Ok(());
        }
        self.made += 1;
        let path = self.recordings.join(format!("recording-{}", self.made));
        let record = Command::Record { path: path.clone(), data: true, limit: RECORDED_AT_MOST };
        self.control.ask(&record).map_err(refuse)?;
        self.recording = Some(path);
        Ok(())
    }

    /// Ends the recording and classifies its writes. After an incomplete recording the kinds are
    /// unknown until the next one begins.
    fn end_recording(&mut self, segments: Option<&str>) -> Result<(), LabError> {
        let Some(path) = self.recording.take() else { return Ok(()) };
        let answer = self.control.ask(&Command::RecordStop).map_err(refuse)?;
        let complete = matches!(answer, Answer::Recorded { complete: true, .. });
        let counted = match (&mut self.layout, complete) {
            (Some(layout), true) => {
                if let Some(segments) = segments {
                    layout.update(segments);
                }
                count(layout, &path, self.kinds.unwrap_or_default()).map(Some)
            }
            _ => Ok(None),
        };
        // If this fails, the file is removed with its folder.
        let _ = std::fs::remove_file(&path);
        self.kinds = counted.map_err(refuse)?;
        Ok(())
    }
}

/// Adds the writes of a recording to `kinds`.
fn count(layout: &Layout, path: &Path, mut kinds: BlockKinds) -> Result<BlockKinds, ServeError> {
    let mut recording = Recording::open(path)?;
    while let Some((record, data)) = recording.next_request()? {
        match record.kind {
            RecordKind::Write => layout.count(record.offset, &data, &mut kinds),
            RecordKind::Zeros => {
                let zeros = vec![0; record.length.0.min(1 << 20) as usize];
                layout.count(record.offset, &zeros, &mut kinds);
            }
            _ => {}
        }
    }
    Ok(kinds)
}
