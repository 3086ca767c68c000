//! The measuring loop: runs one job on one device and records it.
//!
//! # Closed and open loop
//!
//! Without a schedule, the next operation begins when an earlier one has completed (closed loop).
//! Its latency counts from its submission to the device.
//!
//! With a schedule, every operation has an intended start that does not depend on earlier ones
//! (open loop). An operation that can't begin in time, because all slots are busy or this thread
//! was late, is issued as soon as possible: nothing is left out, so nothing is hidden. Its
//! *latency* counts from its submission, its *response* from the intended start. A slot of the
//! schedule counts as *missed* if its operation began more than one (mean) period late, or was due
//! but had not begun when the phase ended; the latter never ran and are in no histogram.
//!
//! # Think time
//!
//! With a think time, each slot rests after its operation before its next one begins, like an app
//! that does something else between two saves. A rest is in no latency. It is part of the elapsed
//! time, and [`JobOutcome::thought`] says how large a part. The device keeps working in the
//! meantime.
//!
//! # Ends
//!
//! If writes are not durable one by one, the phase ends with a flush, which is in the elapsed time
//! but in no latency. Operations in flight at the end are waited for and recorded.
//!
//! # Mixed jobs and threads
//!
//! A mixed job draws for each operation whether it reads. All operations are recorded together, and
//! each kind separately as well. Threads have addresses, a schedule and a device each, and their
//! records are merged ([`drive_threads`]); in virtual time they are submitters of one loop.
//!
//! On a device in virtual time and without a meter, nothing here depends on the machine: the same
//! job gives the same record.

mod job;
mod lanes;
mod pending;
mod phase;
mod recording;
mod rests;
mod threads;
mod together;
mod verify;

pub use job::{
    EndReason, Enough, Job, JobOutcome, Limits, Sides, Temperature, Verification, Watch,
    durability_of,
};
pub use phase::drive;
pub use threads::{ThreadsWatch, drive_threads};
pub use together::SharedLimits;
