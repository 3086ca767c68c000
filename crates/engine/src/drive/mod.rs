//! The measuring loop: one job on one device, recorded.
//!
//! # Closed and open loop
//! Without a schedule the next operation begins when one before it has completed (closed loop):
//! latency counts from the moment it is handed to the device.
//!
//! With a schedule every operation has an intended start, whatever became of the ones before (open
//! loop). An operation that can't begin in time, since all slots are busy or this thread was late,
//! is still issued, as soon as it can be: nothing is left out, so nothing is hidden. Its *latency*
//! counts from when it was handed to the device, its *response* from the intended start. A slot of
//! the schedule counts as *missed* where its operation began more than one (mean) period after the
//! intended time, or had not begun when the phase ended although its time had come; the latter are
//! in no histogram, for they never ran.
//!
//! # Thinking
//! With a think time each slot rests after its operation before the next begins in its place, as an
//! app that does something else between two saves. A rest is in no latency; it is in the elapsed
//! time, and [`JobOutcome::thought`] says how much of it. The device goes on meanwhile.
//!
//! # Ends
//! A phase of writes that are not durable each ends with a flush, which is in the elapsed time but
//! in no latency. Operations in flight at the end are waited for and recorded.
//!
//! # Mixed jobs and threads
//! A mixed job draws for each operation whether it reads; everything is recorded once for all
//! operations and once for its kind. Several threads have addresses, a schedule and a device each and
//! are merged ([`drive_threads`]); in virtual time they are submitters of one loop.
//!
//! On a device with virtual time and no meter nothing here asks the machine anything: the same job
//! gives the same record.

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
