//! Who writes what: traces of storage, imported from the files of other tools or recorded live, and
//! added up by process, file and layer.
//!
//! [`Builder`] is the one way to make a trace: it numbers tasks, files and devices, and puts events in
//! the order of time. [`import`] reads the files of other tools, [`write_trace`] and [`read_trace`] the
//! stored form. [`replay_stream`] makes the operations of a trace ready to be done again.
#![forbid(unsafe_code)]

mod bounds;
mod builder;
mod import;
mod ledger;
mod replay;
mod sqlite;
mod stored;

pub use bounds::MOST_EVENTS;
pub use builder::Builder;
pub use import::{
    Columns, ColumnsError, Descriptor, ImportError, ImportOptions, Imported, InputFormat, Look,
    TableError, TracepointText, import, import_by, numbers_of_calls,
};
pub use ledger::add_up;
pub use replay::{MOST_OPERATIONS, MOST_THREADS, ReplayError, replay_stream};
pub use sqlite::recognize;
pub use stored::{StoredError, TraceWriter, read_trace, write_trace};
