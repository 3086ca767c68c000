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
//! # Ends
//! A phase of writes that are not durable each ends with a flush, which is in the elapsed time but
//! in no latency. Operations in flight at the end are waited for and recorded.
//!
//! On a device with virtual time and no meter nothing here asks the machine anything: the same job
//! gives the same record.

mod job;
mod phase;
mod verify;

pub use job::{Driven, Ended, Enough, Job, Limits, Temperature, Verified, Watch, durability_of};
pub use phase::drive;
