//! The virtual device as an nbdkit plugin: a thin layer that passes nbdkit's calls on.
//!
//! `nbdkit ./libflashlag_nbd.so profile=nexus5-2013 size=8GB`. Calls come from many threads at
//! once, and each sleeps until the modelled device would have answered.
#![forbid(unsafe_code)]

mod life;
mod plugin;
