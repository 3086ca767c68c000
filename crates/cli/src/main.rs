//! The flashlag command.
#![forbid(unsafe_code)]
fn main() {}
