//! A stand-in phone, for tests only: the real `adb` connects to it over TCP.
//!
//! A [`Phone`] speaks the device's side of adb's transport. Behind it is a folder that looks like a
//! phone's root: commands run there as the user `shell`, in namespaces of their own, and programs
//! like `getprop` and `dumpsys` answer with the texts of a model in `fixtures/android`. An
//! [`AdbServer`] is an adb of its own for one test.
//!
//! A phone needs root and some programs. A test asks [`lacks`] and skips by `flashlag_need`.
#![forbid(unsafe_code)]

mod cable;
mod connection;
mod message;
mod model;
mod phone;
mod server;
mod shell;
mod space;
mod stream;
mod sync;
mod tree;

pub use cable::Way;
pub use connection::State;
pub use message::Kind;
pub use model::Model;
pub use phone::{Builder, Phone};
pub use server::{AdbServer, lacks};
