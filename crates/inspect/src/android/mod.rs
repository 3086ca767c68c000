//! Facts that only Android's services know, read with `dumpsys`.

mod battery;
mod screen;
mod service;
mod storaged;
mod thermal;

pub(crate) use battery::Battery;
pub use screen::screen_on;
pub use service::{is_android, program};
pub use storaged::OtherApps;
pub(crate) use thermal::Heat;
