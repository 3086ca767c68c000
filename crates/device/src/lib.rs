//! The interface between the measuring loop and storage. A [`Device`] takes requests and returns
//! completions, timed by its own [`Clock`]: real storage, nothing at all, memory or a simulated
//! flash. All pass one conformance suite, in the crate `flashlag-testing`.
#![forbid(unsafe_code)]

mod android;
mod budget;
mod calls;
mod clock;
#[cfg_attr(target_family = "wasm", path = "errno_of_a_page.rs")]
mod errno;
mod error;
mod latency;
#[cfg(not(target_family = "wasm"))]
mod monotonic;
#[cfg(not(target_family = "wasm"))]
mod null;
#[cfg(not(target_family = "wasm"))]
mod process;
#[cfg(not(target_family = "wasm"))]
mod ram;
mod request;
mod sampler;
mod shifted;
mod wait;

pub use android::{is_android, is_android_at};
pub use budget::Budget;
pub use calls::{Call, CallDevice, CallRequest};
pub use clock::{Clock, VirtualClock};
pub use errno::Errno;
pub use error::{DeviceError, advice_for_errno, advice_within_limits};
pub use latency::Latency;
#[cfg(not(target_family = "wasm"))]
pub use monotonic::{MonotonicClock, read_clock};
#[cfg(not(target_family = "wasm"))]
pub use null::NullDevice;
#[cfg(not(target_family = "wasm"))]
pub use process::{ProcessStat, boot_id};
#[cfg(not(target_family = "wasm"))]
pub use ram::{RamCounts, RamDevice, Service};
pub use request::{Completion, Device, Durability, Geometry, Op, Request, SyncCall, ZoneGeometry};
pub use sampler::{WaitReading, WaitSampler, WaitWindow};
pub use shifted::Shifted;
pub use wait::{NoWaitMeter, SchedulerTimes, WaitMeter};
