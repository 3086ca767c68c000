//! OpenMetrics text, version 1.0.0, in base units: <https://prometheus.io/docs/specs/om/open_metrics_spec/>; and the same
//! samples in Prometheus's own text format.

mod device;
mod history;
mod run;
mod wear;
mod writer;

pub(crate) use device::device;
pub(crate) use history::{history, sums};
pub(crate) use run::run;
pub(crate) use wear::wear;
pub(crate) use writer::Dialect;
