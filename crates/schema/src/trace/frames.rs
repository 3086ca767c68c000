//! Frames of an app's user interface that were late, and the waits that made them late.

use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::beside::TraceDuring;
use super::stalls::TraceStall;

/// A frame that its app finished late, by Android's FrameTimeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFrame {
    /// When the app was to begin with it, from the start of the trace. Android forgets that of a very
    /// late frame: then it is the end of the app's frame before.
    pub t_ns: Nanos,
    /// The time until the frame was finished or dropped.
    pub took_ns: Nanos,
    /// How long after its deadline the frame was finished; absent if Android forgot the deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_by_ns: Option<Nanos>,
    /// The number of the app's process.
    pub pid: u32,
    /// The name of the layer in the source: any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// Whether it was never shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
}

/// Late frames, and those among them that waits for storage made late.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFrames {
    /// Frames of apps in the trace.
    pub frames: u64,
    /// Those that their apps finished late.
    pub late: u64,
    /// Those of the late ones that would have been in time without the waits for storage of the
    /// threads that draw.
    pub by_storage: u64,
    /// The latest of these, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<TraceLateFrame>,
}

/// A frame that storage made late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceLateFrame {
    pub frame: TraceFrame,
    /// The app's name in the source, or the number of its process.
    pub process: String,
    /// How long the threads that draw waited for storage, from the frame's beginning to its end.
    pub waited_ns: Nanos,
    /// The longest of these waits; its task is the app's main thread or `RenderThread`.
    pub wait: TraceStall,
    /// What a run beside the trace did meanwhile; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<TraceDuring>,
}
