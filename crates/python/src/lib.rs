//! The Rust part of the Python package, `flashlag._flashlag`: a thin layer that passes arguments on
//! and returns tables. What Python programs call is in `python/flashlag`.
//!
//! Long work runs without the GIL, on a thread of its own, while the calling thread handles signals
//! (`work`). A panic becomes a `flashlag.Error`.
#![forbid(unsafe_code)]

mod device;
mod error;
mod forecasts;
mod run;
mod snapshot;
mod sweep;
mod table;
mod views;
mod work;

use pyo3::prelude::*;

/// The part of flashlag that is written in Rust.
#[pymodule]
mod _flashlag {
    #[pymodule_export]
    use crate::device::Device;
    #[pymodule_export]
    use crate::forecasts::{Fit, Forecast, fit, predict, profiles};
    #[pymodule_export]
    use crate::run::{Run, load, run, verify};
    #[pymodule_export]
    use crate::sweep::{Sweep, measure};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::views::{Comparison, Explained, compare, explain};

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
