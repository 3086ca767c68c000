//! Who writes what: traces of storage, imported from the files of other tools or recorded live, and
//! added up by process, file and layer.
//!
//! [`Builder`] is the one way to make a trace: it numbers tasks, files and devices, and puts events in
//! the order of time.
#![forbid(unsafe_code)]

mod builder;

pub use builder::Builder;
