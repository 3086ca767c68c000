//! What several modules need.

pub mod lab;
pub mod moments;
pub mod phone;
pub mod processes;
pub mod program;
pub mod reported;
