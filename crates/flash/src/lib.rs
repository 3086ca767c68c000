//! The simulated flash: NAND, mapping, garbage collection, caches, TRIM, wear and power cuts, in
//! virtual time. Deterministic: the same model, seed and commands give the same times.
//!
//! A command is worked out when it comes: each die, channel, link direction and the controller is
//! reserved until a time in whole nanoseconds, and what must wait begins then. What the device does
//! by itself in idle time is worked out when the next command comes, and never begins after that.
//!
//! - **NAND.** A read takes tR, then its bytes go over the channel; a program is the channel, then
//!   tPROG for each page of all planes (MLC: lower and upper pages have times of their own, in turn;
//!   TLC and QLC: all pages of a word line at once); an erase takes tBERS. So d dies on a channel
//!   program `min(bus, d · unit / (unit / bus + tPROG))` bytes a second. A read may suspend a program
//!   or an erase, which ends later by the suspension and the read. A page that a die still holds in
//!   its registers is not read again.
//! - **Host.** At most `queue_depth` commands are at work; n that always wait, of time T each, give
//!   `min(n, depth) / T` a second until the controller (one overhead after another) or the link is
//!   the bottleneck. Packed writes share an overhead; a device that slept wakes first.
//! - **Write buffer.** Holds units until half of it is full, and writes to them again meanwhile cost
//!   nothing. A flush empties it where it is volatile; force unit access programs its own units.
//! - **Write cache** of one bit a cell: `(static + dynamic · F / b) / (1 + dynamic / b)` bytes at its
//!   speed while F bytes are free and b bits are in a cell otherwise; then the cliff. What it holds is
//!   folded in idle time, or for room.
//! - **Page map.** Units anywhere. A block is one erase block of each plane of each die, and program
//!   units go to the dies in turn. What a command leaves of a program unit is padded; what it leaves
//!   of a mapping unit is read and written again.
//! - **Map on flash.** Of a map that does not fit in RAM, pages of entries are held; a command for
//!   any other waits for a read, and for a program where the page that gives way has changed.
//! - **Log-block maps** (FAST): switch, partial and full merges; at most `open_units` allocation
//!   units have data in logs.
//! - **Garbage collection.** Before the host opens a block while too few are free, and in idle time.
//!   Uniform random writes in steady state cost by each policy what queueing theory says, within
//!   0.5 %. Static wear levelling moves cold data out of the block that is worn least, to the free
//!   one that is worn most.
//! - **Discards.** Cost by range and size, at once or in a queue that a flush waits for.
//! - **Wear.** After c of e rated cycles a read takes `1 + retries · (c / e)²` of tR. A block that has
//!   done e cycles is not used again; the device only reads once too few are left. Blocks that are bad
//!   from the factory are not of the spare area.
//! - **Power cuts.** A program that has ended survives, but for a lower page whose upper page is cut,
//!   unless a flush or force unit access made it durable before. The first command waits for the
//!   pages of open blocks, and of the map, to be read on all dies at once.
//! - **Past.** A new page map can be given what writing for months would leave: see [`Past`].
//!
//! Not modelled: errors that cannot be corrected, read disturb, temperature, the time of map pages
//! that collection changes, an order of programs within a relocation (each die does its part in a
//! row), and what it costs to keep copies of lower pages.
#![forbid(unsafe_code)]

mod address;
mod command;
mod content;
mod device;
mod flash;
mod front;
mod ftl;
mod hybrid;
mod nand;
mod page_map;
mod past;
mod power;
mod sizing;
mod stats;

pub use command::{Command, FlashError, Timing};
pub use device::FlashDevice;
pub use flash::Flash;
pub use past::{Order, Past};
pub use power::{Lost, PowerCut, Undo};
pub use sizing::{SizeError, is_instant, minimum_size, model_of_size};
pub use stats::Stats;
