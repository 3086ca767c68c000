//! The file of a history: records in sectors of 512 bytes, each with its own checksum.
//!
//! A record is never changed in place. A new one is written into free sectors and is durable before
//! the sectors of what it replaces are used again, so a power cut loses the record that was being
//! written and nothing else, and a damaged sector the record that it belongs to. A reader needs no
//! lock: it takes the records that are whole.
//!
//! Parts of an hour become an hour, old hours a day ([`index`] says what counts); when the file has
//! reached its size, the oldest days or incidents are dropped.

mod error;
mod file;
mod index;
mod read;
mod record;
mod room;
mod source;

pub use error::BookError;
pub use file::Book;
pub use read::{holding, read, read_from};
pub use record::SECTOR;
pub use source::Source;
