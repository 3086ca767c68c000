//! The simulated flash in real time.
#![forbid(unsafe_code)]
