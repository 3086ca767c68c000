//! The commands, one module each.

pub mod bug;
pub mod clean;
pub mod compare;
#[cfg(feature = "parquet")]
pub mod compare_with;
pub mod completions;
#[cfg(feature = "lab")]
pub mod cuts;
#[cfg(feature = "lab")]
pub mod device;
pub mod explain;
#[cfg(feature = "fit")]
pub mod fit;
mod live;
#[cfg(feature = "man")]
pub mod man_pages;
pub mod on_phone;
pub mod predict;
pub mod profiles;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod schema;
pub mod share;
#[cfg(feature = "site")]
pub mod site;
#[cfg(feature = "site")]
pub mod store;
#[cfg(feature = "site")]
mod store_trend;
#[cfg(feature = "sweep")]
pub mod sweep;
pub mod trace;
pub mod verify;
pub mod watch;
mod watch_listen;
mod watch_phone;
mod watch_settings;
mod watch_sim;
