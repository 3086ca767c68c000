//! A simulated flash device: NAND, mapping, garbage collection, caches, TRIM, wear and power cuts,
//! in virtual time. It is deterministic: the same model, seed and commands give the same times.
//!
//! A command's times are computed when it is submitted: each die, channel, link direction and the
//! controller is reserved until a time in whole nanoseconds, and whatever has to wait begins then.
//! Work that the device does in idle time is computed when the next command is submitted, and never
//! begins after that.
//!
//! - **NAND.** A read takes tR, then its bytes use the channel; a program uses the channel, then
//!   takes tPROG for each page of all planes (MLC: lower and upper pages alternate and have their
//!   own times; TLC and QLC: all pages of a word line together); an erase takes tBERS. So d dies on
//!   a channel program `min(bus, d · unit / (unit / bus + tPROG))` bytes per second. A read may
//!   suspend a program or an erase, which then ends later by the suspension and the read. A page
//!   that is still in the die's register is not read again.
//! - **Host.** At most `queue_depth` commands are served at a time; n clients with commands of time
//!   T each get `min(n, depth) / T` commands per second until the controller (one overhead after
//!   another) or the link is the bottleneck. Packed writes share one overhead; a sleeping device
//!   wakes first.
//! - **Write buffer.** Units stay in RAM until half of the buffer is full, and overwriting them
//!   there is free. A flush empties a volatile buffer; force unit access programs its own units.
//! - **Write cache** in SLC mode: `(static + dynamic · F / b) / (1 + dynamic / b)` bytes at SLC
//!   speed, with F bytes free and b bits per cell outside of it; then the cliff. Its content is
//!   folded into the main area in idle time, or to make room. Small writes to a full cache go to a
//!   reserve in SLC mode, which collects them into whole program units.
//! - **Page map.** Any unit can be anywhere. A block is one erase block of each plane of each die,
//!   and program units are striped over the dies. A program unit that a command does not fill is
//!   padded; a mapping unit that it writes in part is read first and written whole.
//! - **Map on flash.** If the map does not fit in RAM, some of its pages are cached. A command that
//!   needs another one waits for a read, and also for a program if the evicted page has changed. A
//!   host may hold entries itself (HPB); its reads of these do not wait.
//! - **Log-block maps** (FAST): switch, partial and full merges; at most `open_units` allocation
//!   units have data in logs.
//! - **Zones.** The host writes each in order and resets it as a whole; the device has an entry per
//!   zone and copies nothing. What leaves the write buffer before its program unit is complete goes
//!   through blocks in SLC mode, which also hold the conventional zones.
//! - **Garbage collection.** In the foreground while too few blocks are free to open one for the
//!   host, and in idle time. Write amplification of uniform random writes in steady state matches
//!   the prediction of queueing theory for each policy within 0.5 %. Static wear levelling moves
//!   cold data from the least worn block to the most worn free one.
//! - **Discards.** Their cost is per range and per size, paid at once or in a queue that a flush
//!   waits for.
//! - **Wear.** After c of e rated cycles a read takes `1 + retries · (c / e)²` of tR. A block with
//!   e cycles is retired; when too few are left the device is read-only. Factory bad blocks are not
//!   part of the spare area.
//! - **Power cuts.** A program that has ended survives, except for a lower page whose upper page is
//!   being programmed, unless a flush or force unit access made it durable. Afterwards the first
//!   command waits until the pages of open blocks, and of the map, have been read on all dies in
//!   parallel.
//! - **Past.** A new page map can be put into the state that months of writing would leave: see
//!   [`Past`].
//!
//! Not modelled: uncorrectable errors, read disturb, temperature, the time to update the map's own
//! pages during collection, the order of programs within a relocation (each die does its part in a
//! row), and the cost of keeping copies of lower pages.
#![forbid(unsafe_code)]

mod address;
mod age;
mod batch;
mod command;
mod content;
mod device;
mod die;
mod flash;
mod front;
mod ftl;
mod hybrid;
mod nand;
mod page_map;
mod past;
mod power;
mod sizing;
mod spread;
mod stats;
mod trace;
mod zones;

pub use age::{aged, aged_by};
pub use batch::{Batch, BatchError, Operation};
pub use command::{Command, FlashError, Timing, ZoneFault};
pub use device::FlashDevice;
pub use flash::{Flash, SECTOR};
pub use past::{Order, Past};
pub use power::{Lost, PowerCut, Undo};
pub use sizing::{SizeError, is_instant, minimum_size, model_of_size};
pub use stats::Stats;
pub use zones::{Zone, ZoneAction, ZoneCondition, zone_geometry};
