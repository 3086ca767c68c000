//! OpenMetrics text, version 1.0.0, in base units: <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

mod device;
mod run;
mod writer;

pub(crate) use device::device;
pub(crate) use run::run;
