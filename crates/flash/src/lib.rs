//! The simulated flash: NAND, mapping, garbage collection, caches, TRIM, wear and power cuts, in
//! virtual time. Deterministic: the same model, seed and commands give the same times.
#![forbid(unsafe_code)]

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
mod stats;

pub use command::{Command, FlashError, Timing};
pub use device::FlashDevice;
pub use flash::Flash;
pub use past::{Order, Past};
pub use power::{Lost, PowerCut, Undo};
pub use stats::Stats;
