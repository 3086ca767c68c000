//! Run files in, text out: progress, summary, Markdown, CSV, OpenMetrics.
#![forbid(unsafe_code)]
