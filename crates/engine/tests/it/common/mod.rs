//! What tests of the guard and of fills share. Also used by the tests of the command line, through
//! `#[path]`: it must not depend on the engine.
#![allow(dead_code, clippy::unwrap_used)]

pub mod canary;
pub mod faulty;
pub mod loop_mount;
pub mod random;
pub mod refused;
