//! Quantities with their units: parsed strictly, printed plainly, never mixed.
//!
//! [`Nanos`] and [`Bytes`] are newtypes over `u64`. In the run file they are bare integers (the
//! field's name carries the unit); in scenarios and on the command line they are [`Text`], written
//! by people as `300MB` or `90s`. Differences assert their order ([`Nanos::since`],
//! [`Bytes::minus`]); differences of counters saturate, and their names say so.
//!
//! [`always!`] and [`never!`] assert what can't happen. [`nearest`] finds the known name that is
//! most like a mistyped one.
#![forbid(unsafe_code)]

mod bytes;
mod figures;
mod impossible;
#[cfg(feature = "json-schema")]
mod json_schema;
mod names;
mod nanos;
mod order;
mod parse;
mod printable;
mod text;
mod words;

pub use bytes::Bytes;
pub use figures::{count, counted, mb_per_s, percent, rate, signed_percent};
pub use figures::{per_second, ratio};
pub use names::{did_you_mean, line_at, nearest, types_in_words};
pub use nanos::Nanos;
pub use order::{InOrder, IntoOrder};
pub use parse::ParseUnitError;
pub use printable::{harmless, is_printable, printable_line, sanitize, to_ascii};
pub use text::Text;
pub use words::line_words;
