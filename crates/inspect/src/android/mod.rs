//! What only Android says: its services, by `dumpsys`.

mod battery;
mod screen;
mod service;
mod thermal;

pub(crate) use battery::Battery;
pub use screen::screen_on;
pub use service::{is_android, program};
pub(crate) use thermal::Heat;
