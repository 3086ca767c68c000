use flashlag_units::{Bytes, Nanos};

use crate::clock::Clock;
use crate::error::DeviceError;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Fills the slot's buffer from the device.
    Read,
    /// Writes the slot's buffer to the device.
    Write,
    /// Makes everything that completed before durable. Moves nothing.
    Flush,
    /// Tells the device that the range holds nothing of worth.
    Discard,
}

/// How a write becomes durable before it completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It does not.
    #[default]
    None,
    /// A flush follows it; the flush's part of the latency is told apart.
    Flush,
    /// The write itself is durable (FUA, `O_DSYNC`, `RWF_DSYNC`).
    Write,
}

/// One request. Its data is in the buffer of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which of the device's slots carries it: below [`Geometry::slots`], free until completed.
    pub slot: u32,
    /// What it does.
    pub op: Op,
    /// Where it begins: a multiple of [`Geometry::alignment`].
    pub offset: Bytes,
    /// How long it is: a multiple of [`Geometry::alignment`], at most [`Geometry::buffer`].
    pub length: Bytes,
    /// How a write becomes durable.
    pub durability: Durability,
}

/// What became of a request. Times are the device's own clock's.
#[derive(Debug)]
pub struct Completion {
    /// The slot, free again.
    pub slot: u32,
    /// When the device took it.
    pub started: Nanos,
    /// When its flush began, where that was a step of its own.
    pub flush_from: Option<Nanos>,
    /// When it was done.
    pub ended: Nanos,
    /// Whether it worked.
    pub result: Result<(), DeviceError>,
}

/// The shape of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Its size.
    pub size: Bytes,
    /// Offsets and lengths are multiples of this.
    pub alignment: Bytes,
    /// Requests it takes at once.
    pub slots: u32,
    /// Size of a slot's buffer.
    pub buffer: Bytes,
    /// `false` where written data goes nowhere, so that no payload need be made.
    pub keeps_data: bool,
}

/// Storage, real or not.
///
/// A request is prepared in [`Device::buffer`], handed over by [`Device::submit`] and given back
/// by [`Device::reap`]. The hot path allocates nothing: `completed` is the caller's and keeps its
/// capacity.
pub trait Device {
    /// The clock that completions are timed by.
    type Clock: Clock;

    /// That clock.
    fn clock(&self) -> &Self::Clock;

    /// Its shape.
    fn geometry(&self) -> Geometry;

    /// The buffer of a free slot.
    fn buffer(&mut self, slot: u32) -> &mut [u8];

    /// Hands a request over. A device that works synchronously does it here.
    ///
    /// # Errors
    /// Only where the request could not be handed over at all; what fails later is in its
    /// completion.
    fn submit(&mut self, request: Request) -> Result<(), DeviceError>;

    /// Appends what has completed, after waiting until at least `at_least` requests have (zero
    /// never waits; more than are in flight waits for all).
    ///
    /// # Errors
    /// Where completions can no longer be waited for.
    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError>;

    /// Lets time pass until `time` while requests go on. Returns early where a completion is
    /// ready, if the device can tell.
    fn wait_until(&mut self, time: Nanos);
}
