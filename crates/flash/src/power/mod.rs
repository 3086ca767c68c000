//! Power cuts: what survives them, and how long it takes to be ready again.

mod ledger;

pub(crate) use ledger::Ledger;
