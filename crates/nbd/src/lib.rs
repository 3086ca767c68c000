//! The virtual device as an nbdkit plugin.
#![forbid(unsafe_code)]
