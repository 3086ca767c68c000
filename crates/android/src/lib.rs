//! A phone on a cable: finds it with the `adb` program, puts flashlag and a scenario into a folder
//! of the phone, follows the run and fetches the result; begins a watch and fetches its history.
//!
//! The phone makes the run on its own: pulling the cable interrupts only the view of the run. What
//! flashlag does on the phone is in [`end`].
#![forbid(unsafe_code)]

mod adb;
mod choice;
mod claim;
mod connected;
pub mod end;
mod error;
mod folder;
mod identity;
mod place;
pub mod protocol;
mod quote;
mod run_on_phone;
mod transport;
mod version;
mod watch_on_phone;

pub use adb::Adb;
pub use choice::{chosen, the_phone};
pub use connected::{Connected, Connection};
pub use error::{AskError, PhoneError, SystemError};
pub use folder::Folder;
pub use identity::{Abi, Identity};
pub use identity::{PROGRAMS_VARIABLE, program_for};
pub use place::Place;
pub use quote::ShellCommand;
pub use run_on_phone::{Following, Heard, RunOnPhone};
pub use transport::{Held, PhoneLines, ShellAnswer, Transport};
pub use watch_on_phone::WatchOnPhone;
