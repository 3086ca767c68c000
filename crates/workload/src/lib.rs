//! Seeded generators of addresses, arrivals and payloads.
#![forbid(unsafe_code)]
