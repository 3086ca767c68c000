//! The phone's end: the process of a run or a watch, detached from the shell that started it, and the
//! socket for following a run.

mod apart;
mod hub;
mod state;
mod system;
mod watching;

pub use apart::{begin_apart, start_apart};
pub use hub::{Hub, ask};
pub use state::{Lock, order, outcome, state, store_outcome};
pub use system::{Ask, keep_awake, let_sleep, trim_by_system};
pub use watching::{become_watch, end_watch, start_watch, watched};
