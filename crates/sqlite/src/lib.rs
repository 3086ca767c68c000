//! Saves through real SQLite, each transaction timed.
#![forbid(unsafe_code)]
