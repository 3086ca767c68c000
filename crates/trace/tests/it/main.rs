//! The tests of `flashlag-trace` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod block_tables;
mod imports;
mod kernel_text;
mod ledger;
mod line_counts;
mod phones;
mod saves;
mod strace_forms;
mod transactions;
