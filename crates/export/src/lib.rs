//! Runs and comparisons as files of other tools: Markdown, CSV, TSV, JSON, OpenMetrics, Prometheus and fio's
//! `json+`; the gate of a comparison as JUnit XML.
//!
//! [`Format`] lists the formats and writes each. [`fio`] also reads fio's results as a run and writes
//! job files, and [`device_metrics`] is for the statistics of a served device. Every writer is a pure
//! function to a string. Strings that come from a device, a file or a user are stripped of control
//! characters on the way.
#![forbid(unsafe_code)]

mod csv;
pub mod fio;
mod format;
mod json;
mod junit;
mod markdown;
mod openmetrics;
pub mod perfetto;
mod tsv;

pub use format::{ExportError, Format};
pub use junit::junit;

/// The hours and days of a history as CSV.
pub fn history_csv(history: &flashlag_schema::history::History) -> String {
    csv::history(history)
}

/// A history's sums in Prometheus's text format.
pub fn history_prometheus(history: &flashlag_schema::history::History) -> String {
    openmetrics::history(history, openmetrics::Dialect::Prometheus)
}

/// The sums of a watch that goes on, in Prometheus's text format.
pub fn watch_prometheus(sums: &flashlag_schema::history::Sums) -> String {
    openmetrics::sums(sums, openmetrics::Dialect::Prometheus)
}

/// A history as a Markdown page.
pub fn history_markdown(history: &flashlag_schema::history::History) -> String {
    markdown::history(history)
}

/// The statistics of a served device as OpenMetrics text.
pub fn device_metrics(stats: &flashlag_schema::DeviceStats) -> String {
    openmetrics::device(stats, openmetrics::Dialect::OpenMetrics)
}

/// The statistics of a served device in Prometheus's text format.
pub fn device_prometheus(stats: &flashlag_schema::DeviceStats) -> String {
    openmetrics::device(stats, openmetrics::Dialect::Prometheus)
}

/// What storage reports about its wear, in Prometheus's text format; empty if it reports nothing.
pub fn wear_prometheus(environment: &flashlag_schema::Environment) -> String {
    openmetrics::wear(environment, openmetrics::Dialect::Prometheus)
}
