//! The simulated flash: NAND, mapping, garbage collection, caches, TRIM, wear and power cuts, in
//! virtual time. Deterministic: the same model, seed and commands give the same times.
#![forbid(unsafe_code)]

mod command;
mod device;
mod flash;
#[cfg_attr(not(test), expect(dead_code, reason = "the ledger of power cuts has no caller yet"))]
mod front;
#[cfg_attr(not(test), expect(dead_code, reason = "merges are not told yet"))]
mod hybrid;
mod nand;
mod page_map;
#[cfg_attr(not(test), expect(dead_code, reason = "no device keeps data yet"))]
mod power;
mod stats;

pub use command::{Command, FlashError, Timing};
pub use device::FlashDevice;
pub use flash::Flash;
pub use power::{Lost, PowerCut, Undo};
pub use stats::Stats;
