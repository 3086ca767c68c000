//! One file a command.

pub mod clean;
pub mod compare;
pub mod completions;
pub mod cuts;
pub mod device;
pub mod fit;
pub mod own_mounts;
pub mod predict;
pub mod profiles;
mod protocol;
pub mod report;
pub mod run;
mod runs;
pub mod scenarios;
pub mod schema;
pub mod verify;
