//! The simulated flash: NAND, mapping, garbage collection, caches, TRIM, wear and power cuts, in
//! virtual time. Deterministic: the same model, seed and commands give the same times.
#![forbid(unsafe_code)]

mod command;
// What stands around the map; unused until a map's facade joins them.
#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "no facade joins it yet"))]
#[cfg_attr(test, allow(dead_code, unused_imports))]
mod front;
#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "no facade joins it yet"))]
#[cfg_attr(test, allow(dead_code, unused_imports))]
mod hybrid;
#[cfg_attr(not(test), expect(dead_code, reason = "no facade joins it yet"))]
mod power;

pub use command::{Command, FlashError, Timing};
pub use power::{Lost, PowerCut, Undo};
