use flashlag_schema::Run;
use flashlag_views::{Comparison, Gate};
use thiserror::Error;

use crate::openmetrics::Dialect;
use crate::{csv, fio, json, markdown, openmetrics, tsv};

/// A file format for runs, and in part for comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Tab-separated ASCII, one phase a line. Runs only.
    Tsv,
    /// A Markdown page with GitHub's tables.
    Markdown,
    /// CSV: for a run every interval of every phase, for a comparison a line for each test and
    /// side.
    Csv,
    /// OpenMetrics text, version 1.0.0. Runs only.
    OpenMetrics,
    /// Prometheus's text format, version 0.0.4, as node_exporter's textfile collector takes it. Runs only.
    Prometheus,
    /// fio's `json+`. Runs only.
    Fio,
    /// JSON: for a run the run file, for a comparison `flashlag.comparison/1`.
    Json,
}

/// An error of writing a run or a comparison in a format.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The run has nothing that fio's format can represent.
    #[error(transparent)]
    Fio(#[from] fio::FioExportError),
    /// A format for single runs.
    #[error("a comparison can't be written as {}: use {}", .format.name(), comparison_formats())]
    SingleRunsOnly {
        /// The requested format.
        format: Format,
    },
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 7] = [
        Format::Tsv,
        Format::Markdown,
        Format::Csv,
        Format::OpenMetrics,
        Format::Prometheus,
        Format::Fio,
        Format::Json,
    ];

    /// The name on a command line: `openmetrics`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Tsv => "tsv",
            Format::Markdown => "markdown",
            Format::Csv => "csv",
            Format::OpenMetrics => "openmetrics",
            Format::Prometheus => "prometheus",
            Format::Fio => "fio",
            Format::Json => "json",
        }
    }

    /// The file extensions of this format. fio's has none of its own: its files end in `json`, as
    /// run files do.
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Format::Tsv => &["tsv"],
            Format::Markdown => &["md"],
            Format::Csv => &["csv"],
            Format::OpenMetrics => &["metrics"],
            // The only ending that the textfile collector reads.
            Format::Prometheus => &["prom"],
            Format::Fio => &[],
            Format::Json => &["json"],
        }
    }

    /// Whether the format can represent a comparison.
    pub fn holds_comparisons(self) -> bool {
        matches!(self, Format::Markdown | Format::Csv | Format::Json)
    }

    /// A run in this format.
    ///
    /// # Errors
    /// As fio's `json+`: a run without phases, or with a histogram that can't be restored.
    pub fn write_run(self, run: &Run) -> Result<String, ExportError> {
        Ok(match self {
            Format::Tsv => tsv::run(run),
            Format::Markdown => markdown::run(run),
            Format::Csv => csv::run(run),
            Format::OpenMetrics => openmetrics::run(run, Dialect::OpenMetrics),
            Format::Prometheus => openmetrics::run(run, Dialect::Prometheus),
            Format::Fio => fio::export(run)?,
            Format::Json => run.to_json(),
        })
    }

    /// A comparison in this format. A gate's judgement is part of a Markdown page.
    ///
    /// # Errors
    /// [`ExportError::SingleRunsOnly`] if the format can't represent several runs.
    pub fn write_comparison(
        self,
        comparison: &Comparison,
        gate: Option<&Gate>,
    ) -> Result<String, ExportError> {
        match self {
            Format::Markdown => Ok(markdown::comparison(comparison, gate)),
            Format::Csv => Ok(csv::comparison(comparison)),
            Format::Json => Ok(json::comparison(comparison)),
            Format::Tsv | Format::OpenMetrics | Format::Prometheus | Format::Fio => {
                Err(ExportError::SingleRunsOnly { format: self })
            }
        }
    }
}

/// `markdown, csv or json`.
fn comparison_formats() -> String {
    let names = Format::ALL.into_iter().filter(|format| format.holds_comparisons());
    let names: Vec<&str> = names.map(Format::name).collect();
    match names.split_last() {
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}
