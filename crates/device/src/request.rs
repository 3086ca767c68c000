use flashlag_stats::Waited;
use flashlag_units::{Bytes, Nanos};

use crate::clock::Clock;
use crate::error::DeviceError;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// Fills the slot's buffer from the device.
    Read,
    /// Writes the slot's buffer to the device.
    Write,
    /// Makes everything durable that completed before. Moves no data.
    Flush,
    /// Tells the device that the data of the range is no longer needed.
    Discard,
}

impl Op {
    /// The word in errors.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
            Op::Discard => "discard",
        }
    }
}

/// The system call that makes written data durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncCall {
    /// `fdatasync`: the data, and the metadata needed to find it.
    Data,
    /// `fsync`: all metadata as well.
    All,
}

impl SyncCall {
    /// The name of the call.
    pub const fn name(self) -> &'static str {
        match self {
            SyncCall::Data => "fdatasync",
            SyncCall::All => "fsync",
        }
    }
}

/// The way in which a write becomes durable before it completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The write is not made durable.
    #[default]
    None,
    /// A flush follows the write; its part of the latency is reported.
    Flush,
    /// The write itself is durable (FUA, `O_DSYNC`, `RWF_DSYNC`).
    Write,
}

/// One request. Its data is in the buffer of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The device's slot that carries it: less than [`Geometry::slots`], and free.
    pub slot: u32,
    /// The operation.
    pub op: Op,
    /// The offset, a multiple of [`Geometry::alignment`].
    pub offset: Bytes,
    /// Length: a multiple of [`Geometry::alignment`], at most [`Geometry::buffer`].
    pub length: Bytes,
    /// How a write becomes durable.
    pub durability: Durability,
}

/// The result of a request. Times are of the device's clock.
#[derive(Debug)]
pub struct Completion {
    /// The slot, free again.
    pub slot: u32,
    /// When the device took it.
    pub started: Nanos,
    /// When its flush began, if that was a separate step.
    pub flush_from: Option<Nanos>,
    /// Time of completion.
    pub ended: Nanos,
    /// Whether it worked.
    pub result: Result<(), DeviceError>,
}

/// The shape of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub size: Bytes,
    /// Offsets and lengths are multiples of this.
    pub alignment: Bytes,
    /// Requests in flight at most.
    pub slots: u32,
    /// Size of a slot's buffer.
    pub buffer: Bytes,
    /// Whether the device keeps written data; if not, no payload needs to be generated.
    pub keeps_data: bool,
}

impl Geometry {
    /// Checks the request's shape: an existing slot, an aligned range within the size, no more than
    /// a buffer holds. Every device refuses other requests before it does anything.
    ///
    /// # Errors
    /// `EINVAL`, with what is wrong in words.
    #[inline]
    pub fn check(&self, request: &Request) -> Result<(), DeviceError> {
        let range = match request.op {
            Op::Flush => request.slot < self.slots,
            Op::Read | Op::Write => self.fits(request) && request.length <= self.buffer,
            Op::Discard => self.fits(request),
        };
        if range { Ok(()) } else { Err(self.refusal(request)) }
    }

    #[inline]
    fn fits(&self, request: &Request) -> bool {
        let Request { slot, offset, length, .. } = *request;
        // Almost every alignment is a power of two, for which a mask is faster.
        let both = offset.0 | length.0;
        let aligned = if self.alignment.0.is_power_of_two() {
            both & (self.alignment.0 - 1) == 0
        } else {
            offset.0.is_multiple_of(self.alignment.0) && length.0.is_multiple_of(self.alignment.0)
        };
        let ends = offset.0.checked_add(length.0);
        let inside = ends.is_some_and(|end| end <= self.size.0);
        slot < self.slots && aligned && length.0 > 0 && inside
    }

    #[cold]
    fn refusal(&self, request: &Request) -> DeviceError {
        let Geometry { size, alignment, slots, buffer, .. } = *self;
        let Request { slot, op, offset, length, .. } = *request;
        let reason = if slot >= slots {
            format!("slot {slot} of {slots}")
        } else if length.0 == 0 {
            "a length of 0".to_owned()
        } else if offset.0.checked_add(length.0).is_none_or(|end| end > size.0) {
            format!("{} bytes from there end beyond the device's {} bytes", length.0, size.0)
        } else if op != Op::Discard && length > buffer {
            format!("{} bytes are more than the buffer's {}", length.0, buffer.0)
        } else {
            format!("{} bytes from there are not aligned to {}", length.0, alignment.0)
        };
        DeviceError {
            operation: op.name(),
            subject: "the device".to_owned(),
            offset: Some(offset),
            errno: Some(crate::errno::Errno::INVAL.raw_os_error()),
            reason,
            advice: "use a block size and a span that are multiples of the alignment".to_owned(),
        }
    }
}

/// The zones of a device: what follows `first` is written in order, zone by zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneGeometry {
    /// Where the first zone begins; what is before it can be written in any order.
    pub first: Bytes,
    /// Size of a zone.
    pub size: Bytes,
    /// Number of zones.
    pub count: u32,
    /// Zones that can be open at once.
    pub open: u32,
}

impl ZoneGeometry {
    /// The distance from one zone's start to the next in a block device of Linux, which wants a power of two: the
    /// rest of it has no blocks (NVMe's zone capacity).
    pub fn stride(&self) -> Bytes {
        Bytes(self.size.0.next_power_of_two())
    }

    /// The end of the last zone where zones are a [`ZoneGeometry::stride`] apart.
    pub fn end(&self) -> Bytes {
        Bytes(self.first.0 + u64::from(self.count) * self.stride().0)
    }
}

/// Storage, real or not.
///
/// A request is prepared in [`Device::buffer`], submitted by [`Device::submit`] and returned by
/// [`Device::reap`]. The hot path allocates nothing: the caller owns `completed`, which keeps its
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

    /// Submits a request. A synchronous device carries it out here.
    ///
    /// # Errors
    /// Only if the request could not be submitted at all; a later failure is in its completion.
    fn submit(&mut self, request: Request) -> Result<(), DeviceError>;

    /// Appends completions. Waits until there are `at_least` (zero never waits; more than are in
    /// flight waits for all).
    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError>;

    /// Lets time pass until `time` while requests proceed. May return early if one completes.
    fn wait_until(&mut self, time: Nanos);

    /// Its zones; `None` if it can be written in any order. A discard of whole zones resets them.
    fn zones(&self) -> Option<ZoneGeometry> {
        None
    }

    /// What the last completed request of a slot waited for: parts that add up to its `ended -
    /// started`. `None` if the device does not know, as no real one does.
    #[inline]
    fn waited(&mut self, _slot: u32) -> Option<Waited> {
        None
    }

    /// The part of [`Device::waited`] spent waiting for requests submitted earlier.
    #[inline]
    fn waited_behind(&mut self, _slot: u32) -> Option<Waited> {
        None
    }

    /// What kept the device busy between two times, for a request that could not be submitted yet:
    /// parts that add up to that time. `None` if the device does not know.
    #[inline]
    fn held_up(&mut self, _from: Nanos, _until: Nanos) -> Option<Waited> {
        None
    }
}
