//! fio's files: `json+` output read as a run and written from one, and job files.
//!
//! fio keeps latencies in the same buckets ([`flashlag_stats::GROUPING_POWER`]) and names each
//! bucket by its midpoint, so bins convert in both directions without loss. Two things are lost:
//! values above 17.2 s, which fio keeps in its last bucket (the largest is exact), and the order of
//! operations in time, which is not in `json+`.
//!
//! [`histogram_of`] reads one `clat_ns`, `lat_ns` or `sync.lat_ns` object; [`import`] and
//! [`export`] convert whole files. [`job_file`] writes a scenario's tests as a job file.

mod bins;
mod check;
mod clients;
mod error;
mod export;
mod extension;
mod failed;
mod import;
mod job;
mod old;
mod options;
mod results;
mod text;
mod trust;

pub use bins::histogram_of;
pub use check::check;
pub use error::{FioExportError, FioFileError};
pub use export::export;
pub use import::import;
pub use job::job_file;
pub use text::{TextError, text_of};

/// Whether a text has results of fio's, which may follow lines of warnings or a report.
pub fn looks_like_fio(text: &str) -> bool {
    let Some(json) = results::json_part(text) else { return false };
    let head = json.get(..json.floor_char_boundary(4096)).unwrap_or(json);
    head.contains("\"fio version\"")
}
