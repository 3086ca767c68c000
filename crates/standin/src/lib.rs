//! A stand-in phone, for tests only: the real `adb` connects to it over TCP.
//!
//! A [`Phone`] implements the device's side of adb's protocol. Behind it is a folder that looks
//! like a phone's root: commands run there as the user `shell`, in namespaces of their own, and
//! programs like `getprop` and `dumpsys` print the texts of a model in `fixtures/android`. An
//! [`AdbServer`] is a separate adb server for one test.
//!
//! A phone needs root and some programs. A test calls [`Builder::lacks`] and skips by
//! `flashlag_need`.
//!
//! ```no_run
//! use flashlag_standin::{AdbServer, Phone};
//!
//! fn main() -> std::io::Result<()> {
//!     let phone = Phone::builder().model("pixel4-android13").without(["setsid"]).start()?;
//!     let adb = AdbServer::start()?;
//!     let serial = adb.connect(&phone)?;
//!     assert_eq!(adb.shell(&serial, "getprop ro.product.model")?.stdout, b"Pixel 4\n");
//!     phone.cut_after(500);
//!     assert_ne!(adb.shell(&serial, "seq 1 1000; exit 3")?.status.code(), Some(3));
//!     Ok(())
//! }
//! ```
//!
//! It differs from a phone in this: the kernel is this machine's, with its `/proc`, `/sys` and
//! `/dev`; there is no SELinux, hence [`Builder::unreadable`]; the user `shell` has no further
//! groups; the shared storage is a part of `/data` without FUSE. ARM programs run by
//! [`Builder::runner`].
#![forbid(unsafe_code)]

mod builder;
mod cable;
mod connection;
mod message;
mod model;
mod needs;
mod phone;
mod server;
mod shell;
mod space;
mod stream;
mod sync;
mod tree;

pub use builder::Builder;
pub use cable::Way;
pub use connection::State;
pub use message::Kind;
pub use model::Model;
pub use needs::lacks;
pub use phone::Phone;
pub use server::AdbServer;
