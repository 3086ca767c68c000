//! The tests of `flashlag-workload` from outside, in one program: what each module claims is in its head.

mod addresses;
mod arrivals;
mod payload;
