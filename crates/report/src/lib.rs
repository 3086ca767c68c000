//! Run files in, one self-contained HTML page out.
#![forbid(unsafe_code)]
