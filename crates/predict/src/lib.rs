//! Fits device models to runs, and forecasts with them.
#![forbid(unsafe_code)]
